<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * Names for people, and names of owners.
 *
 * @internal
 */
final class Text
{
    private static string $process = '';
    private static int $processId = 0;

    /** Returns a name with escapes for bytes that are not UTF-8, and for what is not printable. */
    public static function shown(string $name): string
    {
        if (preg_match('/\A[\x20-\x7e]*\z/', $name) === 1) {
            return $name;
        }
        $escaped = static fn (array $match): string => implode('', array_map(
            static fn (string $byte): string => sprintf('\\x%02x', ord($byte)),
            str_split($match[0]),
        ));
        if (preg_match('//u', $name) !== 1) {
            return (string) preg_replace_callback('/[^\x20-\x7e]/', $escaped, $name);
        }
        return (string) preg_replace_callback('/[\p{C}\p{Zl}\p{Zp}]/u', $escaped, $name);
    }

    /**
     * Returns keys for people.
     *
     * @param list<string> $keys
     */
    public static function names(array $keys): string
    {
        return implode(', ', array_map(self::shown(...), $keys));
    }

    /** Returns a name for one execution, made from the host, the process and a random part. */
    public static function newOwner(): string
    {
        $id = (int) getmypid();
        if ($id !== self::$processId) {
            self::$processId = $id;
            self::$process = gethostname() . ":$id:";
        }
        return self::$process . bin2hex(random_bytes(8));
    }
}
