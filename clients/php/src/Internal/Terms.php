<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * What a lock is asked for, and the commands that ask for it. Times are in seconds.
 *
 * @internal
 */
final class Terms
{
    /** @var non-empty-list<string> the keys as the server knows them */
    public readonly array $serverKeys;

    /**
     * @param list<string> $keys     as the program knows them
     * @param string       $prefix   which the client puts before keys
     * @param int          $database of the server
     *
     * @throws \InvalidArgumentException
     */
    public function __construct(
        public readonly array $keys,
        public readonly string $prefix,
        public readonly int $database,
        public readonly float $lease,
        public readonly ?int $limit = null,
        public readonly bool $shared = false,
        public readonly ?float $keep = null,
        public readonly ?float $minHold = null,
        public readonly ?int $maxWaiters = null,
        public readonly ?string $meta = null,
        public readonly ?string $label = null,
    ) {
        if ($keys === []) {
            throw new \InvalidArgumentException('a lock needs at least one key');
        }
        foreach ($keys as $key) {
            if ($key === '') {
                throw new \InvalidArgumentException('a key must not be empty');
            }
        }
        if ($shared && $limit !== null) {
            throw new \InvalidArgumentException('a lock is either shared or has a limit, got both');
        }
        if ($limit !== null && $limit < 1) {
            throw new \InvalidArgumentException("limit must be at least 1, got $limit");
        }
        if ($maxWaiters !== null && $maxWaiters < 0) {
            throw new \InvalidArgumentException("maxWaiters must be at least 0, got $maxWaiters");
        }
        $this->serverKeys = array_map(static fn (string $key): string => $prefix . $key, $keys);
    }

    /** Returns the keys for people. */
    public function names(): string
    {
        return Text::names($this->keys);
    }

    /** Returns the text of a deadlock without the prefix of the client before keys. */
    public function withoutPrefix(string $text): string
    {
        if ($this->prefix === '') {
            return $text;
        }
        return str_replace("waits for $this->prefix", 'waits for ', $text);
    }

    /**
     * Returns LOCK or MLOCK. Its reply is a map, or else a token or null.
     *
     * @param float|null $wait null for a wait without end
     *
     * @return list<string>
     */
    public function lock(string $owner, ?float $wait, bool $explains = true): array
    {
        $words = [...$this->aboutKeys('LOCK'), $owner];
        array_push($words, 'PX', Seconds::milliseconds($this->lease));
        if ($explains) {
            $words[] = 'EXPLAIN';
        }
        if ($wait === null) {
            array_push($words, 'WAIT', 'FOREVER');
        } elseif ($wait > 0) {
            array_push($words, 'WAIT', Seconds::milliseconds($wait) . 'ms');
        }
        if ($this->shared) {
            $words[] = 'SHARED';
        }
        $options = [
            'LIMIT' => $this->limit,
            'MAXWAITERS' => $this->maxWaiters,
            'KEEP' => self::duration($this->keep),
            'MINHOLD' => self::duration($this->minHold),
            'META' => $this->meta,
            'LABEL' => $this->label,
        ];
        foreach ($options as $word => $value) {
            if ($value !== null) {
                array_push($words, $word, (string) $value);
            }
        }
        return $words;
    }

    /**
     * Returns RENEW or MRENEW, whose reply is 1 if all keys are held.
     *
     * @param bool $mayShorten whether the lease may end earlier than before; without it, also a
     *                         renewal that arrives after a newer one shortens nothing
     *
     * @return list<string>
     */
    public function renew(string $owner, int $token, float $lease, bool $mayShorten = false): array
    {
        $words = [...$this->aboutKeys('RENEW'), $owner];
        array_push($words, 'PX', Seconds::milliseconds($lease), 'TOKEN', (string) $token);
        return $mayShorten ? $words : [...$words, 'GT'];
    }

    /**
     * Returns UNLOCK or MUNLOCK. Without a token, it also gives up the place in the queue.
     *
     * @return list<string>
     */
    public function unlock(string $owner, ?int $token = null): array
    {
        $words = [...$this->aboutKeys('UNLOCK'), $owner];
        return $token === null ? $words : [...$words, 'TOKEN', (string) $token];
    }

    /**
     * Returns TRANSFER, whose reply is the new token, or null.
     *
     * @return list<string>
     */
    public function transfer(string $owner, int $token, string $newOwner, float $lease): array
    {
        return [
            'TRANSFER', $this->serverKeys[0], $owner, $newOwner,
            'PX', Seconds::milliseconds($lease), 'TOKEN', (string) $token,
        ];
    }

    /** @return list<string> */
    private function aboutKeys(string $command): array
    {
        $keys = $this->serverKeys;
        return count($keys) === 1
            ? [$command, $keys[0]]
            : ["M$command", (string) count($keys), ...$keys];
    }

    private static function duration(?float $seconds): ?string
    {
        return $seconds === null ? null : Seconds::milliseconds($seconds) . 'ms';
    }
}
