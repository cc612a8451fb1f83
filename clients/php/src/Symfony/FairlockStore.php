<?php

declare(strict_types=1);

namespace Fairlock\Symfony;

use Fairlock\Client;
use Fairlock\Denied;
use Fairlock\FairlockException;
use Fairlock\Internal\OwnedLock;
use Fairlock\Internal\Seconds;
use Fairlock\Internal\Text;
use Fairlock\ServerError;
use Symfony\Component\Lock\BlockingSharedLockStoreInterface;
use Symfony\Component\Lock\BlockingStoreInterface;
use Symfony\Component\Lock\Exception\InvalidTtlException;
use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Exception\LockReleasingException;
use Symfony\Component\Lock\Exception\LockStorageException;
use Symfony\Component\Lock\Key;
use Symfony\Component\Lock\Store\ExpiringStoreTrait;

/**
 * A store for Symfony's Lock component, whose locks wait in the queue of the server.
 *
 * A Key that is serialized takes its hold with it, to another process that uses such a store.
 */
final class FairlockStore implements BlockingStoreInterface, BlockingSharedLockStoreInterface
{
    use ExpiringStoreTrait;

    /** The state of a Key that names its owner. */
    public const OWNER = 'fairlock.owner';
    /** The state of a Key with the fencing token of its lock. */
    public const TOKEN = 'fairlock.token';
    /** The state of a Key with the longest lease that was asked for, in seconds. */
    private const LEASE = 'fairlock.lease';

    private readonly OwnedLock $locks;
    private readonly float $lease;
    private readonly ?float $wait;

    /**
     * @param int|float|\DateInterval      $initialTtl the lease until the Lock refreshes it with
     *                                                 its own, in seconds: more than 0, up to a
     *                                                 year
     * @param int|float|\DateInterval|null $wait       how long acquire(true) waits at most, in
     *                                                 seconds; null waits without end
     *
     * @throws \InvalidArgumentException if one of these is out of bounds
     */
    public function __construct(
        private readonly Client $client,
        int|float|\DateInterval $initialTtl = 300,
        int|float|\DateInterval|null $wait = null,
    ) {
        $this->lease = Seconds::of('initialTtl', $initialTtl, false);
        $this->wait = Seconds::orNull('wait', $wait);
        $this->locks = new OwnedLock($client);
    }

    /**
     * Returns the fencing token of a lock that was acquired with this Key.
     *
     * @throws \LogicException if it was not
     */
    public static function tokenOf(Key $key): int
    {
        if (!$key->hasState(self::TOKEN)) {
            throw new \LogicException(Text::shown((string) $key) . ' has not been acquired');
        }
        return $key->getState(self::TOKEN);
    }

    /**
     * @throws LockConflictedException if others hold the lock, or are waiting for it
     * @throws LockStorageException
     */
    public function save(Key $key): void
    {
        $this->lock($key, 0.0, false);
    }

    /**
     * @throws LockConflictedException if the wait is over
     * @throws LockStorageException
     */
    public function waitAndSave(Key $key): void
    {
        $this->lock($key, $this->wait, false);
    }

    /**
     * @throws LockConflictedException if the lock is held for writing, or others wait for it
     * @throws LockStorageException
     */
    public function saveRead(Key $key): void
    {
        $this->lock($key, 0.0, true);
    }

    /**
     * @throws LockConflictedException if the wait is over
     * @throws LockStorageException
     */
    public function waitAndSaveRead(Key $key): void
    {
        $this->lock($key, $this->wait, true);
    }

    /**
     * @param float $ttl in seconds: more than 0, up to a year
     *
     * @throws LockConflictedException if the lock is not held any more
     * @throws InvalidTtlException     if the time is out of bounds
     * @throws LockStorageException
     */
    public function putOffExpiration(Key $key, float $ttl): void
    {
        if (!($ttl > 0 && $ttl <= Seconds::MAX)) {
            throw new InvalidTtlException(sprintf('%s() got a TTL of %s s.', __METHOD__, $ttl));
        }
        if (!$key->hasState(self::TOKEN)) {
            throw new LockConflictedException();
        }
        // The first refresh usually makes the initial lease shorter. Others must not, because they
        // may arrive late.
        $mayShorten = $ttl < $key->getState(self::LEASE);
        $left = $this->asked($key, fn (string $owner): ?float => $this->locks->renew(
            (string) $key,
            $owner,
            self::tokenOf($key),
            $ttl,
            $mayShorten,
        ));
        if ($left === null) {
            throw new LockConflictedException();
        }
        $key->setState(self::LEASE, $ttl);
        $key->reduceLifetime($left);
        $this->checkNotExpired($key);
    }

    /** @throws LockReleasingException if the server could not be reached */
    public function delete(Key $key): void
    {
        if (!$key->hasState(self::TOKEN)) {
            return;
        }
        try {
            $owner = $key->getState(self::OWNER);
            $this->locks->release((string) $key, $owner, self::tokenOf($key));
        } catch (FairlockException $error) {
            throw new LockReleasingException($error->getMessage(), 0, $error);
        }
        $key->removeState(self::TOKEN);
    }

    /** @throws LockStorageException */
    public function exists(Key $key): bool
    {
        return $key->hasState(self::TOKEN) && $this->asked($key, fn (): bool =>
            $this->locks->isHeld((string) $key, self::tokenOf($key)));
    }

    private function lock(Key $key, ?float $wait, bool $shared): void
    {
        $hold = $this->asked($key, fn (string $owner) => $this->client->lock(
            (string) $key,
            $this->lease,
            $wait,
            $owner,
            $shared,
            autoRelease: false,
        )->acquire());
        $key->setState(self::TOKEN, $hold->token());
        $key->setState(self::LEASE, $this->lease);
        $key->reduceLifetime($hold->left());
        $this->checkNotExpired($key);
    }

    /**
     * @template T
     *
     * @param \Closure(string): T $ask is given the owner
     *
     * @return T
     */
    private function asked(Key $key, \Closure $ask): mixed
    {
        if (!$key->hasState(self::OWNER)) {
            $key->setState(self::OWNER, Text::newOwner());
        }
        try {
            return $ask($key->getState(self::OWNER));
        } catch (Denied $error) {
            throw new LockConflictedException($error->getMessage(), 0, $error);
        } catch (FairlockException $error) {
            if ($error instanceof ServerError && OwnedLock::isConflict($error)) {
                throw new LockConflictedException($error->getMessage(), 0, $error);
            }
            throw new LockStorageException($error->getMessage(), 0, $error);
        }
    }
}
