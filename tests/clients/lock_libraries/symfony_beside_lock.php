<?php
// Symfony's Lock component and LOCK on the same key. Prints what each gets.
//
//   php symfony_beside_lock.php PORT

require_once '/usr/share/php/Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

const KEY = 'order:42';

$redis = new Redis();
$redis->connect('127.0.0.1', (int) $argv[1]);

function show(string $name, mixed $value): void
{
    echo $name, ' ', is_string($value) ? $value : json_encode($value), "\n";
}

$lock = (new LockFactory(new RedisStore($redis, 30)))->createLock(KEY, 30, false);
$ours = ['LOCK', KEY, 'me', 'EX', '30'];

$token = $redis->rawCommand(...$ours);
show('acquire beside LOCK', $lock->acquire());
$lock->release();
show('the release of another ends nothing', $redis->rawCommand('CHECK', KEY, $token) === 1);
$redis->rawCommand('UNLOCK', KEY, 'me', 'TOKEN', $token);
show('acquire after UNLOCK', $lock->acquire());
$redis->clearLastError();
$redis->rawCommand(...$ours);
show('LOCK beside acquire', strtok((string) $redis->getLastError(), ' '));
$lock->release();
show('LOCK after release', $redis->rawCommand(...$ours) > $token);
