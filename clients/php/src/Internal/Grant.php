<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * A token, and a time of Clock::now() from which at least one whole lease counts.
 *
 * @internal
 */
final class Grant
{
    public function __construct(public readonly int $token, public readonly float $sentAt)
    {
    }
}
