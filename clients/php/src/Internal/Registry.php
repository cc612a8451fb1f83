<?php

declare(strict_types=1);

namespace Fairlock\Internal;

use Fairlock\Deadlock;
use Fairlock\Hold;

/**
 * The holds of this process, for two purposes: a wait for a lock that the process itself holds is
 * refused, and after a fatal error, when PHP calls no destructors, the holds are released.
 *
 * @internal
 */
final class Registry
{
    private const FATAL =
        E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR | E_PARSE;

    /** @var \WeakMap<Hold, Fleet>|null */
    private static ?\WeakMap $holds = null;

    /** Adds a hold. Whoever forgets the object removes it. */
    public static function add(Hold $hold, Fleet $fleet): void
    {
        if (self::$holds === null) {
            self::$holds = new \WeakMap();
            register_shutdown_function(self::onShutdown(...));
        }
        self::$holds[$hold] = $fleet;
    }

    /** Removes a hold that is over. */
    public static function remove(Hold $hold): void
    {
        if (self::$holds !== null) {
            unset(self::$holds[$hold]);
        }
    }

    /**
     * Refuses a wait that only the waiting process itself could end.
     *
     * @throws Deadlock
     */
    public static function refuseNested(Fleet $fleet, Terms $terms): void
    {
        /** @var Hold $hold */
        foreach (self::$holds ?? [] as $hold => $place) {
            if ($place !== $fleet || !$hold->isHeld()) {
                continue;
            }
            $key = $hold->keyThatExcludes($terms);
            if ($key !== null) {
                throw new Deadlock(sprintf(
                    '%s is held by this process already, as %s with token %d: the wait would never '
                    . 'end. If another owner is meant, give each acquisition an owner',
                    Text::shown($key),
                    Text::shown($hold->owner()),
                    $hold->token(),
                ));
            }
        }
    }

    private static function onShutdown(): void
    {
        if (((error_get_last()['type'] ?? 0) & self::FATAL) === 0) {
            return;
        }
        // After the functions that the program has registered, which may use the holds.
        register_shutdown_function(static function (): void {
            foreach (self::$holds ?? [] as $hold => $fleet) {
                $hold->drop();
            }
        });
    }
}
