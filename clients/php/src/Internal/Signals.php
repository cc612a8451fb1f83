<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * Puts off handlers of signals, which may throw, to moments at which nothing is half done.
 *
 * A program with pcntl_async_signals(true) has its handlers called between any two steps of its
 * code. During a call of deferred(), they are called only where the library waits, unless the call
 * is `quiet`, and at the end.
 *
 * @internal
 */
final class Signals
{
    /** So often a wait looks for signals that arrived just before it began. */
    private const POLL_SECONDS = 0.25;

    private static bool $isDeferred = false;
    private static bool $isQuiet = false;

    /**
     * Calls a function, and returns its result.
     *
     * @template T
     *
     * @param \Closure(): T $call
     * @param bool          $quiet whether no handler may interrupt it; then it is called even if
     *                             one throws just before
     *
     * @return T
     */
    public static function deferred(\Closure $call, bool $quiet = false): mixed
    {
        $before = self::$isQuiet;
        try {
            self::$isQuiet = $before || $quiet;
            return self::$isDeferred ? $call() : self::outermost($call, $quiet);
        } finally {
            self::$isQuiet = $before;
        }
    }

    private static function outermost(\Closure $call, bool $quiet): mixed
    {
        if (!function_exists('pcntl_async_signals') || !pcntl_async_signals()) {
            return $call();
        }
        $early = null;
        try {
            try {
                // The handlers of signals that have arrived are called at the end of this call.
                pcntl_async_signals(false);
            } catch (\Throwable $early) {
                $quiet || throw $early;
            }
            self::$isDeferred = true;
            $result = $call();
        } finally {
            self::$isDeferred = false;
            pcntl_async_signals(true);
            pcntl_signal_dispatch();
        }
        return $early === null ? $result : throw $early;
    }

    /** Calls the handlers of the signals that have arrived, if this is a moment for them. */
    public static function handle(): void
    {
        if (self::$isDeferred && !self::$isQuiet) {
            pcntl_signal_dispatch();
        }
    }

    /** Returns for how many seconds a wait may last before it calls handle() again. */
    public static function limit(float $seconds): float
    {
        return self::$isDeferred ? min($seconds, self::POLL_SECONDS) : $seconds;
    }
}
