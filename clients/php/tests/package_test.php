<?php

declare(strict_types=1);

// The package as Composer installs it, and the style of its sources.

namespace Fairlock\Tests;

require_once __DIR__ . '/support.php';

final class Package extends TestCase
{
    private const ROOT = __DIR__ . '/..';

    /**
     * Runs a program, and returns what it prints.
     *
     * @param list<string>          $words
     * @param array<string, string> $environment
     */
    private function program(array $words, string $folder, array $environment = []): string
    {
        $process = proc_open(
            $words,
            [['file', '/dev/null', 'r'], ['pipe', 'w'], ['redirect', 1]],
            $pipes,
            $folder,
            $environment + getenv(),
        );
        $output = (string) stream_get_contents($pipes[1]);
        $status = proc_close($process);
        $this->true($status === 0, implode(' ', $words) . ": $output: status 0");
        return $output;
    }

    /** @return list<string> the files with PHP of the package and its tests */
    private function files(): array
    {
        $files = [];
        foreach (['src', 'tests'] as $folder) {
            $found = new \RecursiveDirectoryIterator(self::ROOT . "/$folder");
            foreach (new \RecursiveIteratorIterator($found) as $file) {
                $file->getExtension() === 'php' && $files[] = $file->getPathname();
            }
        }
        return $files;
    }

    public function testItIsInstalledAndUsed(): void
    {
        if (!is_file('/usr/bin/composer')) {
            throw new Skipped('Composer is missing (composer)');
        }
        $folder = "{$this->server->directory}/shop";
        mkdir($folder);
        $source = ['type' => 'path', 'url' => realpath(self::ROOT)];
        file_put_contents("$folder/composer.json", json_encode([
            'repositories' => [
                $source + ['options' => ['symlink' => false]], ['packagist.org' => false],
            ],
            'require' => ['fairlock/fairlock' => '@dev'],
        ]));
        file_put_contents("$folder/charge.php", '<?php
            require __DIR__ . "/vendor/autoload.php";
            $fairlock = Fairlock\Client::from("' . $this->url() . '");
            echo $fairlock->withLock("k", fn ($hold) => $hold->keys()[0]), "\n";
            echo (new ReflectionClass($fairlock))->getFileName(), "\n";
        ');
        $environment = [
            'COMPOSER_HOME' => "$folder/home", 'COMPOSER_ALLOW_SUPERUSER' => '1',
            'COMPOSER_DISABLE_NETWORK' => '1', 'COMPOSER_ROOT_VERSION' => 'dev-main',
        ];
        $words = ['/usr/bin/composer', 'install', '--no-interaction', '--no-ansi'];
        $this->program($words, $folder, $environment);
        $output = $this->program([PHP_BINARY, 'charge.php'], $folder);
        $this->same("k\n$folder/vendor/fairlock/fairlock/src/Client.php\n", $output);
        $this->program(
            ['/usr/bin/composer', 'validate', '--strict', '--no-interaction'],
            realpath(self::ROOT),
            $environment,
        );
    }

    public function testTheLicenceIsThatOfTheProject(): void
    {
        $this->same(
            file_get_contents(self::ROOT . '/../../LICENSE'),
            file_get_contents(self::ROOT . '/LICENSE'),
        );
    }

    public function testEveryFileIsStrictAndCompiles(): void
    {
        $files = $this->files();
        $this->true(count($files) > 20);
        foreach ($files as $file) {
            $text = (string) file_get_contents($file);
            $this->true(str_contains($text, "\ndeclare(strict_types=1);\n"), $file);
            $this->program([PHP_BINARY, '-l', $file], self::ROOT);
        }
    }

    public function testTheStyle(): void
    {
        if (!is_file('/usr/bin/phpcs')) {
            throw new Skipped('PHP_CodeSniffer is missing (php-codesniffer)');
        }
        $this->program(['/usr/bin/phpcs'], self::ROOT);
    }
}

run(Package::class);
