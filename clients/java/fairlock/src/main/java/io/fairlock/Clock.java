package io.fairlock;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A monotonic clock in nanoseconds which, unlike {@link System#nanoTime}, also runs while the
 * machine sleeps, as the server's clock does. All threads may read it.
 */
final class Clock {

  static final long MILLISECOND = 1_000_000;

  // If the time of day is ahead by this much, the machine may have slept.
  private static final long JUMP = 100 * MILLISECOND;
  private static final long UNIT = 10 * MILLISECOND;
  private static final Path UPTIME = Path.of("/proc/uptime");

  // The time of day, less that of nanoTime, when the two were last compared with the time since
  // boot.
  private static volatile long lead = lead();
  private static volatile long slept;
  private static final long BOOT = sinceBoot() - System.nanoTime();

  private Clock() {}

  static long now() {
    if (Math.abs(lead() - lead) > JUMP) {
      compare();
    }
    return System.nanoTime() + slept;
  }

  private static long lead() {
    return System.currentTimeMillis() * MILLISECOND - System.nanoTime();
  }

  /**
   * Only the time since boot tells sleep from a clock that was set. Without it, the difference
   * counts as sleep.
   */
  private static synchronized void compare() {
    long ahead = lead();
    long before = System.nanoTime(); // Too much sleep is safer than too little.
    long boot = sinceBoot();
    long found = boot == 0 ? slept + (ahead - lead) : boot + UNIT - before - BOOT;
    slept = Math.max(slept, found);
    lead = ahead;
  }

  /** Returns 0 if the system does not know it; rounds down to UNIT. */
  private static long sinceBoot() {
    try {
      String text = Files.readString(UPTIME);
      return (long) (Double.parseDouble(text.substring(0, text.indexOf(' '))) * 1e9);
    } catch (IOException | RuntimeException e) {
      return 0;
    }
  }
}
