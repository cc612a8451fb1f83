<?php
// A client that puts a prefix before keys, and LOCK as a raw command. Prints what each gets.
//
//   php key_prefix.php PORT predis|phpredis

const KEY = 'order:42';
const PREFIX = 'shop:';

[, $port, $client] = $argv;

if ($client === 'predis') {
    require_once '/usr/share/php/Predis/autoload.php';
    $redis = new Predis\Client("tcp://127.0.0.1:$port", ['prefix' => PREFIX]);
    $raw = fn (string ...$words) => $redis->executeRaw($words);
    $set = fn () => $redis->set(KEY, 'old', 'PX', 60000, 'NX') !== null;
    $onServer = $redis->getOptions()->prefix->getPrefix() . KEY;
} else {
    $redis = new Redis();
    $redis->connect('127.0.0.1', (int) $port);
    $redis->setOption(Redis::OPT_PREFIX, PREFIX);
    $raw = fn (string ...$words) => $redis->rawCommand(...$words);
    $set = fn () => $redis->set(KEY, 'old', ['nx', 'px' => 60000]);
    $onServer = $redis->_prefix(KEY);
}

function show(string $name, mixed $value): void
{
    echo $name, ' ', json_encode($value), "\n";
}

show('set', $set());
show('LOCK of the same key', is_int($raw('LOCK', KEY, 'new')));
show('LOCK of the key with the prefix', is_int($raw('LOCK', $onServer, 'new')));
$redis->del(KEY);
show('after del', is_int($raw('LOCK', $onServer, 'new')));
show('set beside LOCK', $set());
foreach ([KEY, $onServer] as $key) {
    $raw('UNLOCK', $key, 'new');
}
