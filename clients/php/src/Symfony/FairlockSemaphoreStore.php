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
use Symfony\Component\Semaphore\Exception\InvalidArgumentException;
use Symfony\Component\Semaphore\Exception\RuntimeException;
use Symfony\Component\Semaphore\Exception\SemaphoreAcquiringException;
use Symfony\Component\Semaphore\Exception\SemaphoreExpiredException;
use Symfony\Component\Semaphore\Exception\SemaphoreReleasingException;
use Symfony\Component\Semaphore\Key;
use Symfony\Component\Semaphore\PersistingStoreInterface;

/**
 * A store for Symfony's Semaphore component. A semaphore is a lock with a limit, and counts each
 * owner once: it has no weights.
 */
final class FairlockSemaphoreStore implements PersistingStoreInterface
{
    /** The state of a Key that names its owner. */
    public const OWNER = 'fairlock.owner';
    /** The state of a Key with the fencing token of its hold. */
    public const TOKEN = 'fairlock.token';

    private readonly OwnedLock $locks;
    private readonly ?float $keep;

    /**
     * @param int|float|\DateInterval|null $keep how long the place in the queue is kept for an
     *                                           owner that was denied, until it asks again, in
     *                                           seconds: from 0 to a year; null keeps none
     *
     * @throws \InvalidArgumentException if it is out of bounds
     */
    public function __construct(
        private readonly Client $client,
        int|float|\DateInterval|null $keep = null,
    ) {
        $this->keep = Seconds::orNull('keep', $keep);
        $this->locks = new OwnedLock($client);
    }

    /**
     * @param float $ttlInSecond more than 0, up to a year
     *
     * @throws SemaphoreAcquiringException if the semaphore is full, or others are waiting for it
     * @throws InvalidArgumentException    if the time is out of bounds, or the weight is not 1
     * @throws RuntimeException
     */
    public function save(Key $key, float $ttlInSecond): void
    {
        if ($key->getWeight() !== 1) {
            throw new InvalidArgumentException(
                "A weight of 1 is needed, because fairlock counts owners: got {$key->getWeight()}.",
            );
        }
        try {
            $hold = $this->asked($key, $ttlInSecond, fn (string $owner) => $this->client->lock(
                (string) $key,
                $ttlInSecond,
                0,
                $owner,
                limit: $key->getLimit(),
                keep: $this->keep,
                autoRelease: false,
            )->acquire());
        } catch (Denied $error) {
            throw new SemaphoreAcquiringException($key, (string) $error->explanation);
        }
        $key->setState(self::TOKEN, $hold->token());
    }

    /** @throws SemaphoreReleasingException if the server could not be reached */
    public function delete(Key $key): void
    {
        if (!$key->hasState(self::OWNER)) {
            return;
        }
        try {
            // Without the token, this also gives up a place that is kept.
            $this->locks->release((string) $key, $key->getState(self::OWNER));
        } catch (FairlockException $error) {
            throw new SemaphoreReleasingException($key, $error->getMessage());
        }
        $key->removeState(self::TOKEN);
    }

    /** @throws RuntimeException */
    public function exists(Key $key): bool
    {
        return $key->hasState(self::TOKEN) && $this->asked($key, 1.0, fn (): bool =>
            $this->locks->isHeld((string) $key, $key->getState(self::TOKEN)));
    }

    /**
     * @param float $ttlInSecond more than 0, up to a year; the lease never ends earlier than before
     *
     * @throws SemaphoreExpiredException if the owner is not one of its holders any more
     * @throws InvalidArgumentException  if the time is out of bounds
     * @throws RuntimeException
     */
    public function putOffExpiration(Key $key, float $ttlInSecond): void
    {
        $left = !$key->hasState(self::TOKEN) ? null : $this->asked(
            $key,
            $ttlInSecond,
            fn (string $owner): ?float => $this->locks->renew(
                (string) $key,
                $owner,
                $key->getState(self::TOKEN),
                $ttlInSecond,
            ),
        );
        if ($left === null) {
            throw new SemaphoreExpiredException($key, 'the server does not know the hold any more');
        }
    }

    /**
     * @template T
     *
     * @param \Closure(string): T $ask is given the owner
     *
     * @return T
     */
    private function asked(Key $key, float $ttl, \Closure $ask): mixed
    {
        if (!($ttl > 0 && $ttl <= Seconds::MAX)) {
            throw new InvalidArgumentException("The TTL must be more than 0 s, got $ttl.");
        }
        if (!$key->hasState(self::OWNER)) {
            $key->setState(self::OWNER, Text::newOwner());
        }
        try {
            return $ask($key->getState(self::OWNER));
        } catch (Denied $error) {
            throw $error;
        } catch (FairlockException $error) {
            if ($error instanceof ServerError && OwnedLock::isConflict($error)) {
                throw new SemaphoreAcquiringException($key, $error->getMessage());
            }
            throw new RuntimeException($error->getMessage(), 0, $error);
        }
    }
}
