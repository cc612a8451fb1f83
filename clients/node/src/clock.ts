// The clock from which leases are counted.

import os from "node:os";

// os.uptime() has a resolution of 10 ms; a shorter difference is no sleep.
const SLEEP_MS_MIN = 100;
// The date is adjusted in small steps; a larger difference may be a sleep.
const DATE_MS_MIN = SLEEP_MS_MIN / 2;

/**
 * A monotonic clock that also counts the time during which the machine slept, as the server's does.
 * `uptimeMs` counts that time, but coarsely, and is slow to read; `monotonicMs` does not count it.
 * `dateMs` is fast, but may also be set by hand, so it only says when to read the uptime.
 */
export class SleepingClock {
  readonly #uptimeOffsetMs: number;
  #dateOffsetMs: number;
  #asleepMs = 0;

  constructor(
    private readonly monotonicMs: () => number,
    private readonly uptimeMs: () => number,
    private readonly dateMs: () => number,
  ) {
    this.#uptimeOffsetMs = uptimeMs() - monotonicMs();
    this.#dateOffsetMs = dateMs() - monotonicMs();
  }

  now(): number {
    const monotonic = this.monotonicMs();
    const dateOffset = this.dateMs() - monotonic;
    if (Math.abs(dateOffset - this.#dateOffsetMs) > DATE_MS_MIN) {
      this.#dateOffsetMs = dateOffset;
      const asleep = this.uptimeMs() - monotonic - this.#uptimeOffsetMs;
      if (asleep > this.#asleepMs + SLEEP_MS_MIN) this.#asleepMs = asleep;
    }
    return monotonic + this.#asleepMs;
  }
}

const monotonicMs = (): number => performance.now();
// Elsewhere, the uptime follows changes of the date, and the monotonic clock counts sleep.
const uptimeMs = process.platform === "linux" ? (): number => os.uptime() * 1000 : monotonicMs;
const clock = new SleepingClock(monotonicMs, uptimeMs, Date.now);

/** The monotonic time in milliseconds, to be compared with `hold.deadline`. */
export function now(): number {
  return clock.now();
}
