<?php

declare(strict_types=1);

namespace Fairlock\Internal;

use Fairlock\ConnectionLost;
use Fairlock\Denied;
use Fairlock\FairlockException;
use Fairlock\ServerError;

/**
 * Asks for a lock until it is granted or denied, or the wait is over. While the server cannot be
 * reached, it asks again as the same owner, who keeps its place in the queue.
 *
 * @internal
 */
final class Acquisition
{
    /** The server ends a wait itself. Only after this time more, its reply counts as lost. */
    private const GRACE_SECONDS = 2.0;
    private const WAIT_SECONDS_MIN = 0.001;
    /**
     * A grant that arrives later than this part of the lease after its request is confirmed by
     * RENEW, from which the lease then counts: the time of the grant itself is not known here.
     */
    private const LATE_PART = 0.1;
    /** For giving up what an interrupted request may have got. */
    private const ABANDON_SECONDS = 5.0;
    private const LAST_SECONDS = 1.0;
    /** A server that has answered the release has long answered the request before it. */
    private const ANSWER_SECONDS = 0.5;

    private float $giveUpAt;
    private bool $wasSent = false;

    /** @param float|null $wait seconds; null for a wait without end, 0 for none */
    public function __construct(
        private readonly Fleet $fleet,
        private readonly Terms $terms,
        private readonly string $owner,
        private readonly ?float $wait,
    ) {
        $this->giveUpAt = $wait === null ? INF : Clock::now() + $wait;
    }

    /**
     * Takes the lock, and makes a hold of the grant. If anything ends the acquisition, such as an
     * exception from the handler of a signal, it releases what its requests may have got.
     *
     * @template T
     *
     * @param \Closure(Grant): T $make
     *
     * @return T
     *
     * @throws FairlockException
     */
    public function run(\Closure $make): mixed
    {
        return Signals::deferred(function () use ($make): mixed {
            try {
                return $make($this->repeat());
            } catch (\Throwable $error) {
                if ($this->wasSent && Failures::mayLeaveSomething($error)) {
                    $isSilent = $error instanceof FairlockException;
                    Signals::deferred(fn () => $this->abandon($isSilent), quiet: true);
                }
                throw $error;
            }
        });
    }

    private function repeat(): Grant
    {
        $pauses = new Pauses();
        while (true) {
            try {
                return $this->request();
            } catch (ConnectionLost | ServerError $error) {
                $left = $this->left();
                if ($left <= 0 || !Failures::isTemporary($error)) {
                    throw Failures::translated($error, $this->terms);
                }
                $pauses->pause($left);
            }
        }
    }

    private function left(): float
    {
        return max(0.0, $this->giveUpAt - Clock::now());
    }

    private function request(): Grant
    {
        $wait = $this->wait === null ? null : $this->left();
        if ($this->wait > 0) {
            $wait = max($wait, self::WAIT_SECONDS_MIN);
        }
        // A token is read in less time than a map. A wait seldom ends without one.
        $explains = $wait === 0.0 || $this->terms->maxWaiters !== null;
        $answer = $this->ask($this->terms->lock($this->owner, $wait, $explains));
        if ($explains) {
            return $this->decide($answer, false);
        }
        if ($answer->reply !== null) {
            return $this->confirm((int) $answer->reply, $answer->sentAt);
        }
        // Nil does not name the holders, so it asks once more, without waiting.
        return $this->decide($this->ask($this->terms->lock($this->owner, 0.0)), true);
    }

    private function decide(Answer $answer, bool $hasWaited): Grant
    {
        $explanation = Replies::explanation($answer->reply, $this->terms);
        if ($explanation->token !== null && $explanation->status !== 'denied') {
            return $this->confirm($explanation->token, $answer->sentAt);
        }
        throw new Denied(
            $hasWaited ? $explanation->afterTimeout() : $explanation,
            $this->terms->keys,
            $this->wait,
        );
    }

    private function confirm(int $token, float $sentAt): Grant
    {
        $lease = $this->terms->lease;
        if (Clock::now() - $sentAt <= $lease * self::LATE_PART) {
            return new Grant($token, $sentAt);
        }
        $answer = $this->ask($this->terms->renew($this->owner, $token, $lease));
        if ($answer->reply !== 1) {
            throw new ConnectionLost('the lease ended before its grant was confirmed', true);
        }
        return new Grant($token, $answer->sentAt);
    }

    /** @param list<string> $words */
    private function ask(array $words): Answer
    {
        $seconds = $this->left() + self::GRACE_SECONDS;
        try {
            $key = $this->terms->serverKeys[0];
            $answer = $this->fleet->ask($words, $key, $this->terms->database, $seconds);
            $this->wasSent = true;
            return $answer;
        } catch (ConnectionLost $error) {
            $this->wasSent = $this->wasSent || $error->wasSent;
            throw $error;
        } catch (\Throwable $error) {
            $this->wasSent = true;
            throw $error;
        }
    }

    /**
     * Releases what a request may have got: a place in the queue, or a hold. The release uses
     * another connection than an interrupted request, and may overtake it. So it is repeated once
     * that request has been answered.
     *
     * @param bool $isSilent whether the server could not be reached until the end of the wait; then
     *                       a single attempt must do
     */
    private function abandon(bool $isSilent): void
    {
        $words = $this->terms->unlock($this->owner);
        $key = $this->terms->serverKeys[0];
        $giveUpAt = Clock::now() + ($isSilent ? 0.0 : self::ABANDON_SECONDS);
        $seconds = $isSilent ? self::LAST_SECONDS : self::ABANDON_SECONDS;
        $pauses = new Pauses();
        while (true) {
            try {
                $this->fleet->ask($words, $key, $this->terms->database, $seconds);
                if (!$this->fleet->settle(self::ANSWER_SECONDS)) {
                    return;
                }
            } catch (ConnectionLost | ServerError $error) {
                if (!Failures::isTemporary($error) || Clock::now() >= $giveUpAt) {
                    return;
                }
                $pauses->pause();
            }
        }
    }
}
