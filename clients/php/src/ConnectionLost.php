<?php

declare(strict_types=1);

namespace Fairlock;

/** The server could not be reached, closed the connection, or did not answer in time. */
final class ConnectionLost extends FairlockException
{
    /**
     * @param bool $wasSent   whether the server may have received the request
     * @param bool $isRefusal whether asking again cannot help, as with a wrong certificate
     */
    public function __construct(
        string $message,
        public readonly bool $wasSent = false,
        public readonly bool $isRefusal = false,
    ) {
        parent::__construct($message);
    }
}
