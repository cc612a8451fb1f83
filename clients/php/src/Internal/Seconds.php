<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * Durations that a program gives.
 *
 * @internal
 */
final class Seconds
{
    /** The longest duration that the server accepts. */
    public const MAX = 365 * 24 * 3600;

    /**
     * Returns a duration in seconds.
     *
     * @param string $name how the parameter is called, for the error
     *
     * @throws \InvalidArgumentException unless it is from 0, or more than 0, to a year
     */
    public static function of(
        string $name,
        int|float|\DateInterval $value,
        bool $mayBeZero = true,
    ): float {
        $seconds = $value instanceof \DateInterval ? self::ofInterval($value) : (float) $value;
        // NAN fails each comparison.
        if (($mayBeZero ? $seconds >= 0 : $seconds > 0) && $seconds <= self::MAX) {
            return $seconds;
        }
        throw new \InvalidArgumentException(sprintf(
            '%s must be %s to %d seconds, got %s',
            $name,
            $mayBeZero ? 'from 0' : 'greater than 0 and up',
            self::MAX,
            $seconds,
        ));
    }

    /**
     * Returns a duration in seconds, or null.
     *
     * @throws \InvalidArgumentException like of()
     */
    public static function orNull(string $name, int|float|\DateInterval|null $value): ?float
    {
        return $value === null ? null : self::of($name, $value);
    }

    /** Returns the duration in milliseconds, rounded up, as the commands of the server take it. */
    public static function milliseconds(float $seconds): string
    {
        return (string) max(1, (int) ceil($seconds * 1000));
    }

    private static function ofInterval(\DateInterval $interval): float
    {
        $begin = new \DateTimeImmutable('@0');
        $end = $begin->add($interval);
        return $end->getTimestamp() + (int) $end->format('u') / 1e6;
    }
}
