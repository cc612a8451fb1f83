<?php

declare(strict_types=1);

// TLS: with_own_server.py --tls starts a server that requires client certificates.

namespace Fairlock\Tests;

use Fairlock\Client;
use Fairlock\ConnectionLost;

require_once __DIR__ . '/support.php';
require_once __DIR__ . '/readme_examples.php';

final class Tls extends TestCase
{
    protected function needsServer(): bool
    {
        return false;
    }

    /** @return array<string, string> */
    private function ssl(): array
    {
        return [
            'cafile' => getenv('FAIRLOCK_TLS_CA'),
            'local_cert' => getenv('FAIRLOCK_TLS_CERT'),
            'local_pk' => getenv('FAIRLOCK_TLS_KEY'),
        ];
    }

    private function address(string $scheme): string
    {
        return "$scheme://127.0.0.1:" . getenv('FAIRLOCK_TLS_PORT');
    }

    private function works(Client $fairlock): void
    {
        $hold = $fairlock->lock('k', lease: 20, wait: 20)->acquire();
        $hold->renew(60);
        $this->same(1, count($fairlock->holders('k')));
        $this->same(true, $hold->release());
    }

    public function testAnAddress(): void
    {
        foreach (['rediss', 'tls'] as $scheme) {
            $this->works(Client::from($this->address($scheme), ssl: $this->ssl()));
        }
    }

    public function testTheExampleOfTheReadme(): void
    {
        $this->same(1, count(ReadmeExample::with('ssl:')->run([
            'localhost:3247' => '127.0.0.1:' . getenv('FAIRLOCK_TLS_PORT'),
            '/etc/fairlock/ca.pem' => getenv('FAIRLOCK_TLS_CA'),
            '/etc/fairlock/client.pem' => getenv('FAIRLOCK_TLS_CERT'),
            '/etc/fairlock/client.key' => getenv('FAIRLOCK_TLS_KEY'),
        ])));
    }

    public function testPhpredis(): void
    {
        $redis = new \Redis();
        $port = (int) getenv('FAIRLOCK_TLS_PORT');
        $redis->connect('tls://127.0.0.1', $port, 5, null, 0, 5, ['stream' => $this->ssl()]);
        $this->works(Client::from($redis, ssl: $this->ssl()));
    }

    public function testPredis(): void
    {
        @include_once 'Predis/autoload.php';
        if (!class_exists(\Predis\Client::class)) {
            throw new Skipped('Predis is missing (php-predis)');
        }
        $parameters = [
            'scheme' => 'tls', 'host' => '127.0.0.1', 'port' => getenv('FAIRLOCK_TLS_PORT'),
            'ssl' => $this->ssl(),
        ];
        $this->works(Client::from(new \Predis\Client($parameters)));
    }

    public function testAServerThatIsNotTrusted(): void
    {
        $fairlock = Client::from($this->address('rediss'));
        $this->throws(
            ConnectionLost::class,
            $fairlock->lock('k', wait: 60)->acquire(...),
            '/^k: .*certificate verify failed/s',
        );
        $named = Client::from($this->address('rediss'), ssl: $this->ssl() + ['peer_name' => 'x']);
        $lock = $named->lock('k', wait: 60);
        $this->throws(ConnectionLost::class, $lock->acquire(...), '/expected name/');
    }

    public function testManyRepliesOverOneConnection(): void
    {
        $fairlock = Client::from($this->address('rediss'), ssl: $this->ssl());
        for ($number = 0; $number < 200; $number++) {
            $lock = $fairlock->lock("k$number", meta: str_repeat('m', 4096), autoRelease: false);
            $lock->acquire();
            $this->same(4096, strlen((string) $fairlock->holders("k$number")[0]->meta));
        }
    }
}

run(Tls::class);
