<?php

declare(strict_types=1);

// Holds or waits for the lock k while fleet_test.py kills the leader of a fleet.
//
//   fleet_worker.php hold|wait|try|first
//       nodes|sentinels|predis-sentinels|predis-cluster|redis-cluster

namespace Fairlock\Tests;

use Fairlock\Client;

require_once __DIR__ . '/support.php';
require_once __DIR__ . '/readme_examples.php';

function client(string $how): Client
{
    $nodes = explode(',', (string) getenv('NODES'));
    $sentinels = explode(',', (string) getenv('SENTINELS'));
    str_starts_with($how, 'predis') && require_once 'Predis/autoload.php';
    $predis = static fn (array $nodes): array =>
        array_map(static fn (string $node): string => "tcp://$node", $nodes);
    return match ($how) {
        'nodes' => Client::from($nodes, readTimeout: 5),
        'sentinels' => Client::from($sentinels, 'main', readTimeout: 5),
        'predis-sentinels' => Client::from(new \Predis\Client(
            $predis($sentinels),
            ['replication' => 'sentinel', 'service' => 'main'],
        ), readTimeout: 5),
        'predis-cluster' => Client::from(new \Predis\Client(
            $predis($nodes),
            ['cluster' => 'redis'],
        ), readTimeout: 5),
        'redis-cluster' => Client::from(new \RedisCluster(null, $nodes), readTimeout: 5),
    };
}

/** Runs the example of the README for several servers. */
function example(): int
{
    $quoted = static fn (string $name): array => array_map(
        static fn (string $one): string => "\"$one\"",
        explode(',', (string) getenv($name)),
    );
    $nodes = array_map(
        static fn (string $node): string => str_replace('"1', '"redis://1', $node),
        $quoted('NODES'),
    );
    return count(ReadmeExample::with('lock2')->run([
        '"redis://lock1:3247", "redis://lock2:3247", "redis://lock3:3247"' => implode(', ', $nodes),
        '"lock1:3249", "lock2:3249", "lock3:3249"' => implode(', ', $quoted('SENTINELS')),
    ]));
}

function say(mixed ...$what): void
{
    echo json_encode($what), "\n";
}

[, $what, $how] = $argv + ['', '', ''];
if ($what === 'example') {
    say(example());
    exit(0);
}
$fairlock = client($how);
if ($what === 'try') {
    // In several partitions.
    foreach (range(0, 9) as $number) {
        say($fairlock->lock("key$number", wait: 30)->acquire()->release());
    }
    exit(0);
}
if ($what === 'first') {
    // Whichever node is asked first, and although nothing waits.
    $nodes = explode(',', (string) getenv('NODES'));
    foreach ($nodes as $ignored) {
        $nodes[] = array_shift($nodes);
        say(Client::from($nodes)->lock('first')->tryAcquire()?->release());
    }
    exit(0);
}
$key = $argv[3] ?? 'k';
$lock = $fairlock->lock($key, lease: 20, owner: $what, keep: 60, wait: 60);
$hold = $lock->acquire();
say($hold->token());
fgets(STDIN);
$hold->renew();
say($hold->isHeld(), $hold->release());
