<?php

declare(strict_types=1);

namespace Fairlock;

use Fairlock\Internal\Answer;
use Fairlock\Internal\Clock;
use Fairlock\Internal\Failures;
use Fairlock\Internal\Fleet;
use Fairlock\Internal\Grant;
use Fairlock\Internal\Pauses;
use Fairlock\Internal\Registry;
use Fairlock\Internal\Replies;
use Fairlock\Internal\Seconds;
use Fairlock\Internal\Signals;
use Fairlock\Internal\Terms;
use Fairlock\Internal\Text;

/**
 * A lock that is held. Nothing renews it in the background: call renew() or renewIfDue().
 *
 * The lease counts from the moment before the request that confirmed it was sent. So the hold never
 * says that it is held after the end of its lease, even in a process that was stopped and resumed.
 * When the object is destroyed, or the request of PHP ends, the lock is released, unless
 * `autoRelease` is false. In a child process that was forked meanwhile, nothing is sent.
 */
final class Hold
{
    /** A lease is due for renewal when this part of it is left. */
    private const RENEW_PART = 1 / 3;
    /** A request that is not answered is repeated for this time. */
    private const REPEAT_SECONDS = 5.0;
    /** The destructor must not take long. */
    private const DROP_SECONDS = 2.0;
    private const UNKNOWN = 'the server does not know it any more';

    private float $lease;
    private float $deadline;
    private int $process;
    private bool $isOver = false;
    private bool $isReleased = false;
    private ?string $heir = null;
    private ?string $lost = null;

    /**
     * @param bool                   $autoRelease whether the destructor releases the lock
     * @param \Closure(string): void $warn
     *
     * @internal
     */
    public function __construct(
        private readonly Fleet $fleet,
        private readonly Terms $terms,
        private readonly string $owner,
        private readonly Grant $grant,
        private readonly bool $autoRelease,
        private readonly \Closure $warn,
    ) {
        $this->lease = $terms->lease;
        $this->deadline = $grant->sentAt + $terms->lease;
        $this->process = (int) getmypid();
        Registry::add($this, $fleet);
    }

    public function __destruct()
    {
        try {
            $this->drop();
        } catch (\Throwable $error) {
            $this->drop(); // The handler of a signal may have thrown before it began.
            throw $error;
        }
    }

    /** A copy would release the lock a second time. */
    private function __clone()
    {
    }

    /** @throws \LogicException because a hold belongs to one process: see Client::resume() */
    public function __serialize(): array
    {
        throw new \LogicException('a hold cannot be serialized; pass its owner and its token on');
    }

    /**
     * Returns the keys that are held, without the prefix of the client.
     *
     * @return list<string>
     */
    public function keys(): array
    {
        return $this->terms->keys;
    }

    /** Returns the owner, as the server knows it. */
    public function owner(): string
    {
        return $this->owner;
    }

    /**
     * Returns the fencing token, which is to be sent with every write to what the lock protects.
     *
     * @throws LostHold like check()
     */
    public function token(): int
    {
        $this->check();
        return $this->grant->token;
    }

    /** Returns for how many seconds the lock is certainly held; 0.0 if it is not. */
    public function left(): float
    {
        return $this->isHeld() ? max(0.0, $this->deadline - Clock::now()) : 0.0;
    }

    /** Returns whether the lock is certainly held. Sends nothing. */
    public function isHeld(): bool
    {
        return $this->why() === null;
    }

    /**
     * Does nothing if the lock is certainly held. Sends nothing.
     *
     * @throws LostHold if the lock is lost or released, or its lease may have ended
     */
    public function check(): void
    {
        $why = $this->why();
        if ($why !== null) {
            throw new LostHold($this->terms->names() . " $why");
        }
    }

    /**
     * Renews the lease now. A renewal never makes it end earlier than before. While the server
     * cannot be reached, it asks again for 5 seconds, but not after the end of the lease.
     *
     * @param int|float|\DateInterval|null $lease its length from now on, in seconds: more than 0,
     *                                            up to a year; null if it stays the same
     *
     * @throws LostHold                  if the lock is not held any more
     * @throws ConnectionLost            if nobody answered; the old lease counts then
     * @throws ServerError               if the server refuses
     * @throws \InvalidArgumentException if the lease is out of bounds
     */
    public function renew(int|float|\DateInterval|null $lease = null): void
    {
        $seconds = $lease === null ? $this->lease : Seconds::of('lease', $lease, false);
        $this->check();
        Signals::deferred(fn () => $this->askRenewal($seconds));
        $this->check();
    }

    /**
     * Renews the lease if at most a third of it is left. Call it between the steps of long work.
     *
     * @return bool whether it was renewed
     *
     * @throws LostHold|ConnectionLost|ServerError like renew()
     */
    public function renewIfDue(): bool
    {
        $this->check();
        if ($this->deadline - Clock::now() > $this->lease * self::RENEW_PART) {
            return false;
        }
        $this->renew();
        return true;
    }

    /**
     * Releases the lock. While the server cannot be reached, it asks again for 5 seconds; after
     * that, the lease ends the hold.
     *
     * @return bool whether the lock was held until now; false if it had been released before
     */
    public function release(): bool
    {
        if (!$this->isOfThisProcess() || $this->isReleased) {
            return false;
        }
        return Signals::deferred(fn (): bool => $this->releaseUntil($this->repeatUntil()));
    }

    /**
     * Gives the lock to another owner, who gets its hold by asking for the lock. From the request
     * on, this hold is not held any more, unless the server refuses the transfer.
     *
     * @param int|float|\DateInterval|null $lease of the new hold, in seconds: more than 0, up to a
     *                                            year; null for the lease of this one
     *
     * @return int the token of the new owner
     *
     * @throws LostHold                  if the lock is not held any more
     * @throws ConnectionLost            if nobody answered; the hold is lost then
     * @throws ServerError               if the server refuses; the hold is what it was
     * @throws \InvalidArgumentException if the lease is out of bounds, or the hold has several keys
     */
    public function transfer(string $newOwner, int|float|\DateInterval|null $lease = null): int
    {
        $seconds = $lease === null ? $this->lease : Seconds::of('lease', $lease, false);
        $this->check();
        if (count($this->terms->keys) !== 1) {
            throw new \InvalidArgumentException('only a lock of one key can be transferred');
        }
        return Signals::deferred(fn (): int => $this->transferOnce($newOwner, $seconds));
    }

    /**
     * Ends the hold because nobody uses it any more: releases the lock if `autoRelease` is true.
     * Reports an error as a warning.
     *
     * @internal
     */
    public function drop(): void
    {
        if ($this->isReleased || !$this->autoRelease || !$this->isOfThisProcess()) {
            return;
        }
        Signals::deferred(function (): void {
            try {
                $this->releaseUntil(Clock::now() + self::DROP_SECONDS);
            } catch (\Throwable $error) {
                // A destructor must not throw in the middle of anything.
                ($this->warn)($this->terms->names() . ': dropping a hold: ' . $error->getMessage());
            }
        }, quiet: true);
    }

    /**
     * Releases the lock at the end of a block.
     *
     * @throws LostHold if it was lost during the block
     *
     * @internal
     */
    public function finish(): void
    {
        if ($this->isOfThisProcess() && !$this->isReleased && !$this->release()) {
            throw new LostHold($this->terms->names() . ' was lost before it was released');
        }
    }

    /**
     * Returns the key that a request with these terms cannot get while this hold lasts, or null.
     *
     * @internal
     */
    public function keyThatExcludes(Terms $wanted): ?string
    {
        $mine = $this->terms;
        $areCompatible = $mine->shared && $wanted->shared
            || ($mine->limit ?? 1) > 1 && ($wanted->limit ?? 1) > 1;
        if ($areCompatible || $mine->database !== $wanted->database) {
            return null;
        }
        foreach ($mine->serverKeys as $index => $key) {
            if (in_array($key, $wanted->serverKeys, true)) {
                return $mine->keys[$index];
            }
        }
        return null;
    }

    /** Returns why the lock is not certainly held, as the rest of a sentence; null if it is. */
    private function why(): ?string
    {
        if (!$this->isOfThisProcess()) {
            return 'is held by the parent of this process';
        }
        if ($this->isOver) {
            return 'was released';
        }
        if ($this->heir !== null) {
            $heir = Text::shown($this->heir);
            return "is being transferred to $heir, and may have been already";
        }
        if ($this->lost === null && Clock::now() >= $this->deadline) {
            $this->lost = "its lease of $this->lease s ended before it was renewed";
        }
        return $this->lost === null ? null : "is lost: $this->lost";
    }

    private function isOfThisProcess(): bool
    {
        return (int) getmypid() === $this->process;
    }

    private function lose(string $reason): void
    {
        $this->lost ??= $reason;
    }

    private function end(): void
    {
        $this->isOver = true;
        $this->isReleased = true;
        Registry::remove($this);
    }

    private function repeatUntil(): float
    {
        return Clock::now() + self::REPEAT_SECONDS;
    }

    /** @param list<string> $words */
    private function ask(array $words, float $giveUpAt): Answer
    {
        $key = $this->terms->serverKeys[0];
        $seconds = $giveUpAt - Clock::now();
        return $this->fleet->ask($words, $key, $this->terms->database, $seconds);
    }

    /**
     * Asks again while the server cannot be reached, and the time is not over.
     *
     * @param list<string>  $words
     * @param \Closure|null $onFailure is called before each repetition
     */
    private function askUntil(array $words, float $giveUpAt, ?\Closure $onFailure = null): Answer
    {
        $pauses = new Pauses();
        while (true) {
            try {
                return $this->ask($words, $giveUpAt);
            } catch (ConnectionLost | ServerError $error) {
                if (!Failures::isTemporary($error) || Clock::now() >= $giveUpAt) {
                    throw Failures::translated($error, $this->terms);
                }
                $onFailure?->__invoke();
                $pauses->pause($giveUpAt - Clock::now());
            }
        }
    }

    private function askRenewal(float $lease): void
    {
        $words = $this->terms->renew($this->owner, $this->grant->token, $lease);
        $answer = $this->askUntil($words, min($this->deadline, $this->repeatUntil()));
        if ($answer->reply !== 1) {
            $this->lose(self::UNKNOWN);
        } else {
            $this->deadline = max($this->deadline, $answer->sentAt + $lease);
        }
        $this->lease = $lease;
    }

    private function transferOnce(string $newOwner, float $lease): int
    {
        $this->heir = $newOwner;
        $token = null;
        try {
            $token = $this->askTransfer($newOwner, $lease);
        } finally {
            if ($token === null && $this->heir !== null) {
                $heir = Text::shown($newOwner);
                $this->lose("the server has not confirmed its transfer to $heir");
            }
            $this->heir = null;
        }
        if ($token === null) {
            $this->check();
            throw new LostHold($this->terms->names() . ' is lost: ' . self::UNKNOWN);
        }
        $this->end();
        return $token;
    }

    private function releaseUntil(float $giveUpAt): bool
    {
        $wasHeld = $this->why() === null;
        // A release that an exception interrupted may have been executed.
        $isRepeated = $this->isOver;
        $this->isOver = true;
        $words = $this->terms->unlock($this->owner, $this->grant->token);
        try {
            $answer = $this->askUntil($words, $giveUpAt, function () use (&$isRepeated): void {
                $isRepeated = true;
            });
            $this->end();
            // The first of two requests may have been executed although its reply was lost.
            return $wasHeld && ($isRepeated || $answer->reply === count($this->terms->keys));
        } catch (FairlockException $error) {
            $this->end();
            ($this->warn)('releasing ' . $error->getMessage());
            return $wasHeld;
        }
    }

    /**
     * Asks again while the server cannot be reached: the token in the request lets only one of the
     * requests succeed. Returns null if none did.
     */
    private function askTransfer(string $newOwner, float $lease): ?int
    {
        $token = $this->grant->token;
        $words = $this->terms->transfer($this->owner, $token, $newOwner, $lease);
        $giveUpAt = min($this->deadline, $this->repeatUntil());
        $isRepeated = false;
        try {
            $answer = $this->askUntil($words, $giveUpAt, function () use (&$isRepeated): void {
                $isRepeated = true;
            });
        } catch (FairlockException $error) {
            if (!$isRepeated && !Failures::isTemporary($error)) {
                $this->heir = null; // The server did not execute it, so the hold is what it was.
            }
            throw $error;
        }
        if ($answer->reply !== null) {
            return (int) $answer->reply;
        }
        $found = $isRepeated ? $this->tokenOf($newOwner, $giveUpAt) : null;
        if ($found === null) {
            $this->lose(self::UNKNOWN);
        }
        return $found;
    }

    /**
     * Returns the token that an earlier request has given to the new owner: while the lease lasts,
     * nothing else can have.
     */
    private function tokenOf(string $newOwner, float $giveUpAt): ?int
    {
        $answer = $this->askUntil(['LOCKINFO', $this->terms->serverKeys[0]], $giveUpAt);
        foreach (Replies::holders(Replies::fields($answer->reply)['holders'] ?? []) as $holder) {
            $isLater = $holder->token > $this->grant->token;
            if ($holder->owner === $newOwner && $isLater && Clock::now() < $this->deadline) {
                return $holder->token;
            }
        }
        return null;
    }
}
