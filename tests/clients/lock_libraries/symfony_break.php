<?php
// LOCKS and BREAK on locks of Symfony's Lock component. Prints what each returns.
//
//   php symfony_break.php PORT

require_once '/usr/share/php/Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

$redis = new Redis();
$redis->connect('127.0.0.1', (int) $argv[1]);

function show(string $name, mixed $value): void
{
    echo $name, ' ', json_encode($value), "\n";
}

// The holders of the lock, and its library. A new store also tries a key of its own.
function row(Redis $redis): array
{
    $row = $redis->rawCommand('LOCKS', 'MATCH', 'report')[1][0];
    return [$row[1], $row[9]];
}

$factory = new LockFactory(new RedisStore($redis, 30));
$first = $factory->createLock('report', 30, false);
$second = $factory->createLock('report', 30, false);
$first->acquire();
show('shown', row($redis));
show('broken', $redis->rawCommand('BREAK', 'report', 'REASON', 'stuck'));
show('still acquired', $first->isAcquired());
show('acquire of another', $second->acquire());
$second->release();

$first->acquireRead();
$second->acquireRead();
show('readers shown', row($redis));
$owner = $redis->rawCommand('LOCKS', 'MATCH', 'report')[1][0][7];
show('one reader broken', $redis->rawCommand('BREAK', 'report', $owner));
$left = [$first->isAcquired(), $second->isAcquired()];
sort($left);
show('readers left', $left);
show('all broken', $redis->rawCommand('BREAK', 'report'));
show('keys left', $redis->exists('report'));
