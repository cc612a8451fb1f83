<?php

declare(strict_types=1);

namespace Fairlock;

/** The server refused a request. docs/COMMANDS.md lists the words with which its errors begin. */
final class ServerError extends FairlockException
{
    /** With one of these, the same request may succeed later. */
    private const TEMPORARY_WORDS =
        ['CLUSTERDOWN', 'LOADING', 'MOVED', 'NOQUORUM', 'READONLY', 'TRYAGAIN'];

    /** @param string $reply the error as the server sent it, which begins with its word */
    public function __construct(public readonly string $reply, string $names = '')
    {
        parent::__construct($names === '' ? $reply : "$names: $reply");
    }

    /** Returns the first word of the error, such as NOPERM. */
    public function word(): string
    {
        return explode(' ', $this->reply, 2)[0];
    }

    /** Returns whether the same request may succeed later, as during a fail-over. */
    public function isTemporary(): bool
    {
        return in_array($this->word(), self::TEMPORARY_WORDS, true);
    }
}
