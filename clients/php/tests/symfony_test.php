<?php

declare(strict_types=1);

// The stores for Symfony's components, with those of Debian, or with those that the file named in
// FAIRLOCK_PHP_AUTOLOAD loads.

namespace Fairlock\Tests;

use Fairlock\Symfony\FairlockSemaphoreStore;
use Fairlock\Symfony\FairlockStore;
use Symfony\Component\Lock\Exception\ExceptionInterface;
use Symfony\Component\Lock\Exception\InvalidTtlException;
use Symfony\Component\Lock\Exception\LockAcquiringException;
use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Key;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;
use Symfony\Component\Semaphore\Exception\InvalidArgumentException;
use Symfony\Component\Semaphore\Exception\SemaphoreExpiredException;
use Symfony\Component\Semaphore\Key as SemaphoreKey;
use Symfony\Component\Semaphore\Semaphore;
use Symfony\Component\Semaphore\SemaphoreFactory;

require_once __DIR__ . '/support.php';

const AUTOLOADERS = [
    '/usr/share/php/Symfony/Component/Lock/autoload.php',
    '/usr/share/php/Symfony/Component/Semaphore/autoload.php',
];
loadPackages(AUTOLOADERS);

final class Locks extends TestCase
{
    private FairlockStore $store;

    public function setUp(): void
    {
        if (!class_exists(LockFactory::class)) {
            throw new Skipped('Symfony\'s Lock component is missing (php-symfony-lock)');
        }
        parent::setUp();
        $this->store = new FairlockStore($this->fairlock, wait: 20);
    }

    private function factory(): LockFactory
    {
        return new LockFactory($this->store);
    }

    public function testAnExclusiveLock(): void
    {
        $first = $this->factory()->createLock('report', 20);
        $second = $this->factory()->createLock('report', 20);
        $this->same([true, true], [$first->acquire(), $first->acquire()]);
        $this->same(false, $second->acquire());
        $this->same([true, false], [$first->isAcquired(), $second->isAcquired()]);
        $first->release();
        $this->same([false, true], [$first->isAcquired(), $second->acquire()]);
        $first->release();
        $this->same(true, $second->isAcquired());
        $second->release();
        $this->nothingLeft('report');
    }

    public function testTheLeaseIsThatOfTheLock(): void
    {
        $lock = $this->factory()->createLock('report', 20);
        $lock->acquire();
        $this->between(15_000, 20_000, $this->outside->ask('PTTL', 'report'));
        $this->between(15, 20, $lock->getRemainingLifetime());
        $lock->refresh(60);
        $this->between(50_000, 60_000, $this->outside->ask('PTTL', 'report'));
        $this->between(50, 60, $lock->getRemainingLifetime());
        $lock->refresh(30);
        $this->between(20_000, 30_000, $this->outside->ask('PTTL', 'report'));
        $this->same(false, $lock->isExpired());
        $lock->release();
    }

    public function testALeaseThatEnds(): void
    {
        $lock = $this->factory()->createLock('report', 1.5);
        $lock->acquire();
        $other = $this->factory()->createLock('report', 20);
        $this->same(true, $other->acquire(true));
        $this->same([true, false], [$lock->isExpired(), $lock->isAcquired()]);
        $this->throws(LockConflictedException::class, fn () => $lock->refresh());
        $lock->release();
        $this->same(true, $other->isAcquired());
        $other->release();
    }

    public function testBlockingLocksAreGrantedInOrder(): void
    {
        $lock = $this->factory()->createLock('report', 60);
        $lock->acquire();
        $children = [];
        foreach (['first', 'second'] as $number => $name) {
            $children[] = $this->child(loadingPackages() . "
                \$store = new Fairlock\Symfony\FairlockStore(\$fairlock);
                \$lock = (new Symfony\Component\Lock\LockFactory(\$store))->createLock('report');
                say(\$lock->acquire(true));
                fgets(STDIN);
                \$lock->release();
            ");
            $this->waitUntil(fn (): bool => count($this->waiters('report')) === $number + 1);
        }
        $before = $this->commands('lock');
        usleep(300_000);
        $this->same($before, $this->commands('lock'));
        $lock->release();
        $this->same(true, $children[0]->line());
        $this->same(1, count($this->waiters('report')));
        $children[0]->tell('release');
        $this->same(true, $children[1]->line());
    }

    public function testAWaitThatEnds(): void
    {
        $lock = $this->factory()->createLock('report', 60);
        $lock->acquire();
        $this->store = new FairlockStore($this->fairlock, wait: 0.1);
        $other = $this->factory()->createLock('report', 60);
        $this->throws(
            LockConflictedException::class,
            fn () => $other->acquire(true),
            '/^report not granted in 0.1 s: held by /',
        );
        $this->same([], $this->waiters('report'));
    }

    public function testReadersAndAWriter(): void
    {
        $readers = [
            $this->factory()->createLock('page', 20), $this->factory()->createLock('page', 20),
        ];
        $writer = $this->factory()->createLock('page', 20);
        $this->same([true, true], [$readers[0]->acquireRead(), $readers[1]->acquireRead(true)]);
        $this->same(false, $writer->acquire());
        // A reader is not promoted: it releases the lock first.
        $readers[1]->release();
        $this->same(false, $readers[0]->acquire());
        $this->same(true, $readers[0]->isAcquired());
        $readers[0]->release();
        $this->same([true, false], [$writer->acquire(true), $readers[0]->acquireRead()]);
        $writer->release();
    }

    public function testTheTokenIsInTheKey(): void
    {
        $key = new Key('report');
        $this->throws(\LogicException::class, static fn () => FairlockStore::tokenOf($key));
        $lock = $this->factory()->createLockFromKey($key, 20);
        $lock->acquire();
        $token = FairlockStore::tokenOf($key);
        $this->same(1, $this->outside->ask('CHECK', 'report', (string) $token));
        $lock->release();
        $lock->acquire();
        $this->true(FairlockStore::tokenOf($key) > $token);
        $lock->release();
    }

    public function testAKeyTakesItsHoldToAnotherProcess(): void
    {
        $key = new Key('report');
        $lock = $this->factory()->createLockFromKey($key, 60, false);
        $lock->acquire();
        $text = base64_encode(serialize($key));
        unset($lock);
        $child = $this->child(loadingPackages() . "
            \$key = unserialize(base64_decode('$text'));
            \$store = new Fairlock\Symfony\FairlockStore(\$fairlock);
            \$factory = new Symfony\Component\Lock\LockFactory(\$store);
            \$lock = \$factory->createLockFromKey(\$key, 30);
            say(\$lock->isAcquired());
            \$lock->refresh();
            \$lock->release();
            say(Fairlock\Symfony\FairlockStore::OWNER);
        ");
        $this->same([true, FairlockStore::OWNER], [$child->line(), $child->line()]);
        $this->nothingLeft('report');
    }

    public function testALockIsReleasedWhenItIsForgotten(): void
    {
        $lock = $this->factory()->createLock('report', 20);
        $lock->acquire();
        unset($lock);
        $this->nothingLeft('report');
    }

    public function testBesideSymfonysOwnStore(): void
    {
        $redis = new \Redis();
        $redis->connect('127.0.0.1', $this->server->port);
        $old = (new LockFactory(new RedisStore($redis, 30)))->createLock('order:42', 30);
        $new = $this->factory()->createLock('order:42', 30);
        foreach ([[$old, $new], [$new, $old]] as [$first, $second]) {
            $this->same([true, false], [$first->acquire(), $second->acquire()]);
            $first->release();
        }
    }

    public function testErrorsAreThoseOfSymfony(): void
    {
        $this->throws(
            InvalidTtlException::class,
            fn () => $this->store->putOffExpiration(new Key('k'), 0.0),
        );
        $this->throws(
            LockConflictedException::class,
            fn () => $this->store->putOffExpiration(new Key('k'), 1.0),
        );
        $this->store->delete(new Key('k'));
        $this->same(false, $this->store->exists(new Key('k')));
        $this->server->stop(SIGKILL);
        $lock = $this->factory()->createLock('report', 20);
        $this->throws(LockAcquiringException::class, fn () => $lock->acquire());
        $save = fn () => $this->store->save(new Key('k'));
        $this->throws(ExceptionInterface::class, $save, '/^k: /');
        $this->throws(\InvalidArgumentException::class, fn () => new FairlockStore(
            $this->fairlock,
            INF,
        ));
    }
}

final class Semaphores extends TestCase
{
    private SemaphoreFactory $factory;

    public function setUp(): void
    {
        if (!class_exists(Semaphore::class)) {
            throw new Skipped('Symfony\'s Semaphore component is missing (php-symfony-semaphore)');
        }
        parent::setUp();
        $this->factory = new SemaphoreFactory(new FairlockSemaphoreStore($this->fairlock));
    }

    public function testAtMostAsManyAsTheLimit(): void
    {
        [$one, $two, $three] = array_map(
            fn () => $this->factory->createSemaphore('maps', 2, 1, 60),
            [1, 2, 3],
        );
        $this->same([true, true, false], [$one->acquire(), $two->acquire(), $three->acquire()]);
        $this->same(true, $one->acquire());
        $this->same([true, false], [$one->isAcquired(), $three->isAcquired()]);
        $one->release();
        $this->same([true, false], [$three->acquire(), $one->isAcquired()]);
        $this->same(2, $this->outside->ask('LOCKED', 'maps'));
        unset($two, $three);
        $this->nothingLeft('maps');
    }

    public function testALeaseIsRefreshed(): void
    {
        $semaphore = $this->factory->createSemaphore('maps', 2, 1, 20);
        $semaphore->acquire();
        $semaphore->refresh(60);
        $this->between(50_000, 60_000, $this->outside->ask('PTTL', 'maps'));
        $this->between(50, 60, $semaphore->getRemainingLifetime());
        $this->outside->ask('BREAK', 'maps');
        $this->same(false, $semaphore->isAcquired());
        $this->throws(SemaphoreExpiredException::class, fn () => $semaphore->refresh());
    }

    public function testAKeptPlace(): void
    {
        $store = new FairlockSemaphoreStore($this->fairlock, keep: 60);
        $factory = new SemaphoreFactory($store);
        [$one, $two, $three] = array_map(
            static fn () => $factory->createSemaphore('maps', 1, 1, 60),
            [1, 2, 3],
        );
        $this->same([true, false, false], [$one->acquire(), $two->acquire(), $three->acquire()]);
        $one->release();
        $this->same([false, true], [$three->acquire(), $two->acquire()]);
        $two->release();
        $three->release();
        $this->nothingLeft('maps');
    }

    public function testAWeightIsRefused(): void
    {
        $this->throws(
            InvalidArgumentException::class,
            fn () => (new FairlockSemaphoreStore($this->fairlock))
                ->save(new SemaphoreKey('maps', 3, 2), 60.0),
            '/A weight of 1 is needed/',
        );
        foreach ([0.0, -1.0, INF, NAN] as $ttl) {
            $this->throws(
                InvalidArgumentException::class,
                fn () => (new FairlockSemaphoreStore($this->fairlock))
                    ->save(new SemaphoreKey('maps', 3), $ttl),
            );
        }
    }
}

run(Locks::class, Semaphores::class);
