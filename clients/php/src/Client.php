<?php

declare(strict_types=1);

namespace Fairlock;

use Fairlock\Internal\Answer;
use Fairlock\Internal\Clock;
use Fairlock\Internal\Failures;
use Fairlock\Internal\Fleet;
use Fairlock\Internal\Grant;
use Fairlock\Internal\Replies;
use Fairlock\Internal\Seconds;
use Fairlock\Internal\Source;
use Fairlock\Internal\Terms;

/**
 * Locks from a fairlock server, or from a fleet of them.
 *
 * It has connections of its own, so a wait neither blocks nor uses up those of the application. An
 * object belongs to one thread. All times are in seconds, as an int, a float or a DateInterval.
 */
final class Client
{
    /** For a single request that does not wait. */
    private const REQUEST_SECONDS = 5.0;

    private function __construct(
        private readonly Fleet $fleet,
        private readonly Source $source,
        private readonly ?string $prefix,
        private readonly \Closure $warn,
    ) {
    }

    /**
     * Makes a client with the settings of another one, or of addresses.
     *
     * @param object|string|list<string> $source
     *        a \Redis, which must be connected, a \RedisCluster or a Predis\Client: its addresses,
     *        login, time limits, database and key prefix apply here too; or an address such as
     *        redis://user:password@host:3247/0, rediss://host:3247 or unix:///run/fairlock.sock; or
     *        several addresses, of the nodes of a fleet, or of its Sentinels
     * @param string|null $master   what the Sentinels call the fleet; without it, the addresses are
     *                              those of servers. With rediss://, the leader has TLS
     * @param array<string, mixed> $ssl PHP's context options for TLS, such as cafile, local_cert
     *                              and local_pk; phpredis does not tell those of its connection
     * @param string|null $user     instead of the one in `source`
     * @param string|null $password instead of the one in `source`
     * @param string|null $sentinelPassword of the Sentinels, which have no other login
     * @param string|null $prefix   before each key, instead of that of `source`
     * @param int|float|\DateInterval|null $connectTimeout for opening a connection: more than 0, up
     *                              to a year; null for that of `source`, or 5 s
     * @param int|float|\DateInterval|null $readTimeout after which a silent server is asked again:
     *                              more than 0, up to a year; null for that of `source`, or the
     *                              setting default_socket_timeout of PHP
     * @param (callable(string): void)|null $warn is called with each warning; null for error_log()
     *
     * @throws \InvalidArgumentException if one of these is wrong; nothing has been sent
     */
    public static function from(
        object|string|array $source,
        ?string $master = null,
        array $ssl = [],
        ?string $user = null,
        #[\SensitiveParameter]
        ?string $password = null,
        #[\SensitiveParameter]
        ?string $sentinelPassword = null,
        ?string $prefix = null,
        int|float|\DateInterval|null $connectTimeout = null,
        int|float|\DateInterval|null $readTimeout = null,
        ?callable $warn = null,
    ): self {
        $connect = $connectTimeout === null
            ? null : Seconds::of('connectTimeout', $connectTimeout, false);
        $read = $readTimeout === null ? null : Seconds::of('readTimeout', $readTimeout, false);
        $found = Source::of($source, $master);
        $settings = $found->settings($ssl, $user, $password, $sentinelPassword, $connect, $read);
        $log = static function (string $message): void {
            error_log("fairlock: $message");
        };
        $warner = $warn === null ? $log : \Closure::fromCallable($warn);
        return new self(new Fleet($settings), $found, $prefix, $warner);
    }

    /**
     * Describes a lock of one key, or of several keys that are taken together or not at all.
     *
     * @param string|list<string>          $keys        each of 1 to 1024 bytes with the prefix
     * @param int|float|\DateInterval      $lease       how long the lock is held if it is not
     *                                                  renewed: more than 0, up to a year
     * @param int|float|\DateInterval|null $wait        after which the lock is denied: 0 does not
     *                                                  wait; null waits without end
     * @param string|null                  $owner       names one execution; by default, each
     *                                                  acquisition has its own
     * @param bool                         $shared      any number of owners share the key, but no
     *                                                  exclusive one
     * @param int|null                     $limit       how many owners may hold the key at once
     * @param int|float|\DateInterval|null $keep        how long the place in the queue is kept for
     *                                                  an owner that does not ask meanwhile
     * @param int|float|\DateInterval|null $minHold     how long the key stays taken after the
     *                                                  grant, even if it is released
     * @param int|null                     $maxWaiters  do not wait if this many others do
     * @param string|null                  $meta        shown to others; up to 4096 bytes
     * @param string|null                  $label       the kind of lock, for statistics
     * @param bool                         $autoRelease whether the lock is released when the hold
     *                                                  is destroyed
     *
     * @throws \InvalidArgumentException if one of these is out of bounds
     */
    public function lock(
        string|array $keys,
        int|float|\DateInterval $lease = 30,
        int|float|\DateInterval|null $wait = null,
        ?string $owner = null,
        bool $shared = false,
        ?int $limit = null,
        int|float|\DateInterval|null $keep = null,
        int|float|\DateInterval|null $minHold = null,
        ?int $maxWaiters = null,
        ?string $meta = null,
        ?string $label = null,
        bool $autoRelease = true,
    ): Lock {
        $terms = new Terms(
            array_values((array) $keys),
            $this->prefix(),
            $this->source->database(),
            Seconds::of('lease', $lease, false),
            $limit,
            $shared,
            Seconds::orNull('keep', $keep),
            Seconds::orNull('minHold', $minHold),
            $maxWaiters,
            $meta,
            $label,
        );
        $seconds = Seconds::orNull('wait', $wait);
        return new Lock($this->fleet, $terms, $seconds, $owner, $autoRelease, $this->warn);
    }

    /**
     * Takes a lock, calls `work` with the hold, and releases the lock: Client::lock() describes the
     * options, and Lock::with() the errors.
     *
     * @template T
     *
     * @param string|list<string> $keys
     * @param callable(Hold): T   $work
     * @param mixed               ...$options of Client::lock(), by name
     *
     * @return T
     *
     * @throws FairlockException
     */
    public function withLock(string|array $keys, callable $work, mixed ...$options): mixed
    {
        return $this->lock($keys, ...$options)->with($work);
    }

    /**
     * Returns the hold of an owner whose token another process passed on, for example in the
     * message of a queue. The server confirms it, and its lease begins anew.
     *
     * @param string|list<string>     $keys
     * @param int|float|\DateInterval $lease in seconds: more than 0, up to a year
     *
     * @throws LostHold if the owner does not hold the lock under this token any more
     * @throws ConnectionLost|ServerError|NotFairlock
     * @throws \InvalidArgumentException
     */
    public function resume(
        string|array $keys,
        string $owner,
        int $token,
        int|float|\DateInterval $lease = 30,
        bool $autoRelease = true,
    ): Hold {
        $terms = new Terms(
            array_values((array) $keys),
            $this->prefix(),
            $this->source->database(),
            Seconds::of('lease', $lease, false),
        );
        $answer = $this->ask($terms->renew($owner, $token, $terms->lease), $terms);
        if ($answer->reply !== 1) {
            throw new LostHold($terms->names() . ' is not held under this token any more');
        }
        $grant = new Grant($token, $answer->sentAt);
        return new Hold($this->fleet, $terms, $owner, $grant, $autoRelease, $this->warn);
    }

    /**
     * Returns who holds a key at this moment, in no order; an empty list if nobody does.
     *
     * @return list<Holder>
     *
     * @throws ConnectionLost|ServerError|NotFairlock
     */
    public function holders(string $key): array
    {
        $terms = $this->about($key);
        $answer = $this->ask(['LOCKINFO', $terms->serverKeys[0]], $terms);
        return Replies::holders(Replies::fields($answer->reply)['holders'] ?? []);
    }

    /**
     * Ends all holds of a key by force, as an operator does. Their owners learn it when they renew.
     *
     * @param string $reason is shown in the history of the key
     *
     * @return int how many holds ended
     *
     * @throws ConnectionLost|ServerError|NotFairlock
     */
    public function breakLock(string $key, string $reason = ''): int
    {
        $terms = $this->about($key);
        $words = ['BREAK', $terms->serverKeys[0]];
        $answer = $this->ask($reason === '' ? $words : [...$words, 'REASON', $reason], $terms);
        return (int) $answer->reply;
    }

    /**
     * Sends one request about terms, again while the server cannot be reached, for 5 seconds.
     *
     * @param list<string> $words
     *
     * @internal
     */
    public function ask(array $words, Terms $terms): Answer
    {
        $giveUpAt = Clock::now() + self::REQUEST_SECONDS;
        $pauses = new Internal\Pauses();
        while (true) {
            try {
                $seconds = $giveUpAt - Clock::now();
                $key = $terms->serverKeys[0];
                return $this->fleet->ask($words, $key, $terms->database, $seconds);
            } catch (ConnectionLost | ServerError $error) {
                if (!Failures::isTemporary($error) || Clock::now() >= $giveUpAt) {
                    throw Failures::translated($error, $terms);
                }
                $pauses->pause($giveUpAt - Clock::now());
            }
        }
    }

    /**
     * Returns terms for requests about one key.
     *
     * @internal
     */
    public function about(string $key): Terms
    {
        return new Terms([$key], $this->prefix(), $this->source->database(), 1.0);
    }

    private function prefix(): string
    {
        return $this->prefix ?? $this->source->prefix();
    }
}
