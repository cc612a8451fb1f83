<?php

declare(strict_types=1);

namespace Fairlock\Internal;

use Fairlock\ConnectionLost;
use Fairlock\Deadlock;
use Fairlock\FairlockException;
use Fairlock\NotFairlock;
use Fairlock\ServerError;
use Fairlock\WaitEnded;

/**
 * Which failures are worth asking again, and which exceptions the others become.
 *
 * @internal
 */
final class Failures
{
    /** Returns whether the same request may succeed later: a restart, or a fail-over. */
    public static function isTemporary(\Throwable $error): bool
    {
        return $error instanceof ConnectionLost
            ? !$error->isRefusal
            : $error instanceof ServerError && $error->isTemporary();
    }

    /** Returns whether a request that ended with this may have left a place or a hold. */
    public static function mayLeaveSomething(\Throwable $error): bool
    {
        return !$error instanceof FairlockException || self::isTemporary($error);
    }

    /** Returns the exception for a program, whose text begins with the keys. */
    public static function translated(
        ConnectionLost|ServerError $error,
        Terms $terms,
    ): FairlockException {
        $names = $terms->names();
        if ($error instanceof ConnectionLost) {
            $text = $error->getMessage();
            return new ConnectionLost("$names: $text", $error->wasSent, $error->isRefusal);
        }
        [$word, $text] = explode(' ', $error->reply, 2) + ['', ''];
        switch ($word) {
            case 'DEADLOCK':
                return new Deadlock("$names: " . $terms->withoutPrefix($text));
            case 'SUPERSEDED':
            case 'CANCELLED':
            case 'UNBLOCKED':
                return new WaitEnded("$names: $error->reply");
            default:
                if (stripos($error->reply, 'unknown command') === false) {
                    return new ServerError($error->reply, $names);
                }
                return new NotFairlock(
                    "$names: the server is not fairlock, it may be Redis: $error->reply",
                );
        }
    }
}
