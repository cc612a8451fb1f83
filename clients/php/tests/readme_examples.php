<?php

declare(strict_types=1);

// The examples of the README, which run as they are, except for addresses and the work they do.

namespace Fairlock\Tests;

/** One example. It runs in a process of its own. */
final class ReadmeExample
{
    private const WORK = ['charge', 'deploy', 'write', 'fetch', 'move', 'report'];

    private function __construct(public readonly string $text)
    {
    }

    /** @return list<self> */
    public static function all(): array
    {
        $readme = (string) file_get_contents(__DIR__ . '/../README.md');
        preg_match_all('/```php\n(.*?)```/s', $readme, $found);
        return array_map(static fn (string $text): self => new self($text), $found[1]);
    }

    /** Returns the only example that contains these words. */
    public static function with(string $words): self
    {
        $found = array_filter(
            self::all(),
            static fn (self $one): bool => str_contains($one->text, $words),
        );
        return count($found) === 1 ? current($found) : throw new Failed("not one with $words");
    }

    /**
     * Runs it, and returns what the work was given.
     *
     * @param array<string, string> $replacements
     * @param list<string>          $files        are loaded before
     * @param string                $prologue     code before the example
     *
     * @return list<list<mixed>>
     */
    public function run(array $replacements, array $files = [], string $prologue = ''): array
    {
        $text = $this->text;
        foreach ($replacements as $before => $after) {
            if (!str_contains($text, $before)) {
                throw new Failed("the example does not contain $before: $text");
            }
            $text = str_replace($before, $after, $text);
        }
        $code = "<?php\nini_set('display_errors', 'stderr');\nini_set('assert.exception', '1');\n";
        foreach ([realpath(__DIR__ . '/../src/autoload.php'), ...$files] as $file) {
            $code .= 'require_once ' . var_export($file, true) . ";\n";
        }
        foreach (self::WORK as $name) {
            $code .= "function $name(...\$what): void\n{\n    \$GLOBALS['done'][] = \$what;\n}\n";
        }
        $path = (string) tempnam(sys_get_temp_dir(), 'fairlock-');
        $code .= "$prologue\n" . $text . "\nfwrite(STDERR, 'DONE ' . json_encode(\$done ?? []));\n";
        file_put_contents($path, $code);
        $words = [PHP_BINARY, '-d', 'zend.assertions=1', $path];
        $files = [['file', '/dev/null', 'r'], ['file', '/dev/null', 'w'], ['pipe', 'w']];
        $process = proc_open($words, $files, $pipes);
        $errors = (string) stream_get_contents($pipes[2]);
        $status = proc_close($process);
        unlink($path);
        if ($status !== 0 || preg_match('/\ADONE (.*)\z/s', $errors, $match) !== 1) {
            throw new Failed("$errors\nin the example\n$this->text");
        }
        return json_decode($match[1], true);
    }
}
