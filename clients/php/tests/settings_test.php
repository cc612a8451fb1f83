<?php

declare(strict_types=1);

// What a program gives, and what is taken from the clients of other libraries.

namespace Fairlock\Tests;

use Fairlock\Client;
use Fairlock\ConnectionLost;
use Fairlock\Deadlock;
use Fairlock\Denied;
use Fairlock\Internal\Clock;
use Fairlock\Internal\Failures;
use Fairlock\Internal\Pauses;
use Fairlock\Internal\SlotTable;
use Fairlock\Internal\Text;
use Fairlock\NotFairlock;
use Fairlock\ServerError;

require_once __DIR__ . '/support.php';

final class Durations extends TestCase
{
    protected function needsServer(): bool
    {
        return false;
    }

    private function client(): Client
    {
        return Client::from('redis://127.0.0.1:1');
    }

    public function testWhatIsOutOfBoundsIsRefusedAtTheCall(): void
    {
        $wrong = [INF, -INF, NAN, -1, -0.001, 31_536_001, PHP_INT_MAX, PHP_INT_MIN];
        $inverted = new \DateInterval('PT1S');
        $inverted->invert = 1;
        array_push($wrong, $inverted, new \DateInterval('P2Y'));
        foreach (['lease', 'wait', 'keep', 'minHold'] as $name) {
            foreach ($wrong as $value) {
                $this->throws(
                    \InvalidArgumentException::class,
                    fn () => $this->client()->lock('k', ...[$name => $value]),
                    "/^$name must be .* to 31536000 seconds, got /",
                );
            }
        }
        foreach (['connectTimeout', 'readTimeout'] as $name) {
            foreach ([...$wrong, 0] as $value) {
                $this->throws(
                    \InvalidArgumentException::class,
                    fn () => Client::from('localhost', ...[$name => $value]),
                    "/^$name must be/",
                );
            }
        }
        $this->throws(\InvalidArgumentException::class, fn () => $this->client()->lock('k', 0));
        $this->throws(
            \InvalidArgumentException::class,
            fn () => $this->client()->resume('k', 'owner', 1, INF),
        );
        $this->throws(\TypeError::class, fn () => $this->client()->lock('k', lease: '30'));
    }

    public function testWhatIsWithinBoundsIsTaken(): void
    {
        foreach ([0.001, 1, 31_536_000, new \DateInterval('PT90S')] as $value) {
            $this->client()->lock('k', lease: $value, wait: $value, keep: $value, minHold: $value);
        }
        $this->client()->lock('k', wait: 0, keep: 0, minHold: 0);
        $this->client()->lock('k', wait: null);
    }

    public function testOtherOptions(): void
    {
        foreach (
            [
                ['keys' => []], ['keys' => ''], ['keys' => ['a', '']],
                ['keys' => 'k', 'limit' => 0], ['keys' => 'k', 'limit' => 2, 'shared' => true],
                ['keys' => 'k', 'maxWaiters' => -1],
            ] as $wrong
        ) {
            $this->throws(
                \InvalidArgumentException::class,
                fn () => $this->client()->lock(...$wrong),
            );
        }
    }

    public function testAddresses(): void
    {
        foreach (
            [
                'http://x', 'redis://', 'unix://', '', 'redis://u:secret@:1', 'redis://h/x', [],
            ] as $wrong
        ) {
            $error = $this->throws(
                \InvalidArgumentException::class,
                fn () => Client::from($wrong),
            );
            $this->true(!str_contains($error->getMessage(), 'secret'));
        }
        foreach (['h', 'h:1', '[::1]:2', 'rediss://u:p%40@h:3/4', 'unix:///run/s?db=1'] as $right) {
            Client::from($right);
        }
        $this->throws(\InvalidArgumentException::class, fn () => Client::from(new \stdClass()));
        $this->throws(\InvalidArgumentException::class, fn () => Client::from([['h', 1]]));
    }
}

final class SmallParts extends TestCase
{
    protected function needsServer(): bool
    {
        return false;
    }

    public function testTheClockRunsWhileTheMachineSleeps(): void
    {
        $uptime = 1000.0;
        $clock = new Clock(function () use (&$uptime): ?float {
            return $uptime;
        });
        $this->same(500.0, $clock->at(500.0, 9000.0));
        $uptime = 1010.0;
        $this->same(510.0, $clock->at(510.0, 9010.0));
        // It slept for 60 s, in which hrtime() stood still.
        $uptime = 1071.0;
        $this->between(571.0, 571.1, $clock->at(511.0, 9071.0));
        // The date was set, forward and back, but nothing slept.
        $uptime = 1072.0;
        $this->between(572.0, 572.1, $clock->at(512.0, 99_072.0));
        $uptime = 1073.0;
        $this->between(573.0, 573.1, $clock->at(513.0, 73.0));
    }

    public function testWithoutTheTimeSinceBootAJumpForwardIsASleep(): void
    {
        $clock = new Clock(static fn (): ?float => null);
        $this->same(500.0, $clock->at(500.0, 9000.0));
        $this->same(561.0, $clock->at(501.0, 9061.0));
        $this->same(562.0, $clock->at(502.0, 62.0));
    }

    public function testHashSlots(): void
    {
        $this->same(
            [12_739, 15_495, 15_495, 15_495, 12_182],
            array_map(SlotTable::slotOf(...), ['123456789', 'a', '{a}b', 'x{a}{b}', 'foo']),
        );
        $this->true(SlotTable::slotOf('{}a') !== SlotTable::slotOf('a'));
    }

    public function testNamesForPeople(): void
    {
        $this->same('order:42', Text::shown('order:42'));
        $this->same('für 1', Text::shown('für 1'));
        $this->same('a\\x0ab\\x1b', Text::shown("a\nb\x1b"));
        $this->same('\\xff\\xfea', Text::shown("\xff\xfea"));
        $this->same('a, b', Text::names(['a', 'b']));
    }

    public function testTemporaryFailures(): void
    {
        foreach (['CLUSTERDOWN x', 'LOADING x', 'TRYAGAIN', 'NOQUORUM x', 'MOVED 1 h:2'] as $text) {
            $this->true(Failures::isTemporary(new ServerError($text)), $text);
        }
        foreach (['ERR x', 'NOPERM x', 'OOM x', 'WRONGPASS', 'DEADLOCK x'] as $text) {
            $this->true(!Failures::isTemporary(new ServerError($text)), $text);
        }
        $this->true(!Failures::isTemporary(new ConnectionLost('x', isRefusal: true)));
    }

    public function testPausesAreLimited(): void
    {
        $pauses = new Pauses();
        $begun = Clock::now();
        for ($number = 0; $number < 100; $number++) {
            $pauses->pause(0.0001);
        }
        $this->true(Clock::now() - $begun < 10);
    }
}

final class OtherClients extends TestCase
{
    private function phpredis(): \Redis
    {
        if (!class_exists(\Redis::class)) {
            throw new Skipped('phpredis is missing (php-redis)');
        }
        $redis = new \Redis();
        $redis->connect('127.0.0.1', $this->server->port, 2.5, null, 0, 7.5);
        return $redis;
    }

    /** @param array<string, mixed> $options */
    private function predis(array|string $parameters, array $options = []): \Predis\Client
    {
        if (!class_exists(\Predis\Client::class)) {
            @include_once 'Predis/autoload.php';
        }
        if (!class_exists(\Predis\Client::class)) {
            throw new Skipped('Predis is missing (php-predis)');
        }
        return new \Predis\Client($parameters, $options);
    }

    public function testThePrefixOfPhpredis(): void
    {
        $redis = $this->phpredis();
        $redis->setOption(\Redis::OPT_PREFIX, 'shop:');
        $this->itUsesThePrefix(Client::from($redis));
        $redis->setOption(\Redis::OPT_PREFIX, 'other:');
        $client = Client::from($redis);
        $redis->setOption(\Redis::OPT_PREFIX, 'later:');
        $hold = $client->lock('k')->acquire();
        $this->same(1, $this->outside->ask('LOCKED', 'later:k'));
        $hold->release();
    }

    public function testThePrefixOfPredis(): void
    {
        $url = "tcp://127.0.0.1:{$this->server->port}";
        $this->itUsesThePrefix(Client::from($this->predis($url, ['prefix' => 'shop:'])));
    }

    public function testThePrefixInAnAddress(): void
    {
        $this->itUsesThePrefix(Client::from($this->url() . '?prefix=shop:'));
        $this->itUsesThePrefix(Client::from($this->url(), prefix: 'shop:'));
    }

    private function itUsesThePrefix(Client $fairlock): void
    {
        $hold = $fairlock->lock('k', owner: 'me')->acquire();
        $this->same(1, $this->outside->ask('LOCKED', 'shop:k'));
        $this->same(['k'], $hold->keys());
        $denied = $this->throws(
            Denied::class,
            $fairlock->lock(['j', 'k'], owner: 'x', wait: 0)->acquire(...),
            '/^j, k not granted: held by me .*\(k\)$/',
        );
        $this->same(['k', ['j', 'k']], [$denied->explanation->key, $denied->keys]);
        $this->same(1, count($fairlock->holders('k')));
        $this->same(true, $hold->release());
        $this->nothingLeft('shop:k');
    }

    public function testATextAboutADeadlockHasNoPrefix(): void
    {
        $fairlock = Client::from($this->url(), prefix: 'shop:');
        $mine = $fairlock->lock('j', owner: 'job:2')->acquire();
        $child = $this->child('
            $first = $fairlock->lock("k", owner: "job:1")->acquire();
            say($fairlock->lock("j", owner: "job:1", wait: 60)->acquire()->isHeld());
        ', $this->url() . '?prefix=shop:');
        $this->waitUntil(fn (): bool => $this->waiters('shop:j') !== []);
        $this->throws(
            Deadlock::class,
            $fairlock->lock('k', owner: 'job:2', wait: 60)->acquire(...),
            '/^k: job:2 waits for k held by job:1, job:1 waits for j held by job:2$/',
        );
        $mine->release();
        $this->same(true, $child->line());
    }

    public function testTheDatabaseOfPhpredisIsFollowed(): void
    {
        $redis = $this->phpredis();
        $fairlock = Client::from($redis);
        $first = $fairlock->lock('k')->acquire();
        $redis->select(3);
        $second = $fairlock->lock('k', wait: 0)->acquire();
        $this->outside->ask('SELECT', '3');
        $this->same(1, $this->outside->ask('LOCKED', 'k', $second->owner()));
        $first->renew();
        $this->same([true, true], [$first->release(), $second->release()]);
    }

    public function testTheDatabaseOfPredisAndOfAnAddress(): void
    {
        $port = $this->server->port;
        $one = Client::from("redis://127.0.0.1:$port/2")->lock('k')->acquire();
        $predis = $this->predis("tcp://127.0.0.1:$port?database=3");
        $other = Client::from($predis)->lock('k')->acquire();
        foreach (['2' => $one, '3' => $other] as $database => $hold) {
            $this->outside->ask('SELECT', (string) $database);
            $this->same(1, $this->outside->ask('LOCKED', 'k', $hold->owner()));
            $hold->release();
        }
    }

    public function testUnixSockets(): void
    {
        $path = "{$this->server->directory}/socket";
        $redis = new \Redis();
        $redis->connect($path);
        foreach ([$redis, $this->predis("unix:$path"), "unix://$path?db=1"] as $source) {
            $this->same(true, Client::from($source)->lock('k')->acquire()->release());
        }
    }

    public function testARedisThatIsNotConnected(): void
    {
        $this->throws(
            \InvalidArgumentException::class,
            static fn () => Client::from(new \Redis()),
            '/must be connected/',
        );
    }
}

final class Logins extends TestCase
{
    private const PASSWORD = "keeps:its@secrets";

    protected function serverOptions(): array
    {
        return ['--requirepass', self::PASSWORD];
    }

    public function setUp(): void
    {
        parent::setUp();
        $this->outside->ask('AUTH', self::PASSWORD);
    }

    public function testAPasswordFromEverySource(): void
    {
        $port = $this->server->port;
        $redis = new \Redis();
        $redis->connect('127.0.0.1', $port);
        $redis->auth(self::PASSWORD);
        $withUser = new \Redis();
        $withUser->connect('127.0.0.1', $port);
        $withUser->auth(['default', self::PASSWORD]);
        $encoded = rawurlencode(self::PASSWORD);
        $sources = [$redis, $withUser, "redis://default:$encoded@127.0.0.1:$port",
            "redis://:$encoded@127.0.0.1:$port"];
        foreach ($sources as $source) {
            $this->same(true, Client::from($source)->lock('k')->acquire()->release());
        }
        @include_once 'Predis/autoload.php';
        if (class_exists(\Predis\Client::class)) {
            $predis = new \Predis\Client(['port' => $port, 'password' => self::PASSWORD]);
            $this->same(true, Client::from($predis)->lock('k')->acquire()->release());
        }
        $given = Client::from("127.0.0.1:$port", password: self::PASSWORD);
        $this->same(true, $given->lock('k')->acquire()->release());
    }

    public function testAWrongPasswordIsNotTriedAgain(): void
    {
        $fairlock = Client::from($this->url(), password: 'wrong');
        $error = $this->throws(ServerError::class, $fairlock->lock('k', wait: 60)->acquire(...));
        $this->matches('/^k: WRONGPASS/', $error->getMessage());
        $none = Client::from($this->url());
        $this->throws(ServerError::class, $none->lock('k', wait: 60)->acquire(...), '/^k: NOAUTH/');
    }
}

final class OtherServers extends TestCase
{
    protected function needsServer(): bool
    {
        return false;
    }

    public function testRedisIsRecognised(): void
    {
        if (!is_file('/usr/bin/redis-server')) {
            throw new Skipped('redis-server is missing');
        }
        $port = OwnServer::freePort();
        $null = ['file', '/dev/null', 'w'];
        $words = ['/usr/bin/redis-server', '--port', (string) $port, '--save', ''];
        $redis = proc_open($words, [['file', '/dev/null', 'r'], $null, $null], $pipes);
        try {
            $this->waitUntil(static fn (): bool =>
                @stream_socket_client("tcp://127.0.0.1:$port", $number, $text, 1) !== false);
            $fairlock = Client::from($this->url($port));
            foreach ([0, 60, null] as $wait) {
                $this->throws(
                    NotFairlock::class,
                    $fairlock->lock('k', wait: $wait)->acquire(...),
                    '/^k: the server is not fairlock, it may be Redis/',
                );
            }
        } finally {
            proc_terminate($redis, SIGKILL);
            proc_close($redis);
        }
    }

    public function testAServerThatSpeaksSomethingElse(): void
    {
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        $port = (int) substr((string) strrchr(stream_socket_get_name($listener, false), ':'), 1);
        $pid = pcntl_fork();
        if ($pid === 0) {
            while ($peer = @stream_socket_accept($listener, 60)) {
                fwrite($peer, "HTTP/1.1 400 Bad Request\r\n\r\n");
                $peers[] = $peer;
            }
            posix_kill((int) getmypid(), SIGKILL);
        }
        try {
            $this->throws(
                ConnectionLost::class,
                Client::from($this->url($port))->lock('k', wait: 0)->acquire(...),
                '/^k: .*not one of a fairlock server/',
            );
        } finally {
            posix_kill($pid, SIGKILL);
            pcntl_waitpid($pid, $status);
        }
    }
}

run(Durations::class, SmallParts::class, OtherClients::class, Logins::class, OtherServers::class);
