<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * An error that the server sent as a reply, or as a part of one.
 *
 * @internal
 */
final class ErrorReply
{
    public function __construct(public readonly string $text)
    {
    }
}
