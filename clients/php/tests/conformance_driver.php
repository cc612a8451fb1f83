<?php

declare(strict_types=1);

// Driver for tests/clients/conformance: uses fairlock as an application with many processes would.
// Each acquisition has a process of its own, which serves its hold, one request after the other.

namespace Fairlock\Tests;

use Fairlock\Client;
use Fairlock\Deadlock;
use Fairlock\Denied;
use Fairlock\FairlockException;
use Fairlock\Hold;
use Fairlock\Internal\Clock;
use Fairlock\LostHold;
use Fairlock\NotFairlock;
use Fairlock\WaitEnded;

require_once __DIR__ . '/../src/autoload.php';

error_reporting(E_ALL);
ini_set('display_errors', 'stderr');

/** The handler of a signal throws it during an acquisition. */
final class Cancelled extends \Exception
{
}

function newClient(): Client
{
    $options = [
        'readTimeout' => (float) (getenv('FAIRLOCK_READ_TIMEOUT') ?: 5),
        'ssl' => getenv('FAIRLOCK_CA') ? ['cafile' => getenv('FAIRLOCK_CA')] : [],
    ];
    $url = getenv('FAIRLOCK_URL') ?: 'redis://';
    if (getenv('FAIRLOCK_CLUSTER')) {
        $login = preg_replace('#^(\w+://)(.*@)?.*$#', '$1$2', $url);
        $nodes = explode(',', getenv('FAIRLOCK_CLUSTER'));
        $nodes = array_map(static fn (string $node): string => $login . $node, $nodes);
        return Client::from($nodes, ...$options);
    }
    if (getenv('FAIRLOCK_SENTINELS')) {
        $sentinels = explode(',', getenv('FAIRLOCK_SENTINELS'));
        return Client::from($sentinels, 'main', ...$options);
    }
    return Client::from($url, ...$options);
}

/** @return array<string, mixed> the fields of a reply about this error */
function failure(\Throwable $error): array
{
    $text = get_class($error) . ': ' . $error->getMessage();
    if ($error instanceof Denied) {
        $why = $error->explanation;
        return [
            'error' => 'Denied', 'text' => $text, 'reason' => $why->reason,
            'position' => $why->position, 'eta' => $why->eta,
            'holders' => array_column($why->holders, 'owner'),
        ];
    }
    $names = [LostHold::class, WaitEnded::class, Deadlock::class, NotFairlock::class];
    $isNamed = in_array(get_class($error), [...$names, Cancelled::class], true);
    return ['error' => $isNamed ? basename(strtr(get_class($error), '\\', '/')) : 'Failed',
        'text' => $text];
}

/** A process that acquires a lock, and serves its hold. */
final class Worker
{
    private const OPTIONS = [
        'lease' => 'lease', 'wait' => 'wait', 'owner' => 'owner', 'shared' => 'shared',
        'limit' => 'limit', 'min_hold' => 'minHold', 'keep' => 'keep', 'label' => 'label',
        'meta' => 'meta',
    ];
    private const RATE_SLICES = 75;
    private const RETRY_SECONDS = 0.05;

    private ?Hold $hold = null;
    private string $name = '';
    private bool $renews = true;
    private bool $isWatched = false;
    private bool $isAcquiring = false;
    private float $renewsAt = INF;
    private float $lease = 30.0;

    /** @param resource $socket to the parent */
    public function __construct(private $socket)
    {
        // It is blocked until there is an acquisition to cancel: see Driver::start().
        pcntl_async_signals(true);
        pcntl_signal(SIGUSR1, function (): void {
            if ($this->isAcquiring) {
                throw new Cancelled();
            }
        });
    }

    public function run(): never
    {
        while (true) {
            $read = [$this->socket];
            $none = null;
            $left = min(3600.0, max(0.0, $this->attentionAt() - Clock::now()));
            $micros = (int) ceil(($left - (int) $left) * 1e6);
            if (@stream_select($read, $none, $none, (int) $left, $micros) > 0) {
                $line = fgets($this->socket);
                if ($line === false) {
                    posix_kill((int) getmypid(), SIGKILL);
                }
                $this->serve(json_decode($line, true));
            }
            $this->watch();
        }
    }

    /** @param array<string, mixed> $request */
    private function serve(array $request): void
    {
        try {
            $reply = $this->{'do' . $request['do']}($request);
        } catch (\Throwable $error) {
            $reply = failure($error);
        }
        $this->write(['id' => $request['id']] + $reply);
        $this->plan();
    }

    /** @param array<string, mixed> $fields */
    private function write(array $fields): void
    {
        fwrite($this->socket, json_encode($fields) . "\n");
    }

    private function plan(): void
    {
        $left = $this->hold?->left() ?? 0.0;
        $this->renewsAt = $this->renews ? Clock::now() + $left - $this->lease / 3 : INF;
    }

    private function attentionAt(): float
    {
        if (!$this->isWatched) {
            return INF;
        }
        return min($this->renewsAt, Clock::now() + $this->hold->left());
    }

    /** Renews the lease when it is due, and reports a loss once. */
    private function watch(): void
    {
        if (!$this->isWatched) {
            return;
        }
        if ($this->hold->isHeld() && Clock::now() >= $this->renewsAt) {
            try {
                $this->hold->renew();
                $this->plan();
            } catch (LostHold) {
                // It is reported below.
            } catch (FairlockException $error) {
                fwrite(STDERR, $error->getMessage() . "\n");
                $this->renewsAt = Clock::now() + self::RETRY_SECONDS;
            }
        }
        if (!$this->hold->isHeld()) {
            $this->isWatched = false;
            $this->write(['event' => 'lost', 'hold' => $this->name]);
        }
    }

    /** @param array<string, mixed> $request */
    private function doAcquire(array $request): array
    {
        return $this->take($request, true);
    }

    /** @param array<string, mixed> $request */
    private function doTry(array $request): array
    {
        return $this->take($request, false);
    }

    /** @param array<string, mixed> $request */
    private function take(array $request, bool $waits): array
    {
        $options = [];
        foreach (self::OPTIONS as $name => $own) {
            if (array_key_exists($name, $request)) {
                $options[$own] = $request[$name];
            }
        }
        $lock = newClient()->lock($request['keys'], ...$options);
        try {
            $this->isAcquiring = true;
            pcntl_sigprocmask(SIG_UNBLOCK, [SIGUSR1]);
            $this->hold = $waits ? $lock->acquire() : $lock->tryAcquire();
        } finally {
            $this->isAcquiring = false;
        }
        if ($this->hold === null) {
            return ['token' => null];
        }
        $this->name = $request['hold'];
        $this->renews = $request['renew'] ?? true;
        $this->lease = (float) ($request['lease'] ?? 30);
        $this->isWatched = true;
        return ['token' => $this->hold->token(), 'owner' => $this->hold->owner()];
    }

    private function doRelease(): array
    {
        $this->isWatched = false;
        return $this->hold->release() ? ['ok' => true] : throw new LostHold('it was lost before');
    }

    private function doCheck(): array
    {
        $this->hold->check();
        return ['ok' => true];
    }

    /** @param array<string, mixed> $request */
    private function doRenew(array $request): array
    {
        $this->hold->renew($request['lease'] ?? null);
        $this->lease = (float) ($request['lease'] ?? $this->lease);
        return ['ok' => true];
    }

    private function doLeft(): array
    {
        return ['left' => $this->hold->left()];
    }

    private function doToken(): array
    {
        return ['token' => $this->hold->token()];
    }

    /** @param array<string, mixed> $request */
    private function doTransfer(array $request): array
    {
        $token = $this->hold->transfer($request['to']);
        $this->isWatched = false;
        return ['token' => $token];
    }

    private function doFork(): array
    {
        [$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
        $pid = pcntl_fork();
        if ($pid === 0) {
            try {
                $this->hold->check();
                fwrite($far, 'held');
            } catch (FairlockException $error) {
                fwrite($far, failure($error)['error']);
            } finally {
                posix_kill((int) getmypid(), SIGKILL);
            }
        }
        fclose($far);
        pcntl_waitpid($pid, $status);
        return ['child' => stream_get_contents($near)];
    }

    /** @param array<string, mixed> $request */
    private function doWork(array $request): array
    {
        $finishAt = Clock::now() + ($request['seconds'] ?? 0);
        $file = (string) tempnam(sys_get_temp_dir(), 'fairlock-');
        $children = [];
        for ($number = 0; $number < $request['count']; $number++) {
            $pid = pcntl_fork();
            if ($pid === 0) {
                $this->loop($request, $finishAt, $file);
            }
            $children[] = $pid;
        }
        $isDone = true;
        foreach ($children as $pid) {
            pcntl_waitpid($pid, $status);
            $isDone = $isDone && pcntl_wifexited($status) && pcntl_wexitstatus($status) === 0;
        }
        $tokens = array_map('intval', (array) file($file));
        unlink($file);
        if (!$isDone) {
            throw new \RuntimeException('a worker failed');
        }
        $sorted = array_unique($tokens);
        sort($sorted);
        return ['grants' => count($tokens), 'rising' => $tokens === $sorted];
    }

    /** @param array<string, mixed> $request */
    private function loop(array $request, float $finishAt, string $file): never
    {
        $status = 0;
        try {
            $lock = newClient()->lock($request['key'], lease: $request['lease'] ?? 30);
            do {
                // The holders write one after the other.
                $lock->with(static fn (Hold $hold) =>
                    file_put_contents($file, $hold->token() . "\n", FILE_APPEND));
            } while (Clock::now() < $finishAt);
        } catch (\Throwable $error) {
            fwrite(STDERR, "$error\n");
            $status = 1;
        }
        exit($status);
    }

    /**
     * The best of many slices of the time, which alternate.
     *
     * @param array<string, mixed> $request
     */
    private function doRate(array $request): array
    {
        $fairlock = newClient();
        $redis = new \Redis();
        $url = parse_url((string) getenv('FAIRLOCK_URL'));
        $redis->connect($url['host'], $url['port']);
        $loops = [
            'library' => static fn () => $fairlock->withLock('rate', static fn () => null),
            'raw' => static function () use ($redis): void {
                $token = $redis->rawCommand('LOCK', 'rate:raw', 'raw', 'PX', '30000');
                $redis->rawCommand('UNLOCK', 'rate:raw', 'raw', 'TOKEN', (string) $token);
            },
        ];
        $best = ['library' => 0.0, 'raw' => 0.0];
        for ($slice = 0; $slice < self::RATE_SLICES; $slice++) {
            foreach ($loops as $name => $call) {
                $began = Clock::now();
                $count = 0;
                do {
                    $call();
                    $count++;
                    $seconds = Clock::now() - $began;
                } while ($seconds < $request['seconds'] / (2 * self::RATE_SLICES));
                $best[$name] = max($best[$name], $count / $seconds);
            }
        }
        return $best;
    }
}

/** The process that the runner starts. It passes requests on to the workers. */
final class Driver
{
    /** @var array<int, resource> by process */
    private array $sockets = [];
    /** @var array<string, int> the process of each hold */
    private array $holds = [];
    /** @var array<int, int> the process of each acquisition */
    private array $acquiring = [];

    public function run(): never
    {
        pcntl_async_signals(true);
        pcntl_signal(SIGCHLD, SIG_IGN);
        pcntl_sigprocmask(SIG_BLOCK, [SIGUSR1]);
        while (true) {
            $read = [STDIN, ...$this->sockets];
            $none = null;
            if (@stream_select($read, $none, $none, 3600) === false) {
                continue;
            }
            foreach ($read as $stream) {
                $line = fgets($stream);
                if ($stream === STDIN) {
                    $request = $line === false ? ['do' => 'exit'] : json_decode($line, true);
                    $request['do'] === 'exit' ? $this->exit() : $this->pass($request);
                } elseif ($line === false) {
                    unset($this->sockets[array_search($stream, $this->sockets, true)]);
                } else {
                    fwrite(STDOUT, $line);
                }
            }
        }
    }

    /** Ends all processes of the group, of which the runner made this one the first. */
    private function exit(): never
    {
        posix_getpgrp() === getmypid() && posix_kill(0, SIGKILL);
        exit(0);
    }

    /** @param array<string, mixed> $request */
    private function pass(array $request): void
    {
        if ($request['channel'] ?? false) {
            $this->reply($request, ['error' => 'Unsupported', 'text' => 'channels']);
            return;
        }
        if ($request['do'] === 'cancel') {
            $pid = $this->acquiring[$request['acquire']] ?? null;
            $pid !== null && posix_kill($pid, SIGUSR1);
            $this->reply($request, ['ok' => true]);
            return;
        }
        $isNew = in_array($request['do'], ['acquire', 'try', 'work', 'rate'], true);
        $pid = $isNew ? $this->start() : $this->holds[$request['hold']];
        if (isset($request['keys'])) {
            $this->holds[$request['hold']] = $pid;
            $this->acquiring[$request['id']] = $pid;
        }
        fwrite($this->sockets[$pid], json_encode($request) . "\n");
    }

    /**
     * @param array<string, mixed> $request
     * @param array<string, mixed> $fields
     */
    private function reply(array $request, array $fields): void
    {
        fwrite(STDOUT, json_encode(['id' => $request['id']] + $fields) . "\n");
    }

    private function start(): int
    {
        [$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
        $pid = pcntl_fork();
        if ($pid === 0) {
            array_map(fclose(...), [STDIN, $near, ...$this->sockets]);
            pcntl_signal(SIGCHLD, SIG_DFL);
            (new Worker($far))->run();
        }
        fclose($far);
        $this->sockets[$pid] = $near;
        return $pid;
    }
}

(new Driver())->run();
