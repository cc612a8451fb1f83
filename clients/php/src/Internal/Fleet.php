<?php

declare(strict_types=1);

namespace Fairlock\Internal;

use Fairlock\ConnectionLost;
use Fairlock\ServerError;

/**
 * Sends each request to the server that is responsible for its key.
 *
 * This is the only server, any node of a fleet, or the leader that Sentinels name. In a fleet of
 * several partitions, it follows MOVED, and then the table of hash slots. It has connections of its
 * own, as many as there are requests at the same time. A child process opens its own.
 *
 * @internal
 */
final class Fleet
{
    private const REDIRECTIONS_MAX = 5;
    private const TABLE_SECONDS_MAX = 2.0;
    private const CONNECT_SECONDS_MIN = 0.05;

    /** @var array<string, list<Connection>> those that no request uses, by address */
    private array $idle = [];
    private int $process;
    /** The node that is used, of those in the settings. */
    private int $turn = 0;
    private ?SlotTable $table = null;
    private ?Address $failed = null;
    private ?Address $master = null;
    /** @var list<Address> */
    private array $sentinels;
    private ?Connection $interrupted = null;

    public function __construct(public readonly Settings $settings)
    {
        $this->process = (int) getmypid();
        $this->sentinels = $settings->addresses;
    }

    /**
     * Sends a request about a key, and returns its reply.
     *
     * @param list<string> $words
     * @param float        $seconds the time limit, with that for opening a connection; INF for none
     *
     * @throws ConnectionLost
     * @throws ServerError
     */
    public function ask(array $words, string $key, int $database, float $seconds): Answer
    {
        return Signals::deferred(fn (): Answer => $this->route($words, $key, $database, $seconds));
    }

    /** @param list<string> $words */
    private function route(array $words, string $key, int $database, float $seconds): Answer
    {
        $deadline = Clock::now() + $seconds;
        $others = $this->settings->master === null ? count($this->settings->addresses) - 1 : 0;
        $redirections = 0;
        while (true) {
            $connection = $this->take($key, $database, $deadline);
            $sentAt = Clock::now();
            try {
                $limit = min($deadline, $sentAt + ($this->settings->readTimeout ?? INF));
                $reply = $connection->ask($words, $limit);
            } catch (ConnectionLost $error) {
                $this->noteFailure($connection->address);
                throw $error;
            } catch (\Throwable $error) {
                $this->interrupted = $connection;
                throw $error;
            }
            if (!$reply instanceof ErrorReply) {
                $this->idle[(string) $connection->address][] = $connection;
                return new Answer($reply, $sentAt);
            }
            $error = new ServerError($reply->text);
            if ($error->word() === 'MOVED' && $redirections++ < self::REDIRECTIONS_MAX) {
                $this->idle[(string) $connection->address][] = $connection;
                $this->follow($error, $connection->address);
            } elseif ($error->isTemporary()) {
                $connection->close();
                $this->noteFailure($connection->address);
                // It was not executed. Another node may lead, or know who does.
                if ($this->table !== null || $others-- <= 0) {
                    throw $error;
                }
            } else {
                $this->idle[(string) $connection->address][] = $connection;
                throw $error;
            }
        }
    }

    /**
     * Waits until the server has answered the request that an exception interrupted, if there is
     * one.
     *
     * @return bool whether there is
     */
    public function settle(float $seconds): bool
    {
        $connection = $this->interrupted;
        $this->interrupted = null;
        return $connection !== null && $connection->settle(Clock::now() + $seconds);
    }

    /** Returns a connection that no other request uses. */
    private function take(string $key, int $database, float $deadline): Connection
    {
        if ((int) getmypid() !== $this->process) {
            $this->process = (int) getmypid();
            $this->idle = [];
        }
        $connection = $this->settings->master !== null
            ? $this->takeMaster($deadline)
            : ($this->table !== null
                ? $this->takeLeader($this->table, SlotTable::slotOf($key), $deadline)
                : $this->takeAny($deadline));
        $connection->select($database, $deadline);
        return $connection;
    }

    private function takeFrom(Address $address, float $deadline, Settings $settings): Connection
    {
        $this->idle[(string) $address] ??= [];
        while (($connection = array_pop($this->idle[(string) $address])) !== null) {
            if ($connection->isUsable()) {
                return $connection;
            }
            $connection->close();
        }
        $left = max(self::CONNECT_SECONDS_MIN, $deadline - Clock::now());
        return Connection::open($address, $settings, $left);
    }

    private function takeMaster(float $deadline): Connection
    {
        $this->master ??= $this->askSentinels($deadline);
        try {
            return $this->takeFrom($this->master, $deadline, $this->settings);
        } catch (ConnectionLost $error) {
            $this->noteFailure($this->master);
            throw $error;
        }
    }

    private function askSentinels(float $deadline): Address
    {
        $settings = $this->settings->ofSentinels();
        $failure = null;
        foreach ($this->sentinels as $address) {
            try {
                $limit = min($deadline, Clock::now() + self::TABLE_SECONDS_MAX);
                $sentinel = $this->takeFrom($address, $limit, $settings);
                $name = (string) $this->settings->master;
                $reply = $sentinel->ask(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', $name], $limit);
                if (is_array($reply)) {
                    $this->learnSentinels($sentinel, $name, $limit);
                    $this->idle[(string) $address][] = $sentinel;
                    $hasTls = $this->settings->hasTls;
                    return new Address((string) $reply[0], (int) $reply[1], $hasTls);
                }
                $sentinel->close();
            } catch (ConnectionLost $error) {
                $failure = $error;
            }
        }
        $why = $failure?->getMessage() ?? 'no node leads';
        throw new ConnectionLost("no Sentinel knows the leader: $why");
    }

    /** Asks for the other Sentinels, because a client of Predis tells only one. */
    private function learnSentinels(Connection $sentinel, string $name, float $limit): void
    {
        if (count($this->sentinels) > 1) {
            return;
        }
        $rows = $sentinel->ask(['SENTINEL', 'SENTINELS', $name], $limit);
        foreach (is_array($rows) ? $rows : [] as $row) {
            $fields = Replies::fields($row);
            if (isset($fields['ip'], $fields['port'])) {
                $this->sentinels[] = new Address((string) $fields['ip'], (int) $fields['port']);
            }
        }
    }

    /** Tries each of the addresses, beginning with the one that was used last. */
    private function takeAny(float $deadline): Connection
    {
        $addresses = $this->settings->addresses;
        for ($left = count($addresses);; $left--) {
            $now = Clock::now();
            $limit = $now + max(self::CONNECT_SECONDS_MIN, $deadline - $now) / $left;
            try {
                return $this->takeFrom($addresses[$this->turn], $limit, $this->settings);
            } catch (ConnectionLost $error) {
                $this->noteFailure($addresses[$this->turn]);
                if ($left === 1 || $error->isRefusal) {
                    throw $error;
                }
            }
        }
    }

    private function takeLeader(SlotTable $table, int $slot, float $deadline): Connection
    {
        $leader = $this->leader($table, $slot, $deadline);
        try {
            return $this->takeFrom($leader, $deadline, $this->settings);
        } catch (ConnectionLost $error) {
            // Nothing has been sent, so another node may be asked at once.
            $this->noteFailure($leader);
            $other = $this->leader($table, $slot, $deadline);
            if ((string) $other === (string) $leader) {
                throw $error;
            }
            return $this->takeFrom($other, $deadline, $this->settings);
        }
    }

    private function leader(SlotTable $table, int $slot, float $deadline): Address
    {
        if ($table->isOutdated()) {
            $this->readTable($table, $deadline);
        }
        return $table->leader($slot)
            ?? throw new ConnectionLost("no node of the fleet leads the hash slot $slot");
    }

    private function readTable(SlotTable $table, float $deadline): void
    {
        $failure = null;
        foreach ($table->nodes($this->failed) as $address) {
            try {
                $limit = min($deadline, Clock::now() + self::TABLE_SECONDS_MAX);
                $connection = $this->takeFrom($address, $limit, $this->settings);
                $reply = $connection->ask(['CLUSTER', 'SLOTS'], $limit);
                if ($reply instanceof ErrorReply) {
                    $connection->close();
                    throw new ServerError($reply->text);
                }
                $this->idle[(string) $address][] = $connection;
                $table->learn($reply, $address);
                return;
            } catch (ConnectionLost $error) {
                $failure = $error;
            }
        }
        throw $failure ?? new ConnectionLost('no node of the fleet is known');
    }

    /** Takes note of "MOVED slot host:port". */
    private function follow(ServerError $error, Address $asked): void
    {
        [, $slot, $address] = explode(' ', $error->reply) + ['', '0', ''];
        $this->table ??= new SlotTable($this->settings->addresses);
        $this->table->move((int) $slot, Address::parse($address, $asked));
    }

    /** The server at this address does not serve at the moment. */
    private function noteFailure(Address $address): void
    {
        foreach ($this->idle[(string) $address] ?? [] as $connection) {
            $connection->close();
        }
        unset($this->idle[(string) $address]);
        $this->failed = $address;
        $this->master = null;
        $this->table?->doubt();
        $addresses = $this->settings->addresses;
        if ((string) $addresses[$this->turn] === (string) $address) {
            $this->turn = ($this->turn + 1) % count($addresses);
        }
    }
}
