<?php

declare(strict_types=1);

namespace Fairlock\Internal;

use Fairlock\Explanation;
use Fairlock\Holder;

/**
 * Reads replies that are maps.
 *
 * @internal
 */
final class Replies
{
    /**
     * Returns the fields of a map, which is a flat list in RESP 2.
     *
     * @return array<string, mixed>
     */
    public static function fields(mixed $reply): array
    {
        $fields = [];
        $list = is_array($reply) ? $reply : [];
        for ($index = 0; $index + 1 < count($list); $index += 2) {
            $fields[(string) $list[$index]] = $list[$index + 1];
        }
        return $fields;
    }

    /** Reads the map of EXPLAIN about a request with these terms. */
    public static function explanation(mixed $reply, Terms $terms): Explanation
    {
        $fields = self::fields($reply);
        // The server names a key only if there are several.
        $index = array_search($fields['key'] ?? null, $terms->serverKeys, true);
        $key = $terms->keys[$index === false ? 0 : $index];
        return new Explanation(
            (string) ($fields['status'] ?? ''),
            $fields['reason'] ?? null,
            $fields['token'] ?? null,
            self::seconds($fields['ttl_ms'] ?? null),
            $fields['position'] ?? null,
            $fields['waiters'] ?? 0,
            self::seconds($fields['eta_ms'] ?? null),
            self::holders($fields['holders'] ?? []),
            $key,
        );
    }

    /**
     * Reads the field `holders` of EXPLAIN or LOCKINFO.
     *
     * @return list<Holder>
     */
    public static function holders(mixed $rows): array
    {
        $holders = [];
        foreach (is_array($rows) ? $rows : [] as $row) {
            $fields = self::fields($row);
            $holders[] = new Holder(
                (string) ($fields['owner'] ?? ''),
                (int) ($fields['token'] ?? 0),
                $fields['meta'] ?? null,
                $fields['label'] ?? null,
                ($fields['held_ms'] ?? 0) / 1000,
                self::seconds($fields['ttl_ms'] ?? null),
                (string) ($fields['mode'] ?? ''),
            );
        }
        return $holders;
    }

    private static function seconds(?int $milliseconds): ?float
    {
        return $milliseconds === null ? null : $milliseconds / 1000;
    }
}
