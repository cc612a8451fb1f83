<?php

declare(strict_types=1);

// The cache store for Laravel, with Debian's packages, or with those that the file named in
// FAIRLOCK_PHP_AUTOLOAD loads.

namespace Fairlock\Tests;

use Fairlock\ConnectionLost;
use Fairlock\Laravel\FairlockServiceProvider;
use Fairlock\Laravel\FairlockStore;
use Fairlock\LostHold;
use Illuminate\Cache\ArrayStore;
use Illuminate\Cache\CacheManager;
use Illuminate\Cache\Lock;
use Illuminate\Cache\RedisLock;
use Illuminate\Cache\Repository;
use Illuminate\Container\Container;
use Illuminate\Contracts\Cache\LockTimeoutException;

require_once __DIR__ . '/support.php';

const AUTOLOADERS = [
    '/usr/share/php/Illuminate/Cache/autoload.php',
    '/usr/share/php/Illuminate/Container/autoload.php',
];
loadPackages(AUTOLOADERS);

abstract class LaravelCase extends TestCase
{
    public function setUp(): void
    {
        if (!class_exists(Lock::class) || !class_exists(Container::class)) {
            throw new Skipped('Laravel is missing (php-illuminate-cache)');
        }
        parent::setUp();
    }
}

final class Locks extends LaravelCase
{
    private function store(): FairlockStore
    {
        return new FairlockStore($this->fairlock, new ArrayStore(), 'app:');
    }

    public function testALock(): void
    {
        $first = $this->store()->lock('report', 20);
        $second = $this->store()->lock('report', 20);
        $this->same([true, false, false], [$first->get(), $first->get(), $second->get()]);
        $this->same(1, $this->outside->ask('LOCKED', 'app:report', $first->owner()));
        $this->same(1, $this->outside->ask('CHECK', 'app:report', (string) $first->token()));
        $this->between(15_000, 20_000, $this->outside->ask('PTTL', 'app:report'));
        $this->same(false, $second->release());
        $this->same([true, false], [$first->release(), $first->release()]);
        $this->same(true, $second->get());
        $this->same(true, $second->release());
        $this->nothingLeft('app:report');
    }

    public function testACallback(): void
    {
        $this->same('done', $this->store()->lock('report', 20)->get(fn (): string => 'done'));
        $this->nothingLeft('app:report');
        $lock = $this->store()->lock('report', 20);
        $this->throws(\DomainException::class, static fn () => $lock->block(
            5,
            static fn () => throw new \DomainException(),
        ));
        $this->nothingLeft('app:report');
        $this->same(7, $lock->block(5, static fn (): int => 7));
        $this->same(true, $lock->block(5));
        $lock->release();
    }

    public function testBlockWaitsInOrder(): void
    {
        $lock = $this->store()->lock('report', 60);
        $lock->get();
        $children = [];
        foreach (['first', 'second'] as $number => $owner) {
            $children[] = $this->child(loadingPackages() . "
                \$store = new Fairlock\Laravel\FairlockStore(
                    \$fairlock, new Illuminate\Cache\ArrayStore(), 'app:');
                say(\$store->lock('report', 60, '$owner')->block(60, function () {
                    say('in');
                    return fgets(STDIN);
                }));
            ");
            $this->waitUntil(fn (): bool => count($this->waiters('app:report')) === $number + 1);
        }
        $this->same(['first', 'second'], $this->waiters('app:report'));
        $before = $this->commands('lock');
        usleep(300_000);
        $this->same($before, $this->commands('lock'));
        $lock->release();
        $this->same('in', $children[0]->line());
        $this->same(['second'], $this->waiters('app:report'));
        $children[0]->tell('out');
        $this->same(["out\n", 'in'], [$children[0]->line(), $children[1]->line()]);
    }

    public function testBlockTimesOut(): void
    {
        $lock = $this->store()->lock('report', 60);
        $lock->get();
        $other = $this->store()->lock('report', 60);
        $this->throws(LockTimeoutException::class, fn () => $other->block(0.1));
        $this->throws(LockTimeoutException::class, fn () => $other->block(0));
        $this->throws(LockTimeoutException::class, fn () => $lock->block(0));
        $this->same([], $this->waiters('app:report'));
        $this->same(true, $lock->release());
    }

    public function testALockIsRestoredInAnotherProcess(): void
    {
        $lock = $this->store()->lock('report', 60);
        $lock->get();
        $owner = $lock->owner();
        unset($lock);
        $this->same(1, $this->outside->ask('LOCKED', 'app:report'));
        $this->same(false, $this->store()->restoreLock('report', 'another')->release());
        $this->same(true, $this->store()->restoreLock('report', $owner)->release());
        $this->nothingLeft('app:report');
    }

    public function testForceReleaseEndsTheLockOfAnybody(): void
    {
        $lock = $this->store()->lock('report', 60);
        $lock->get();
        $other = $this->store()->lock('report', 60);
        $other->forceRelease();
        $this->throws(LostHold::class, fn () => $lock->renew());
        $this->same([true, false], [$other->get(), $lock->release()]);
        $this->same(1, $this->outside->ask('LOCKED', 'app:report', $other->owner()));
        $other->forceRelease();
        $this->nothingLeft('app:report');
    }

    public function testALockWithoutAnEnd(): void
    {
        $lock = $this->store()->lock('report');
        $lock->get();
        $this->true($this->outside->ask('PTTL', 'app:report') > 364 * 86_400_000);
        $lock->release();
        $short = (new FairlockStore($this->fairlock, new ArrayStore(), lease: 600))->lock('report');
        $short->get();
        $this->between(500_000, 600_000, $this->outside->ask('PTTL', 'report'));
        $short->renew(1200);
        $this->between(1_100_000, 1_200_000, $this->outside->ask('PTTL', 'report'));
        $short->release();
    }

    public function testDurationsAreChecked(): void
    {
        foreach ([-1, INF, NAN, 31_536_001, '-1', '1e99'] as $wrong) {
            $this->throws(
                \InvalidArgumentException::class,
                fn () => $this->store()->lock('report', $wrong),
            );
            $this->throws(
                \InvalidArgumentException::class,
                fn () => $this->store()->lock('report', 60)->block($wrong),
            );
        }
        $lock = $this->store()->lock('report', '60');
        $this->same([true, true], [$lock->block('5'), $lock->release()]);
        $lock = $this->store()->lock('report', new \DateInterval('PT60S'));
        $this->same([true, true], [$lock->get(), $lock->release()]);
    }

    public function testWhoHoldsIt(): void
    {
        $lock = $this->store()->lock('report', 60, 'me');
        $current = new \ReflectionMethod($lock, 'getCurrentOwner');
        $this->same('', $current->invoke($lock));
        $lock->get();
        $this->same('me', $current->invoke($lock));
        $this->throws(LostHold::class, fn () => $this->store()->lock('report', 60)->token());
    }

    public function testBesideLaravelsOwnLock(): void
    {
        @include_once 'Predis/autoload.php';
        if (!class_exists(\Predis\Client::class)) {
            throw new Skipped('Predis is missing (php-predis)');
        }
        $url = "tcp://127.0.0.1:{$this->server->port}";
        $old = static fn () => new RedisLock(new \Predis\Client($url), 'app:report', 60, 'old');
        $lock = $this->store()->lock('report', 60);
        $lock->get();
        $this->same([false, false], [$old()->get(), $old()->release()]);
        $old()->forceRelease();
        $this->same(1, $this->outside->ask('LOCKED', 'app:report', $lock->owner()));
        $this->same([true, true], [$lock->release(), $old()->get()]);
        $this->same(false, $lock->get());
        $child = $this->child(loadingPackages() . "
            \$store = new Fairlock\Laravel\FairlockStore(
                \$fairlock, new Illuminate\Cache\ArrayStore(), 'app:');
            say(\$store->lock('report', 60)->block(60));
        ");
        $this->waitUntil(fn (): bool => $this->waiters('app:report') !== []);
        $this->same(true, $old()->release());
        $this->same(true, $child->line());
    }

    public function testAServerThatIsAway(): void
    {
        $this->server->stop(SIGKILL);
        $lock = $this->store()->lock('report', 60);
        $this->throws(ConnectionLost::class, fn () => $lock->get(), '/^app:report: /');
    }
}

final class Drivers extends LaravelCase
{
    /** @param array<string, mixed> $store the configuration of the cache store `locks` */
    private function manager(array $store): CacheManager
    {
        $app = new class extends Container {
            public function getNamespace(): string
            {
                return 'App\\';
            }
        };
        $app['config'] = new \ArrayObject([
            'cache.default' => 'locks',
            'cache.prefix' => '',
            'cache.stores.locks' => $store,
            'cache.stores.values' => ['driver' => 'array'],
        ]);
        $app->singleton('cache', static fn (Container $own) => new CacheManager($own));
        (new FairlockServiceProvider($app))->boot();
        return $app['cache'];
    }

    public function testTheDriver(): void
    {
        $config = ['driver' => 'fairlock', 'url' => $this->url(), 'prefix' => 'app:'];
        $manager = $this->manager($config + ['store' => 'values']);
        $cache = $manager->store();
        $this->true($cache instanceof Repository);
        $this->same(true, $cache->lock('report', 20)->get());
        $this->same(1, $this->outside->ask('LOCKED', 'app:report'));
        $this->same(false, $manager->lock('report', 20)->get());
        $cache->put('a', 1, 60);
        $this->same([1, null], [$cache->get('a'), $cache->get('b')]);
        $this->same(1, $manager->store('values')->get('a'));
        $this->same([false, true], [$cache->add('a', 2, 60), $cache->add('b', 2, 60)]);
        $this->same([2, 1], [$cache->increment('a'), $cache->decrement('a')]);
        $this->same(['a' => 1, 'b' => 2], $cache->many(['a', 'b']));
        $cache->forever('c', [3]);
        $this->same([3], $cache->pull('c'));
        $cache->putMany(['d' => 4], 60);
        $this->same([true, false], [$cache->getStore()->touch('d', 60), $cache->has('c')]);
        $this->same([true, null], [$cache->clear(), $cache->get('d')]);
        $this->same(1, $this->outside->ask('LOCKED', 'app:report'));
    }

    public function testTheSettingsOfARedisConnection(): void
    {
        $redis = new \Redis();
        $redis->connect('127.0.0.1', $this->server->port);
        $redis->setOption(\Redis::OPT_PREFIX, 'laravel_');
        $app = new Container();
        $app['redis'] = new class ($redis) {
            public function __construct(private \Redis $redis)
            {
            }

            public function connection(string $name): object
            {
                return new class ($this->redis) {
                    public function __construct(private \Redis $redis)
                    {
                    }

                    public function client(): \Redis
                    {
                        return $this->redis;
                    }
                };
            }
        };
        $store = FairlockServiceProvider::store($app, ['connection' => 'locks']);
        $this->same(true, $store->lock('report', 20)->get());
        $this->same(1, $this->outside->ask('LOCKED', 'laravel_report'));
    }

    public function testWrongConfigurations(): void
    {
        foreach ([[], ['url' => 'http://x'], ['url' => $this->url(), 'lease' => -1]] as $config) {
            $manager = $this->manager(['driver' => 'fairlock'] + $config);
            $this->throws(\InvalidArgumentException::class, static fn () => $manager->store());
        }
    }
}

run(Locks::class, Drivers::class);
