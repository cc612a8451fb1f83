// The clock from which leases are counted.

import os from "node:os";

// os.uptime() has a resolution of 10 ms; a shorter difference is no sleep.
const SLEEP_MS_MIN = 100;

/**
 * A monotonic clock that also counts the time during which the machine slept, as the server's clock
 * does. `uptimeMs` counts that time, but coarsely; `monotonicMs` does not count it.
 */
export class SleepingClock {
  readonly #offsetMs: number;
  #asleepMs = 0;

  constructor(
    private readonly monotonicMs: () => number,
    private readonly uptimeMs: () => number,
  ) {
    this.#offsetMs = uptimeMs() - monotonicMs();
  }

  now(): number {
    const monotonic = this.monotonicMs();
    const asleep = this.uptimeMs() - monotonic - this.#offsetMs;
    if (asleep > this.#asleepMs + SLEEP_MS_MIN) this.#asleepMs = asleep;
    return monotonic + this.#asleepMs;
  }
}

const monotonicMs = (): number => performance.now();
// Elsewhere, the uptime follows changes of the date, and the monotonic clock counts sleep.
const uptimeMs = process.platform === "linux" ? (): number => os.uptime() * 1000 : monotonicMs;
const clock = new SleepingClock(monotonicMs, uptimeMs);

/** The monotonic time in milliseconds, to be compared with `hold.deadline`. */
export function now(): number {
  return clock.now();
}
