<?php

declare(strict_types=1);

namespace Fairlock\Laravel;

use Fairlock\Client;
use Fairlock\Denied;
use Fairlock\FairlockException;
use Fairlock\Hold;
use Fairlock\Internal\OwnedLock;
use Fairlock\Internal\Seconds;
use Fairlock\LostHold;
use Fairlock\ServerError;
use Illuminate\Cache\Lock;
use Illuminate\Contracts\Cache\LockTimeoutException;

/**
 * A lock of Laravel that a fairlock server holds. block() waits in its queue.
 *
 * As Laravel's other locks, it is not released when the object is destroyed.
 */
final class FairlockLock extends Lock
{
    private ?Hold $hold = null;

    /**
     * @param string      $name    the key
     * @param int|float   $seconds the lease: more than 0, up to a year
     * @param string|null $owner   null for a random one
     */
    public function __construct(
        private readonly Client $client,
        string $name,
        int|float $seconds,
        ?string $owner = null,
    ) {
        parent::__construct($name, $seconds, $owner);
    }

    /**
     * Takes the lock if it is free. If this object has it already, the result is false, as with
     * Laravel's other locks; the same owner in another object gets its lock again.
     *
     * @throws FairlockException
     */
    public function acquire(): bool
    {
        return ($this->hold === null || !$this->hold->isHeld()) && $this->take(0.0);
    }

    /**
     * Waits for the lock in its queue.
     *
     * @param int|float|\DateInterval $seconds  how long it waits at most: 0 or more, up to a year
     * @param callable|null           $callback is called with the lock held, which is then released
     *
     * @return mixed the result of the callback, or true
     *
     * @throws LockTimeoutException      if the wait is over
     * @throws \InvalidArgumentException if it is out of bounds
     * @throws FairlockException
     */
    public function block($seconds, $callback = null): mixed
    {
        $wait = Seconds::of('seconds', is_numeric($seconds) ? $seconds + 0 : $seconds);
        if ($this->hold?->isHeld() || !$this->take($wait)) {
            throw new LockTimeoutException();
        }
        if (!is_callable($callback)) {
            return true;
        }
        try {
            return $callback();
        } finally {
            $this->release();
        }
    }

    /**
     * Releases the lock if this owner holds it, also one that another process took.
     *
     * @throws FairlockException
     */
    public function release(): bool
    {
        if ($this->hold !== null) {
            $hold = $this->hold;
            $this->hold = null;
            return $hold->release();
        }
        return (new OwnedLock($this->client))->release($this->name, $this->owner);
    }

    /**
     * Ends the lock, whoever holds it. The owners learn it when they renew.
     *
     * @throws FairlockException
     */
    public function forceRelease(): void
    {
        $this->client->breakLock($this->name, 'forceRelease');
        $this->hold = null;
    }

    /**
     * Returns the fencing token, which is to be sent with every write to what the lock protects.
     *
     * @throws LostHold if this object does not hold the lock, or may not hold it any more
     */
    public function token(): int
    {
        return $this->held()->token();
    }

    /**
     * Renews the lease.
     *
     * @param int|float|null $seconds its length from now on; null for the same as before
     *
     * @throws LostHold if this object does not hold the lock any more
     * @throws FairlockException
     */
    public function renew(int|float|null $seconds = null): void
    {
        $this->held()->renew($seconds);
    }

    /** Returns the owner that holds the lock; an empty text if nobody does. */
    protected function getCurrentOwner(): string
    {
        $holders = $this->client->holders($this->name);
        return $holders === [] ? '' : $holders[0]->owner;
    }

    private function held(): Hold
    {
        return $this->hold ?? throw new LostHold("$this->name is not held by this object");
    }

    private function take(float $wait): bool
    {
        try {
            $this->hold = $this->client->lock(
                $this->name,
                $this->seconds,
                $wait,
                $this->owner,
                autoRelease: false,
            )->acquire();
            return true;
        } catch (Denied) {
            return false;
        } catch (ServerError $error) {
            if (OwnedLock::isConflict($error)) {
                return false;
            }
            throw $error;
        }
    }
}
