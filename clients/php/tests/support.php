<?php

declare(strict_types=1);

// What the tests share: a small frame for test classes, a server, children and a relay.

namespace Fairlock\Tests;

use Fairlock\Client;
use Fairlock\Internal\Clock;

require_once __DIR__ . '/../src/autoload.php';

error_reporting(E_ALL);
set_error_handler(static function (int $level, string $text, string $file, int $line): bool {
    if ((error_reporting() & $level) !== 0) {
        throw new \ErrorException($text, 0, $level, $file, $line);
    }
    return false;
});

const WAIT_SECONDS_MAX = 20.0;
const EXIT_SKIPPED = 77;

/** An assertion that failed. */
final class Failed extends \Exception
{
}

/** A test that cannot run here. The text says why. */
final class Skipped extends \Exception
{
}

/** A fairlockd on a free port of this machine. */
final class OwnServer
{
    private const STARTS_MAX = 5;
    private const START_SECONDS_MAX = 60.0;

    /** @var list<resource> stay open until the process ends */
    private static array $leases = [];

    public int $port = 0;
    public string $directory;
    /** @var resource|null */
    private $process = null;
    /** @var list<string> */
    private array $options;

    /**
     * Returns a free port, which no other process of the tests gets before this process ends: see
     * free_port in tests/integration/own_server.py, which states the rule for all languages.
     */
    public static function freePort(): int
    {
        while (true) {
            $port = 2 * random_int(10_000, 15_999);
            $lease = @stream_socket_server('tcp://127.0.0.1:' . ($port + 1));
            $probe = $lease === false ? false : @stream_socket_server("tcp://127.0.0.1:$port");
            if ($lease !== false && $probe !== false) {
                fclose($probe);
                self::$leases[] = $lease;
                return $port;
            }
        }
    }

    public function __construct(string ...$options)
    {
        $this->options = $options;
        $this->directory = sys_get_temp_dir() . '/fairlock-' . bin2hex(random_bytes(6));
        mkdir($this->directory);
        for ($starts = 0; $starts < self::STARTS_MAX; $starts++) {
            $this->port = self::freePort();
            if ($this->start()) {
                return;
            }
        }
        throw new Failed('the server did not start: ' . $this->output());
    }

    /** Returns false if it ended at once, for example because another process took the port. */
    public function start(): bool
    {
        $program = getenv('FAIRLOCKD') ?: throw new Failed('FAIRLOCKD is not set');
        $log = ['file', "$this->directory/output", 'a'];
        $this->process = proc_open(
            [
                $program, '--bind', '127.0.0.1', '--port', (string) $this->port,
                '--http-port', '0', '--unix-socket', "$this->directory/socket",
                '--durability', 'none', ...$this->options,
            ],
            [['file', '/dev/null', 'r'], $log, $log],
            $pipes,
            $this->directory,
        );
        $giveUpAt = Clock::now() + self::START_SECONDS_MAX;
        while (proc_get_status($this->process)['running']) {
            $socket = @stream_socket_client("tcp://127.0.0.1:$this->port", $number, $text, 1);
            if ($socket !== false) {
                fwrite($socket, "PING\r\n");
                $reply = (string) fgets($socket);
                fclose($socket);
                if ($reply === "+PONG\r\n" || str_starts_with($reply, '-NOAUTH')) {
                    return true;
                }
            }
            if (Clock::now() > $giveUpAt) {
                $this->stop(SIGKILL);
                throw new Failed('the server does not answer: ' . $this->output());
            }
            usleep(5_000);
        }
        return false;
    }

    public function signal(int $signal): void
    {
        posix_kill($this->pid(), $signal);
    }

    public function pid(): int
    {
        return proc_get_status($this->process)['pid'];
    }

    public function stop(int $signal = SIGTERM): void
    {
        if ($this->process === null) {
            return;
        }
        $this->signal(SIGCONT);
        $this->signal($signal);
        $giveUpAt = Clock::now() + WAIT_SECONDS_MAX;
        while (proc_get_status($this->process)['running']) {
            if (Clock::now() > $giveUpAt) {
                $this->signal(SIGKILL);
            }
            usleep(1_000);
        }
        proc_close($this->process);
        $this->process = null;
    }

    public function close(): void
    {
        $this->stop();
        exec('rm -rf ' . escapeshellarg($this->directory));
    }

    private function output(): string
    {
        return (string) @file_get_contents("$this->directory/output");
    }
}

/** A connection for requests of the test itself. */
final class Outside
{
    /** @var resource */
    private $stream;

    public function __construct(int $port)
    {
        $this->stream = stream_socket_client("tcp://127.0.0.1:$port");
        stream_set_timeout($this->stream, (int) WAIT_SECONDS_MAX);
    }

    /** Returns the reply; an error as a text that begins with "-". */
    public function ask(string ...$words): mixed
    {
        $text = '*' . count($words) . "\r\n";
        foreach ($words as $word) {
            $text .= '$' . strlen($word) . "\r\n$word\r\n";
        }
        fwrite($this->stream, $text);
        return $this->read();
    }

    private function read(): mixed
    {
        $line = rtrim((string) fgets($this->stream), "\r\n");
        $rest = substr($line, 1);
        switch ($line[0] ?? '') {
            case '+':
                return $rest;
            case '-':
                return $line;
            case ':':
                return (int) $rest;
            case '$':
                return (int) $rest < 0 ? null : $this->bulk((int) $rest);
            case '*':
                $list = [];
                for ($left = (int) $rest; $left > 0; $left--) {
                    $list[] = $this->read();
                }
                return (int) $rest < 0 ? null : $list;
            default:
                throw new Failed("no reply: $line");
        }
    }

    private function bulk(int $length): string
    {
        return substr((string) stream_get_contents($this->stream, $length + 2), 0, $length);
    }
}

/** A PHP program in a process of its own, which uses the library. */
final class Child
{
    /** @var resource */
    private $process;
    /** @var array<int, resource> */
    private array $pipes = [];
    private string $text = '';
    private string $errors;

    /** @param string $code has $fairlock, a client, and say(), which prints a line */
    public function __construct(string $code, string $url)
    {
        $head = "declare(strict_types=1);\n"
            . 'require ' . var_export(realpath(__DIR__ . '/../src/autoload.php'), true) . ";\n"
            . "function say(mixed \$what): void { echo json_encode(\$what), \"\\n\"; }\n"
            . '$fairlock = Fairlock\\Client::from(' . var_export($url, true) . ");\n";
        $this->errors = (string) tempnam(sys_get_temp_dir(), 'fairlock-');
        $this->process = proc_open(
            [PHP_BINARY, '-d', 'display_errors=stderr', '-r', $head . $code],
            [['pipe', 'r'], ['pipe', 'w'], ['file', $this->errors, 'w']],
            $this->pipes,
        );
        stream_set_blocking($this->pipes[1], false);
    }

    /** Returns the next line that it says. */
    public function line(): mixed
    {
        $giveUpAt = Clock::now() + WAIT_SECONDS_MAX;
        while (($end = strpos($this->text, "\n")) === false) {
            $read = [$this->pipes[1]];
            $none = null;
            stream_select($read, $none, $none, 0, 50_000);
            $this->text .= (string) fread($this->pipes[1], 65_536);
            if (Clock::now() > $giveUpAt) {
                throw new Failed('the child says nothing: ' . file_get_contents($this->errors));
            }
            if (feof($this->pipes[1]) && !str_contains($this->text, "\n")) {
                throw new Failed('the child has ended: ' . file_get_contents($this->errors));
            }
        }
        $line = substr($this->text, 0, $end);
        $this->text = substr($this->text, $end + 1);
        return json_decode($line, true);
    }

    public function tell(string $line): void
    {
        fwrite($this->pipes[0], "$line\n");
    }

    public function pid(): int
    {
        return proc_get_status($this->process)['pid'];
    }

    public function signal(int $signal): void
    {
        posix_kill($this->pid(), $signal);
    }

    /** Waits until it ends. */
    public function join(): void
    {
        $giveUpAt = Clock::now() + WAIT_SECONDS_MAX;
        while (proc_get_status($this->process)['running']) {
            if (Clock::now() > $giveUpAt) {
                throw new Failed('the child does not end');
            }
            usleep(2_000);
        }
    }

    public function close(): void
    {
        $this->signal(SIGKILL);
        array_map(fclose(...), $this->pipes);
        proc_close($this->process);
        unlink($this->errors);
    }
}

/**
 * Passes connections on to a server, in a process of its own. It may spoil requests that contain a
 * word: "lost" closes their connection instead of passing them on, "cut" does so instead of passing
 * the reply on, and a number of seconds delays the reply.
 */
final class Relay
{
    public int $port;
    private int $pid;

    /** @param int $times how many of these requests are spoiled */
    public function __construct(int $to, string $word, string|float $fault, int $times = 1)
    {
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        $name = (string) stream_socket_get_name($listener, false);
        $this->port = (int) substr((string) strrchr($name, ':'), 1);
        $this->pid = pcntl_fork();
        if ($this->pid === 0) {
            try {
                self::run($listener, $to, $word, $fault, $times);
            } finally {
                posix_kill((int) getmypid(), SIGKILL);
            }
        }
        fclose($listener);
    }

    public function close(): void
    {
        posix_kill($this->pid, SIGKILL);
        pcntl_waitpid($this->pid, $status);
    }

    /** @param resource $listener */
    private static function run($listener, int $to, string $word, mixed $fault, int $times): void
    {
        $peers = [];
        $spoiled = [];
        while (true) {
            $read = [$listener, ...array_column($peers, 'near'), ...array_column($peers, 'far')];
            $none = null;
            stream_select($read, $none, $none, null);
            if (in_array($listener, $read, true)) {
                $peers[] = [
                    'near' => stream_socket_accept($listener),
                    'far' => stream_socket_client("tcp://127.0.0.1:$to"),
                ];
            }
            foreach ($peers as $number => ['near' => $near, 'far' => $far]) {
                $isOpen = true;
                if (in_array($near, $read, true)) {
                    $text = (string) fread($near, 65_536);
                    if ($text !== '' && str_contains($text, "\r\n$word\r\n") && $times-- > 0) {
                        $spoiled[$number] = $fault;
                    }
                    $isOpen = $text !== '' && ($spoiled[$number] ?? null) !== 'lost';
                    $isOpen && fwrite($far, $text);
                }
                if ($isOpen && in_array($far, $read, true)) {
                    $text = (string) fread($far, 65_536);
                    $how = $spoiled[$number] ?? null;
                    unset($spoiled[$number]);
                    is_float($how) && usleep((int) ($how * 1e6));
                    $isOpen = $text !== '' && $how !== 'cut';
                    $isOpen && fwrite($near, $text);
                }
                if (!$isOpen) {
                    fclose($near);
                    fclose($far);
                    unset($peers[$number], $spoiled[$number]);
                }
            }
        }
    }
}

/** The base class of the tests. Each method whose name begins with "test" has its own server. */
abstract class TestCase
{
    protected OwnServer $server;
    protected Outside $outside;
    protected Client $fairlock;
    /** @var list<object> with close() */
    private array $toClose = [];

    /** @return list<string> */
    protected function serverOptions(): array
    {
        return [];
    }

    protected function needsServer(): bool
    {
        return true;
    }

    public function setUp(): void
    {
        if ($this->needsServer()) {
            $this->server = new OwnServer(...$this->serverOptions());
            $this->toClose[] = $this->server;
            $this->outside = new Outside($this->server->port);
            $this->fairlock = Client::from($this->url());
        }
    }

    public function tearDown(): void
    {
        foreach (array_reverse($this->toClose) as $one) {
            $one->close();
        }
        $this->toClose = [];
    }

    protected function url(?int $port = null): string
    {
        return 'redis://127.0.0.1:' . ($port ?? $this->server->port);
    }

    protected function child(string $code, ?string $url = null): Child
    {
        return $this->toClose[] = new Child($code, $url ?? $this->url());
    }

    protected function relay(string $word, string|float $fault, int $times = 1): Client
    {
        $relay = $this->toClose[] = new Relay($this->server->port, $word, $fault, $times);
        return Client::from($this->url($relay->port), warn: static function (): void {
        });
    }

    /**
     * Returns the owners in the queue.
     *
     * @return list<string>
     */
    protected function waiters(string $key): array
    {
        return array_map(static function (array $place): string {
            return $place[array_search('owner', $place, true) + 1];
        }, $this->outside->ask('QUEUE', $key));
    }

    /** Returns how often the server has executed a command. */
    protected function commands(string $name): int
    {
        $text = $this->outside->ask('INFO', 'commandstats');
        return preg_match("/cmdstat_$name:calls=(\d+)/", $text, $match) === 1 ? (int) $match[1] : 0;
    }

    protected function waitUntil(callable $condition): void
    {
        $giveUpAt = Clock::now() + WAIT_SECONDS_MAX;
        while (!$condition()) {
            if (Clock::now() > $giveUpAt) {
                throw new Failed('it did not become true');
            }
            usleep(3_000);
        }
    }

    protected function same(mixed $expected, mixed $actual): void
    {
        if ($expected !== $actual) {
            throw new Failed('expected ' . var_export($expected, true) . ', got '
                . var_export($actual, true));
        }
    }

    protected function true(bool $condition, string $what = 'a condition'): void
    {
        if (!$condition) {
            throw new Failed("$what is not true");
        }
    }

    protected function between(float $low, float $high, float $actual): void
    {
        $this->true($actual >= $low && $actual <= $high, "$low <= $actual <= $high");
    }

    protected function matches(string $pattern, string $text): void
    {
        $this->true(preg_match($pattern, $text) === 1, "'$text' matches $pattern");
    }

    /**
     * @template T of \Throwable
     *
     * @param class-string<T> $class
     *
     * @return T
     */
    protected function throws(string $class, callable $call, string $pattern = '//'): \Throwable
    {
        try {
            $call();
        } catch (\Throwable $error) {
            if (!$error instanceof $class) {
                throw $error;
            }
            $this->matches($pattern, $error->getMessage());
            return $error;
        }
        throw new Failed("$class was not thrown");
    }

    protected function nothingLeft(string ...$keys): void
    {
        foreach ($keys as $key) {
            $this->same([0, []], [$this->outside->ask('LOCKED', $key), $this->waiters($key)]);
        }
    }
}

/**
 * Loads packages of Debian, or instead the file that FAIRLOCK_PHP_AUTOLOAD names.
 *
 * @param list<string> $files their autoloaders, of which some may not exist
 */
function loadPackages(array $files): void
{
    $instead = getenv('FAIRLOCK_PHP_AUTOLOAD');
    foreach ($instead ? [$instead] : $files as $file) {
        is_file($file) && require_once $file;
    }
}

/** Returns code with which a child loads the same packages. */
function loadingPackages(): string
{
    $own = realpath(__DIR__ . '/../src/autoload.php');
    return implode('', array_map(
        static fn (string $file): string => 'require_once ' . var_export($file, true) . ";\n",
        preg_grep('#/autoload\.php$#', array_diff(get_included_files(), [$own])),
    ));
}

/** Runs the tests of the classes in a file, or those whose names contain the first argument. */
function run(string ...$classes): never
{
    $filter = $_SERVER['argv'][1] ?? '';
    $counts = ['passed' => 0, 'failed' => 0, 'skipped' => 0];
    foreach ($classes as $class) {
        foreach (preg_grep('/^test/', get_class_methods($class)) as $method) {
            if ($filter !== '' && !str_contains("$class::$method", $filter)) {
                continue;
            }
            $case = new $class();
            $outcome = 'passed';
            try {
                $case->setUp();
                $case->$method();
            } catch (Skipped $skipped) {
                $outcome = 'skipped';
                echo "skipped, $class::$method: {$skipped->getMessage()}\n";
            } catch (\Throwable $error) {
                $outcome = 'failed';
                echo "FAILED $class::$method: " . get_class($error) . ": $error\n";
            } finally {
                $case->tearDown();
            }
            $counts[$outcome]++;
        }
    }
    $all = array_sum($counts);
    echo "$all tests: $counts[passed] passed, $counts[failed] failed, $counts[skipped] skipped\n";
    if ($counts['failed'] > 0 || $all === 0) {
        exit(1);
    }
    exit($counts['passed'] > 0 ? 0 : EXIT_SKIPPED);
}
