<?php

declare(strict_types=1);

namespace Fairlock;

use Fairlock\Internal\Text;

/** Why a lock was granted or denied, as the server explained it. Times are in seconds. */
final class Explanation
{
    /**
     * @param string       $status   "granted", "already", "queued", "denied" or "timeout"
     * @param string|null  $reason   what blocks the request, such as "held"; null if nothing does
     * @param int|null     $token    the token of the requester's hold
     * @param float|null   $ttl      until the hold that ends first ends
     * @param int|null     $position the place in the queue; 1 is next
     * @param int          $waiters  how many requests wait
     * @param float|null   $eta      the estimated time until the grant
     * @param list<Holder> $holders  at most 16 of the owners that hold the key
     * @param string|null  $key      the key, without the prefix of the client
     */
    public function __construct(
        public readonly string $status,
        public readonly ?string $reason = null,
        public readonly ?int $token = null,
        public readonly ?float $ttl = null,
        public readonly ?int $position = null,
        public readonly int $waiters = 0,
        public readonly ?float $eta = null,
        public readonly array $holders = [],
        public readonly ?string $key = null,
    ) {
    }

    /**
     * Returns the same explanation for a request whose wait is over.
     *
     * @internal
     */
    public function afterTimeout(): self
    {
        return new self(
            'timeout',
            $this->reason,
            null,
            $this->ttl,
            $this->position,
            $this->waiters,
            $this->eta,
            $this->holders,
            $this->key,
        );
    }

    /** Returns for example "held by worker-2 for 3.0 s; 2 waiting". */
    public function __toString(): string
    {
        $parts = [];
        if ($this->holders !== []) {
            $parts[] = 'held by ' . implode(', ', array_map(
                static fn (Holder $holder): string =>
                    Text::shown($holder->owner) . ' for ' . self::rounded($holder->heldFor) . ' s',
                $this->holders,
            ));
        } elseif ($this->reason !== null) {
            $parts[] = $this->reason;
        }
        if ($this->waiters > 0) {
            $parts[] = "$this->waiters waiting";
        }
        if ($this->position !== null) {
            $parts[] = "position $this->position";
        }
        if ($this->eta !== null) {
            $parts[] = sprintf('about %.1f s', $this->eta);
        }
        return $parts === [] ? $this->status : implode('; ', $parts);
    }

    private static function rounded(float $seconds): string
    {
        return sprintf($seconds >= 10 ? '%.0f' : '%.1f', $seconds);
    }
}
