<?php

declare(strict_types=1);

namespace Fairlock;

/** One of the owners that hold a key, as the server described it. Times are in seconds. */
final class Holder
{
    /**
     * @param int         $token   the fencing token of the hold
     * @param string|null $meta    what the owner gave as `meta`
     * @param string|null $label   the kind of lock
     * @param float       $heldFor since when the owner holds the key
     * @param float|null  $ttl     until its lease ends; null if the lease has no end
     * @param string      $mode    "exclusive", "shared" or "semaphore"
     */
    public function __construct(
        public readonly string $owner,
        public readonly int $token,
        public readonly ?string $meta,
        public readonly ?string $label,
        public readonly float $heldFor,
        public readonly ?float $ttl,
        public readonly string $mode,
    ) {
    }
}
