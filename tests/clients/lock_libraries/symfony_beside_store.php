<?php
// Symfony's store and the store of our library on the same key of a client with a prefix. Prints what
// each gets.
//
//   php symfony_beside_store.php PORT AUTOLOAD.php

require_once '/usr/share/php/Symfony/Component/Lock/autoload.php';
require_once $argv[2];

use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

$redis = new Redis();
$redis->connect('127.0.0.1', (int) $argv[1]);
$redis->setOption(Redis::OPT_PREFIX, 'shop:');
$old = (new LockFactory(new RedisStore($redis, 30)))->createLock('order:42', 30, false);
$store = new Fairlock\Symfony\FairlockStore(Fairlock\Client::from($redis), 30);
$new = (new LockFactory($store))->createLock('order:42', 30, false);

foreach ([[$old, $new], [$new, $old]] as [$first, $second]) {
    echo json_encode([$first->acquire(), $second->acquire(), $second->isAcquired()]), "\n";
    $first->refresh();
    $first->release();
}
