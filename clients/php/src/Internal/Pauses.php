<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * Growing pauses between attempts. Clients that lost one server do not return all at once.
 *
 * @internal
 */
final class Pauses
{
    private const SECONDS_MIN = 0.05;
    private const SECONDS_MAX = 1.0;

    private float $seconds = self::SECONDS_MIN;

    /** Waits, but not longer than `limit` seconds. */
    public function pause(float $limit = INF): void
    {
        $seconds = $this->seconds * random_int(500, 1000) / 1000;
        $this->seconds = min(2 * $this->seconds, self::SECONDS_MAX);
        usleep((int) (1e6 * max(0.0, min($seconds, $limit)))); // A signal ends it.
        Signals::handle();
    }
}
