<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * How to connect: the addresses, the login, TLS and the time limits in seconds.
 *
 * @internal
 */
final class Settings
{
    public const CONNECT_SECONDS = 5.0;

    /**
     * @param non-empty-list<Address> $addresses      of the server, of the nodes of a fleet, or of
     *                                                Sentinels if there is a master
     * @param array<string, mixed>    $ssl            PHP's context options for TLS
     * @param float|null              $readTimeout    null if a silent server is never given up
     * @param string|null             $master         what the Sentinels call the fleet
     * @param bool                    $hasTls         of the leader that Sentinels name
     */
    public function __construct(
        public readonly array $addresses,
        public readonly ?string $user = null,
        public readonly ?string $password = null,
        public readonly array $ssl = [],
        public readonly float $connectTimeout = self::CONNECT_SECONDS,
        public readonly ?float $readTimeout = null,
        public readonly ?string $master = null,
        public readonly ?string $sentinelPassword = null,
        public readonly bool $hasTls = false,
    ) {
    }

    /** Returns the settings with which Sentinels are asked. */
    public function ofSentinels(): self
    {
        return new self(
            $this->addresses,
            password: $this->sentinelPassword,
            connectTimeout: $this->connectTimeout,
        );
    }
}
