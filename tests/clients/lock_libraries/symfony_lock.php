<?php
// Symfony's Lock component: exclusive, shared and blocking locks. Prints what each call returns.
//
//   php symfony_lock.php PORT predis|phpredis

require_once '/usr/share/php/Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

[, $port, $client] = $argv;

if ($client === 'predis') {
    require_once '/usr/share/php/Predis/autoload.php';
    $redis = new Predis\Client("tcp://127.0.0.1:$port");
} else {
    $redis = new Redis();
    $redis->connect('127.0.0.1', (int) $port);
}

function show(string $name, mixed $value): void
{
    echo $name, ' ', json_encode($value), "\n";
}

$factory = new LockFactory(new RedisStore($redis, 2));
$first = $factory->createLock('report', 2, false);
$second = $factory->createLock('report', 2, false);

show('exclusive', $first->acquire());
show('again', $first->acquire());
show('of another', $second->acquire());
show('is acquired', [$first->isAcquired(), $second->isAcquired()]);
$first->refresh(5);
show('lifetime', $first->getRemainingLifetime() > 4 && $first->getRemainingLifetime() <= 5);
show('type', (string) $redis->type('report'));
try {
    $second->refresh();
    show('refresh without holding', 'no error');
} catch (LockConflictedException $error) {
    show('refresh without holding', get_class($error));
}
$first->release();
show('after release', $second->acquire());
$second->release();
show('keys left', $redis->exists('report') == 0);

$readers = [$factory->createLock('page', 2, false), $factory->createLock('page', 2, false)];
$writer = $factory->createLock('page', 2, false);
show('two readers', [$readers[0]->acquireRead(), $readers[1]->acquireRead()]);
show('a writer beside them', $writer->acquire());
show('promotion beside another reader', $readers[0]->acquire());
$readers[1]->release();
show('promotion of the last reader', $readers[0]->acquire());
show('a reader beside the writer', $readers[1]->acquireRead());
show('demotion', $readers[0]->acquireRead());
show('a reader beside a reader', $readers[1]->acquireRead());
$readers[0]->release();
$readers[1]->release();
show('the writer at last', $writer->acquire());
$writer->release();

// The lease of 0.6 s ends while the other one blocks.
$short = $factory->createLock('job', 0.6, false);
$short->acquire();
$blocking = $factory->createLock('job', 2, false);
$began = microtime(true);
show('blocking', $blocking->acquire(true));
$waited = microtime(true) - $began;
show('waited for the end of the lease', $waited > 0.4 && $waited < 2);
show('expired', $short->isExpired());
$short->release();
show('the release of an expired lock ends nothing', $blocking->isAcquired());
$blocking->release();
