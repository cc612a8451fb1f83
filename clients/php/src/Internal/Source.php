<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * The settings of a client of another library, or those in addresses.
 *
 * The database and the prefix of a \Redis may change, so they are asked for each lock.
 *
 * @internal
 */
final class Source
{
    /**
     * @param non-empty-list<Address> $addresses
     * @param array<string, mixed>    $ssl
     * @param float|null              $readTimeout null if it waits without end
     * @param \Closure(): string      $prefix
     * @param \Closure(): int         $database
     */
    private function __construct(
        private readonly array $addresses,
        private readonly ?string $user,
        private readonly ?string $password,
        private readonly array $ssl,
        private readonly float $connectTimeout,
        private readonly ?float $readTimeout,
        private readonly \Closure $prefix,
        private readonly \Closure $database,
        private readonly ?string $master = null,
        private readonly bool $hasTls = false,
    ) {
    }

    /**
     * Reads the settings of a client, or of addresses.
     *
     * @param object|string|list<string> $source
     * @param string|null                $master what the Sentinels at the addresses call the fleet
     *
     * @throws \InvalidArgumentException
     */
    public static function of(object|string|array $source, ?string $master): self
    {
        if (!is_object($source)) {
            return self::ofAddresses((array) $source, $master);
        }
        if ($master !== null) {
            throw new \InvalidArgumentException('master is for the addresses of Sentinels');
        }
        if ($source instanceof \Predis\ClientInterface) {
            return self::ofPredis($source);
        }
        if ($source instanceof \RedisCluster) {
            return self::ofRedisCluster($source);
        }
        if ($source instanceof \Redis || is_callable([$source, 'getHost'])) {
            return self::ofRedis($source);
        }
        throw new \InvalidArgumentException(
            'expected a Redis, a RedisCluster, a Predis\Client or an address, got '
            . get_debug_type($source),
        );
    }

    /**
     * Returns the settings, of which some are replaced.
     *
     * @param array<string, mixed> $ssl
     */
    public function settings(
        array $ssl,
        ?string $user,
        ?string $password,
        ?string $sentinelPassword,
        ?float $connectTimeout,
        ?float $readTimeout,
    ): Settings {
        return new Settings(
            $this->addresses,
            $user ?? $this->user,
            $password ?? $this->password,
            $ssl + $this->ssl,
            $connectTimeout ?? $this->connectTimeout,
            $readTimeout ?? $this->readTimeout,
            $this->master,
            $sentinelPassword,
            $this->hasTls,
        );
    }

    public function prefix(): string
    {
        return ($this->prefix)();
    }

    public function database(): int
    {
        return ($this->database)();
    }

    /** @param list<string> $texts */
    private static function ofAddresses(array $texts, ?string $master): self
    {
        if ($texts === []) {
            throw new \InvalidArgumentException('at least one address is needed');
        }
        $parts = array_map(self::parts(...), array_values($texts));
        $pick = static fn (string $name): ?string =>
            current(array_filter(array_column($parts, $name), 'is_string')) ?: null;
        $hasTls = $parts[0]['address']->hasTls;
        $addresses = array_column($parts, 'address');
        if ($master !== null) {
            $addresses = array_map(static fn (Address $one): Address =>
                new Address($one->host, $one->port), $addresses);
        }
        $database = $parts[0]['database'];
        $prefix = $pick('prefix') ?? '';
        return new self(
            $addresses,
            $pick('user'),
            $pick('password'),
            [],
            Settings::CONNECT_SECONDS,
            self::defaultReadTimeout(),
            static fn (): string => $prefix,
            static fn (): int => $database,
            $master,
            $hasTls,
        );
    }

    /**
     * Reads an address such as redis://user:password@host:port/database?prefix=p.
     *
     * @return array{address: Address, user: ?string, password: ?string, database: int,
     *               prefix: ?string}
     */
    private static function parts(mixed $text): array
    {
        if (!is_string($text)) {
            throw new \InvalidArgumentException('an address must be a text');
        }
        $wrong = static fn (): \InvalidArgumentException =>
            new \InvalidArgumentException('not an address: ' . self::withoutPassword($text));
        $uri = str_contains($text, '://') ? $text : "redis://$text";
        [$scheme, $rest] = explode('://', $uri, 2);
        $isUnix = $scheme === 'unix';
        if (!$isUnix && !in_array($scheme, ['redis', 'rediss', 'tcp', 'tls'], true)) {
            throw $wrong();
        }
        $url = parse_url($isUnix ? "file://$rest" : $uri);
        $path = $url['path'] ?? '';
        if ($url === false || ($isUnix ? $path === '' : ($url['host'] ?? '') === '')) {
            throw $wrong();
        }
        parse_str($url['query'] ?? '', $query);
        $database = $query['db'] ?? ($isUnix ? '' : trim($path, '/'));
        if (!is_string($database) || preg_match('/\A\d{0,4}\z/', $database) !== 1) {
            throw $wrong();
        }
        $hasTls = $scheme === 'rediss' || $scheme === 'tls';
        $user = isset($url['user']) ? rawurldecode($url['user']) : '';
        return [
            'address' => $isUnix
                ? new Address($path, 0)
                : new Address(
                    trim($url['host'], '[]'),
                    $url['port'] ?? Address::PORT,
                    $hasTls,
                ),
            'user' => $user === '' ? null : $user,
            'password' => isset($url['pass']) ? rawurldecode($url['pass']) : null,
            'database' => (int) $database,
            'prefix' => isset($query['prefix']) && is_string($query['prefix'])
                ? $query['prefix'] : null,
        ];
    }

    private static function withoutPassword(string $text): string
    {
        return Text::shown((string) preg_replace('/:[^:@\/]*@/', ':...@', $text));
    }

    /** Reads the settings of a \Redis, or of what behaves like one. */
    private static function ofRedis(object $redis): self
    {
        $host = $redis->getHost();
        if (!is_string($host) || $host === '') {
            throw new \InvalidArgumentException('the Redis object must be connected');
        }
        $hasTls = preg_match('#\A(tls|ssl)://#', $host) === 1;
        $name = (string) preg_replace('#\A[a-z]+://#', '', $host);
        $isUnix = str_starts_with($name, '/');
        [$user, $password] = self::login($redis->getAuth());
        return new self(
            [new Address($name, $isUnix ? 0 : (int) $redis->getPort(), $hasTls)],
            $user,
            $password,
            [],
            self::positive((float) $redis->getTimeout()) ?? Settings::CONNECT_SECONDS,
            self::readTimeout((float) $redis->getReadTimeout()),
            static fn (): string => (string) $redis->getOption(\Redis::OPT_PREFIX),
            static fn (): int => (int) $redis->getDbNum(),
        );
    }

    /** Reads the settings of a \RedisCluster, which does not tell its login. */
    private static function ofRedisCluster(\RedisCluster $cluster): self
    {
        $addresses = array_map(
            static fn (array $node): Address => new Address((string) $node[0], (int) $node[1]),
            array_values($cluster->_masters()),
        );
        if ($addresses === []) {
            throw new \InvalidArgumentException('the RedisCluster knows no node');
        }
        return new self(
            $addresses,
            null,
            null,
            [],
            Settings::CONNECT_SECONDS,
            self::defaultReadTimeout(),
            static fn (): string => (string) $cluster->getOption(\Redis::OPT_PREFIX),
            static fn (): int => 0,
        );
    }

    private static function ofPredis(\Predis\ClientInterface $client): self
    {
        $connection = $client->getConnection();
        $master = null;
        if (method_exists($connection, 'getSentinelConnection')) {
            $nodes = [$connection->getSentinelConnection()];
            $master = (string) $client->getOptions()->service;
        } elseif ($connection instanceof \Traversable) {
            $nodes = iterator_to_array($connection, false);
        } elseif (method_exists($connection, 'getMaster')) {
            $nodes = [$connection->getMaster()];
        } elseif (method_exists($connection, 'getParameters')) {
            $nodes = [$connection];
        } else {
            $nodes = [];
        }
        if ($nodes === []) {
            throw new \InvalidArgumentException(
                'expected a Predis\Client of one server, of Sentinels or of a cluster, got one '
                . 'with ' . get_debug_type($connection),
            );
        }
        return self::ofPredisNodes($nodes, $master, $client);
    }

    /** @param non-empty-list<object> $nodes connections of Predis */
    private static function ofPredisNodes(
        array $nodes,
        ?string $master,
        \Predis\ClientInterface $client,
    ): self {
        $all = array_map(static fn (object $node): object => $node->getParameters(), $nodes);
        $first = $master === null ? $all[0] : self::parametersOfReplication($client);
        $prefix = $client->getOptions()->prefix;
        $database = (int) ($first->database ?? 0);
        return new self(
            array_map(self::addressInPredis(...), $all),
            self::text($first->username ?? null),
            self::text($first->password ?? null),
            (array) ($first->ssl ?? []),
            self::positive((float) ($first->timeout ?? 0)) ?? Settings::CONNECT_SECONDS,
            self::readTimeout((float) ($first->read_write_timeout ?? 0)),
            static fn (): string => $prefix === null ? '' : (string) $prefix->getPrefix(),
            static fn (): int => $database,
            $master,
        );
    }

    /** Returns what the option `parameters` says about the servers behind Sentinels. */
    private static function parametersOfReplication(\Predis\ClientInterface $client): object
    {
        return (object) ($client->getOptions()->parameters ?? []);
    }

    private static function addressInPredis(object $parameters): Address
    {
        $scheme = (string) ($parameters->scheme ?? 'tcp');
        if ($scheme === 'unix') {
            return new Address((string) $parameters->path, 0);
        }
        $hasTls = in_array($scheme, ['tls', 'rediss'], true);
        return new Address((string) $parameters->host, (int) $parameters->port, $hasTls);
    }

    /**
     * Reads what phpredis tells of a login: a password, or a user and a password.
     *
     * @return array{?string, ?string}
     */
    private static function login(mixed $auth): array
    {
        if (is_array($auth)) {
            $words = array_values($auth);
            return count($words) > 1
                ? [self::text($words[0]), self::text($words[1])]
                : [null, self::text($words[0] ?? null)];
        }
        return [null, self::text($auth)];
    }

    private static function text(mixed $value): ?string
    {
        return is_scalar($value) && $value !== false && (string) $value !== ''
            ? (string) $value : null;
    }

    private static function positive(float $seconds): ?float
    {
        return $seconds > 0 ? $seconds : null;
    }

    /** Returns a read time-out of phpredis or Predis: 0 is PHP's own, and less is none. */
    private static function readTimeout(float $seconds): ?float
    {
        return $seconds === 0.0 ? self::defaultReadTimeout() : self::positive($seconds);
    }

    private static function defaultReadTimeout(): ?float
    {
        return self::positive((float) ini_get('default_socket_timeout'));
    }
}
