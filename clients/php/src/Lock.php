<?php

declare(strict_types=1);

namespace Fairlock;

use Fairlock\Internal\Acquisition;
use Fairlock\Internal\Fleet;
use Fairlock\Internal\Grant;
use Fairlock\Internal\Registry;
use Fairlock\Internal\Terms;
use Fairlock\Internal\Text;

/** A lock to be taken, made by Client::lock(). It may be taken again and again. */
final class Lock
{
    /**
     * @param float|null             $wait  seconds; null for a wait without end
     * @param \Closure(string): void $warn
     *
     * @internal
     */
    public function __construct(
        private readonly Fleet $fleet,
        private readonly Terms $terms,
        private readonly ?float $wait,
        private readonly ?string $owner,
        private readonly bool $autoRelease,
        private readonly \Closure $warn,
    ) {
    }

    /**
     * Takes the lock. While it waits, the process does nothing else, but handlers of signals run;
     * an exception from one of them gives up the place in the queue.
     *
     * @throws Denied         if it was not granted until the wait was over
     * @throws Deadlock       if the wait would never end
     * @throws WaitEnded      if another request ended the wait
     * @throws ConnectionLost if the server could not be reached until the wait was over
     * @throws NotFairlock    if the server is not fairlock
     * @throws ServerError    if the server refuses the request
     */
    public function acquire(): Hold
    {
        return $this->take($this->wait);
    }

    /**
     * Takes the lock if that is possible without waiting; otherwise returns null.
     *
     * @throws ConnectionLost|NotFairlock|ServerError like acquire()
     */
    public function tryAcquire(): ?Hold
    {
        try {
            return $this->take(0.0);
        } catch (Denied) {
            return null;
        }
    }

    /**
     * Takes the lock, calls `work` with the hold, and releases the lock.
     *
     * @template T
     *
     * @param callable(Hold): T $work
     *
     * @return T
     *
     * @throws LostHold if the lock was lost before `work` returned; its result is lost too
     * @throws Denied|Deadlock|WaitEnded|ConnectionLost|NotFairlock|ServerError like acquire()
     */
    public function with(callable $work): mixed
    {
        $hold = $this->acquire();
        try {
            $result = $work($hold);
        } catch (\Throwable $error) {
            $hold->release();
            throw $error;
        }
        $hold->finish();
        return $result;
    }

    private function take(?float $wait): Hold
    {
        if ($wait !== 0.0 && $this->owner === null) {
            Registry::refuseNested($this->fleet, $this->terms);
        }
        $owner = $this->owner ?? Text::newOwner();
        $acquisition = new Acquisition($this->fleet, $this->terms, $owner, $wait);
        return $acquisition->run(fn (Grant $grant): Hold => new Hold(
            $this->fleet,
            $this->terms,
            $owner,
            $grant,
            $this->autoRelease,
            $this->warn,
        ));
    }
}
