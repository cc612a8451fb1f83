<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * A monotonic clock that also runs while the machine sleeps, as the clock of the server does.
 *
 * hrtime() stands still during a sleep. So a sleep shows as a jump of the wall clock against it. A
 * jump may also mean that the date was set. The time since boot in /proc/uptime tells which of the
 * two it was. Where that file does not exist, a jump forward counts as a sleep, which can only make
 * a lease end too early.
 *
 * @internal
 */
final class Clock
{
    private const JUMP_SECONDS = 0.05;
    /** /proc/uptime counts hundredths of a second. */
    private const PRECISION_SECONDS = 0.03;

    private static ?self $own = null;

    private ?float $skew = null;
    private ?float $sleptBefore = null;
    private float $slept = 0.0;

    /** @param \Closure(): ?float $uptime returns the time since boot in seconds, or null */
    public function __construct(private \Closure $uptime)
    {
    }

    /** Returns the time in seconds since an unknown moment. */
    public static function now(): float
    {
        self::$own ??= new self(self::uptime(...));
        return self::$own->at(hrtime(true) / 1e9, microtime(true));
    }

    /** Returns the time that belongs to these readings of hrtime() and of the wall clock. */
    public function at(float $monotonic, float $wall): float
    {
        $skew = $wall - $monotonic;
        if ($this->skew === null) {
            $this->skew = $skew;
            $this->sleptBefore = self::difference(($this->uptime)(), $monotonic);
        } elseif (abs($skew - $this->skew) > self::JUMP_SECONDS) {
            $this->learn($skew - $this->skew, $monotonic);
            $this->skew = $skew;
        }
        return $monotonic + $this->slept;
    }

    private function learn(float $jump, float $monotonic): void
    {
        $slept = self::difference(($this->uptime)(), $monotonic);
        if ($slept === null || $this->sleptBefore === null) {
            $this->slept += max(0.0, $jump);
        } elseif ($slept - $this->sleptBefore > $this->slept + self::PRECISION_SECONDS) {
            $this->slept = $slept - $this->sleptBefore + self::PRECISION_SECONDS;
        }
    }

    private static function difference(?float $uptime, float $monotonic): ?float
    {
        return $uptime === null ? null : $uptime - $monotonic;
    }

    private static function uptime(): ?float
    {
        $text = @file_get_contents('/proc/uptime');
        return $text === false ? null : (float) $text;
    }
}
