<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * Where a server listens: a host and a port, or the path of a Unix socket.
 *
 * @internal
 */
final class Address
{
    public const PORT = 3247;

    /** @param int $port 0 if `host` is the path of a Unix socket */
    public function __construct(
        public readonly string $host,
        public readonly int $port,
        public readonly bool $hasTls = false,
    ) {
    }

    /**
     * Reads "host:port" as the server writes it in MOVED. An empty host means that of the server.
     */
    public static function parse(string $text, self $asked): self
    {
        $colon = (int) strrpos($text, ':');
        $host = trim(substr($text, 0, $colon), '[]');
        return $asked->sibling($host, (int) substr($text, $colon + 1));
    }

    /** Returns another node of the fleet. An empty host means that of this one. */
    public function sibling(string $host, int $port): self
    {
        return new self($host === '' ? $this->host : $host, $port, $this->hasTls);
    }

    /** Returns the address as stream_socket_client() takes it. */
    public function forStream(): string
    {
        if ($this->port === 0) {
            return "unix://$this->host";
        }
        $host = str_contains($this->host, ':') ? "[$this->host]" : $this->host;
        return ($this->hasTls ? 'tls' : 'tcp') . "://$host:$this->port";
    }

    public function __toString(): string
    {
        return $this->port === 0 ? $this->host : "$this->host:$this->port";
    }
}
