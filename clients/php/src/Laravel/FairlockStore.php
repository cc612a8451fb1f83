<?php

declare(strict_types=1);

namespace Fairlock\Laravel;

use Fairlock\Client;
use Fairlock\Internal\Seconds;
use Illuminate\Contracts\Cache\LockProvider;
use Illuminate\Contracts\Cache\Store;

/** A cache store of Laravel that keeps values in another store, and locks in fairlock. */
final class FairlockStore implements LockProvider, Store
{
    private readonly float $lease;

    /**
     * @param Store                   $values for everything but locks
     * @param string                  $prefix before the names of locks
     * @param int|float|\DateInterval $lease  of a lock that is asked for without an end, in
     *                                        seconds: more than 0, up to a year
     *
     * @throws \InvalidArgumentException if it is out of bounds
     */
    public function __construct(
        private readonly Client $client,
        private readonly Store $values,
        private readonly string $prefix = '',
        int|float|\DateInterval $lease = Seconds::MAX,
    ) {
        $this->lease = Seconds::of('lease', $lease, false);
    }

    /**
     * @param string                  $name
     * @param int|float|\DateInterval $seconds the lease, up to a year; 0 for that of the store
     * @param string|null             $owner   null for a random one
     *
     * @throws \InvalidArgumentException if the lease is out of bounds
     */
    public function lock($name, $seconds = 0, $owner = null): FairlockLock
    {
        $lease = Seconds::of('seconds', is_numeric($seconds) ? $seconds + 0 : $seconds);
        if ($lease === 0.0) {
            $lease = $this->lease;
        }
        return new FairlockLock($this->client, $this->prefix . $name, $lease, $owner);
    }

    /**
     * Returns the lock of an owner that another process took, to release it.
     *
     * @param string $name
     * @param string $owner
     */
    public function restoreLock($name, $owner): FairlockLock
    {
        return $this->lock($name, 0, $owner);
    }

    /** Returns the store of the values. */
    public function values(): Store
    {
        return $this->values;
    }

    /** @param string $key */
    public function get($key): mixed
    {
        return $this->values->get($key);
    }

    /** @return array<string, mixed> */
    public function many(array $keys): array
    {
        return $this->values->many($keys);
    }

    /**
     * @param string $key
     * @param mixed  $value
     * @param int    $seconds
     */
    public function put($key, $value, $seconds): bool
    {
        return (bool) $this->values->put($key, $value, $seconds);
    }

    /** @param int $seconds */
    public function putMany(array $values, $seconds): bool
    {
        return (bool) $this->values->putMany($values, $seconds);
    }

    /**
     * Stores a value if there is none. It is one step if it is one in the store of the values.
     *
     * @param string $key
     * @param mixed  $value
     * @param int    $seconds
     */
    public function add($key, $value, $seconds): bool
    {
        if (method_exists($this->values, 'add')) {
            return (bool) $this->values->add($key, $value, $seconds);
        }
        return $this->values->get($key) === null
            && (bool) $this->values->put($key, $value, $seconds);
    }

    /**
     * @param string $key
     * @param int    $value
     */
    public function increment($key, $value = 1): mixed
    {
        return $this->values->increment($key, $value);
    }

    /**
     * @param string $key
     * @param int    $value
     */
    public function decrement($key, $value = 1): mixed
    {
        return $this->values->decrement($key, $value);
    }

    /**
     * @param string $key
     * @param mixed  $value
     */
    public function forever($key, $value): bool
    {
        return (bool) $this->values->forever($key, $value);
    }

    /**
     * Gives a value a new time to live. Laravel 8 to 12 do not ask for it.
     *
     * @param string $key
     * @param int    $seconds
     */
    public function touch($key, $seconds): bool
    {
        if (method_exists($this->values, 'touch')) {
            return (bool) $this->values->touch($key, $seconds);
        }
        $value = $this->values->get($key);
        return $value !== null && $this->values->put($key, $value, $seconds);
    }

    /** @param string $key */
    public function forget($key): bool
    {
        return (bool) $this->values->forget($key);
    }

    /** Removes all values. Locks stay. */
    public function flush(): bool
    {
        return (bool) $this->values->flush();
    }

    /** Returns the prefix of the values. */
    public function getPrefix(): string
    {
        return $this->values->getPrefix();
    }
}
