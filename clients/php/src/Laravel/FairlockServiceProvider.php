<?php

declare(strict_types=1);

namespace Fairlock\Laravel;

use Fairlock\Client;
use Fairlock\Internal\Seconds;
use Illuminate\Cache\ArrayStore;
use Illuminate\Cache\Repository;
use Illuminate\Support\ServiceProvider;

/**
 * Registers the driver `fairlock` for cache stores. In config/cache.php, such a store has one of
 *
 * - `url`: an address or several, as Client::from() takes them; with `master`, those of Sentinels
 * - `connection`: the name of a Redis connection of Laravel, whose settings are used
 *
 * and may have `store`, the name of the cache store for values, `prefix` before the names of locks,
 * `lease` in seconds of locks without an end, and `user`, `password`, `sentinelPassword`, `ssl`,
 * `connectTimeout` and `readTimeout` as Client::from() takes them.
 */
final class FairlockServiceProvider extends ServiceProvider
{
    private const OF_CLIENT = [
        'master', 'ssl', 'user', 'password', 'sentinelPassword', 'connectTimeout', 'readTimeout',
    ];

    /** Adds the driver to the cache manager. */
    public function boot(): void
    {
        // Laravel binds the function to the cache manager, so it cannot be static.
        $this->app['cache']->extend(
            'fairlock',
            fn (object $app, array $config): Repository =>
                $app['cache']->repository(FairlockServiceProvider::store($app, $config)),
        );
    }

    /**
     * Makes a store.
     *
     * @param object               $app    the container
     * @param array<string, mixed> $config of the store in config/cache.php
     *
     * @throws \InvalidArgumentException if it lacks `url` and `connection`, or one of them is wrong
     */
    public static function store(object $app, array $config): FairlockStore
    {
        $source = $config['url'] ?? null;
        if ($source === null && isset($config['connection'])) {
            $source = $app['redis']->connection($config['connection'])->client();
        }
        if ($source === null) {
            throw new \InvalidArgumentException(
                'a cache store with the driver fairlock needs a url or a connection',
            );
        }
        $settings = array_intersect_key($config, array_flip(self::OF_CLIENT));
        $values = isset($config['store'])
            ? $app['cache']->store($config['store'])->getStore()
            : new ArrayStore();
        return new FairlockStore(
            Client::from($source, ...$settings),
            $values,
            $config['prefix'] ?? '',
            $config['lease'] ?? Seconds::MAX,
        );
    }
}
