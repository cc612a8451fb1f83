<?php

declare(strict_types=1);

// Every example of the README on one server. tls_test.php and fleet_test.py run the others.

namespace Fairlock\Tests;

require_once __DIR__ . '/support.php';
require_once __DIR__ . '/readme_examples.php';

final class Readme extends TestCase
{
    private const PACKAGES = [
        'Predis\\' => '/usr/share/php/Predis/autoload.php',
        'Symfony\Component\Lock' => '/usr/share/php/Symfony/Component/Lock/autoload.php',
        'Symfony\Component\Semaphore' => '/usr/share/php/Symfony/Component/Semaphore/autoload.php',
        'Facades\Cache' => '/usr/share/php/Illuminate/Cache/autoload.php',
    ];

    public function testEveryExample(): void
    {
        $counts = [];
        foreach (ReadmeExample::all() as $example) {
            if (preg_match('/ssl:|lock2|config.cache.php/', $example->text) === 1) {
                continue;
            }
            $counts[] = $this->run($example);
        }
        // The denied deployment does nothing.
        $this->same([1, 2, 0, 3, 5, 0, 1, 1, 1, 2, 1], array_diff($counts, [-1]));
    }

    private function run(ReadmeExample $example): int
    {
        $files = [];
        foreach (self::PACKAGES as $name => $file) {
            if (str_contains($example->text, $name)) {
                if (!is_file($file)) {
                    echo "skipped, an example with $name: $file is missing\n";
                    return -1;
                }
                $files[] = $file;
            }
        }
        $hasConnect = str_contains($example->text, '"localhost", 3247');
        $replacements = $hasConnect
            ? ['"localhost", 3247' => "\"127.0.0.1\", {$this->server->port}"]
            : ['localhost:3247' => "127.0.0.1:{$this->server->port}"];
        $prologue = '';
        if (str_contains($example->text, 'Facades\Cache')) {
            array_push($files, '/usr/share/php/Illuminate/Container/autoload.php');
            $replacements = [];
            $prologue = $this->laravel();
        }
        return count($example->run($replacements, $files, $prologue));
    }

    /** Returns code that makes as much of an application as a cache needs. */
    private function laravel(): string
    {
        $config = ReadmeExample::with('config/cache.php')->text;
        $config = str_replace('localhost:3247', "127.0.0.1:{$this->server->port}", $config);
        $config = str_replace('"store" => "redis"', '"store" => "array"', $config);
        return '
            $app = new class extends Illuminate\Container\Container {
                public function getNamespace(): string { return "App\\\\"; }
            };
            $stores = (function () { ' . $config . '})()["stores"];
            $app["config"] = new ArrayObject([
                "cache.stores.locks" => $stores["locks"], "cache.prefix" => "",
                "cache.stores.array" => ["driver" => "array"],
            ]);
            $app->singleton("cache", fn ($own) => new Illuminate\Cache\CacheManager($own));
            (new Fairlock\Laravel\FairlockServiceProvider($app))->boot();
            Illuminate\Support\Facades\Facade::setFacadeApplication($app);
        ';
    }
}

run(Readme::class);
