<?php

declare(strict_types=1);

namespace Fairlock\Internal;

use Fairlock\Client;
use Fairlock\ConnectionLost;
use Fairlock\NotFairlock;
use Fairlock\ServerError;

/**
 * Requests about a hold of which only the key, the owner and the token are known, as the stores of
 * frameworks keep them. Each is repeated while the server cannot be reached, for 5 seconds.
 *
 * @internal
 */
final class OwnedLock
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Renews the lease.
     *
     * @param float $lease      in seconds
     * @param bool  $mayShorten whether the lease may end earlier than before
     *
     * @return float|null how many seconds of it are left at least; null if the hold is lost
     *
     * @throws ConnectionLost|NotFairlock|ServerError
     */
    public function renew(
        string $key,
        string $owner,
        int $token,
        float $lease,
        bool $mayShorten = false,
    ): ?float {
        $terms = $this->client->about($key);
        $answer = $this->client->ask($terms->renew($owner, $token, $lease, $mayShorten), $terms);
        return $answer->reply === 1 ? $answer->sentAt + $lease - Clock::now() : null;
    }

    /**
     * Releases the lock. Without a token, it also gives up the place of the owner in the queue.
     *
     * @return bool whether the owner held it
     *
     * @throws ConnectionLost|NotFairlock|ServerError
     */
    public function release(string $key, string $owner, ?int $token = null): bool
    {
        $terms = $this->client->about($key);
        return $this->client->ask($terms->unlock($owner, $token), $terms)->reply === 1;
    }

    /**
     * Returns whether the token holds the key.
     *
     * @throws ConnectionLost|NotFairlock|ServerError
     */
    public function isHeld(string $key, int $token): bool
    {
        $terms = $this->client->about($key);
        $words = ['CHECK', $terms->serverKeys[0], (string) $token];
        return $this->client->ask($words, $terms)->reply === 1;
    }

    /**
     * Returns whether the server refused a lock because the key is in use in another way: it is a
     * value of a library for Redis, or its owner holds it for reading and asks to write.
     */
    public static function isConflict(ServerError $error): bool
    {
        return preg_match('/\A(WRONGTYPE|ERR LIMIT or SHARED)/', $error->reply) === 1;
    }
}
