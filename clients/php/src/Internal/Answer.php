<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * A reply, and the time of Clock::now() just before its request was sent.
 *
 * @internal
 */
final class Answer
{
    public function __construct(public readonly mixed $reply, public readonly float $sentAt)
    {
    }
}
