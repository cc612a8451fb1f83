package io.fairlock;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/**
 * What a lock is asked for. Immutable: each method returns a copy with one more option, so a set of
 * options can be a constant. All threads may use it.
 *
 * <p>Each time is 1 ms to 365 days, or, except for the lease, 0. A time outside these bounds is an
 * {@link IllegalArgumentException} at the call that names it.
 */
public final class LockOptions implements Cloneable {

  /** The longest time that the server accepts. */
  public static final Duration TIME_MAX = Duration.ofDays(365);

  private static final LockOptions DEFAULTS = new LockOptions();

  // In nanoseconds.
  long lease = Duration.ofSeconds(30).toNanos();
  Long wait; // null means no end
  long keep;
  long minHold;

  boolean renews = true;
  boolean isShared;
  boolean hearsLoss;
  Integer limit;
  Integer waitersMax;
  String owner;
  String meta;
  String label;
  List<String> moreKeys = List.of();
  Consumer<Hold> onLost;

  private LockOptions() {}

  /** An exclusive lock, with a lease of 30 s that renews itself, and a wait without an end. */
  public static LockOptions defaults() {
    return DEFAULTS;
  }

  /** {@link #defaults()} with {@link #waitAtMost}. */
  public static LockOptions waiting(Duration time) {
    return DEFAULTS.waitAtMost(time);
  }

  /**
   * The time after which the server passes the lock on if this process dies. The library renews the
   * lease each time a third of it is left. The default is 30 s.
   */
  public LockOptions lease(Duration time) {
    long nanos = checked("the lease", time, false);
    return with(it -> it.lease = nanos);
  }

  /** The time after which the lock is denied; 0 does not wait. Without it, a wait has no end. */
  public LockOptions waitAtMost(Duration time) {
    long nanos = checked("the wait", time, true);
    return with(it -> it.wait = nanos);
  }

  /** Lets the hold end with its lease. */
  public LockOptions withoutRenewal() {
    return with(it -> it.renews = false);
  }

  /**
   * Names the owner. By default, each acquisition has its own, made from the host, the process and
   * a random part. The same owner gets its hold again, under the same token; so executions that may
   * overlap need different owners.
   */
  public LockOptions owner(String name) {
    require(name != null && !name.isEmpty(), "the owner must have a name");
    return with(it -> it.owner = name);
  }

  /** Any number of shared holds, or one exclusive hold. Excludes {@link #limit}. */
  public LockOptions shared() {
    require(limit == null, "a lock is either shared or has a limit, got both");
    return with(it -> it.isShared = true);
  }

  /**
   * Asks for a semaphore with at most this many holds at a time, at least 1. Excludes {@link
   * #shared}.
   */
  public LockOptions limit(int holds) {
    require(holds >= 1, "the limit must be at least 1, got " + holds);
    require(!isShared, "a lock is either shared or has a limit, got both");
    return with(it -> it.limit = holds);
  }

  /** More keys: all are taken together, or none. */
  public LockOptions andKeys(String... keys) {
    List<String> more = List.of(keys);
    return with(it -> it.moreKeys = more);
  }

  /**
   * How long the place in the queue is kept for an owner that does not ask, for example while it
   * reconnects. When its turn comes, the lock is reserved for it.
   */
  public LockOptions keep(Duration time) {
    long nanos = checked("the time to keep a place", time, true);
    return with(it -> it.keep = nanos);
  }

  /** How long the key stays taken after the grant, even if it is released earlier. */
  public LockOptions minHold(Duration time) {
    long nanos = checked("the minimal hold", time, true);
    return with(it -> it.minHold = nanos);
  }

  /** Denies the lock instead of waiting if this many others wait already. At least 0. */
  public LockOptions maxWaiters(int waiters) {
    require(waiters >= 0, "the number of waiters must not be negative, got " + waiters);
    return with(it -> it.waitersMax = waiters);
  }

  /** A text that is shown to others with the owner. */
  public LockOptions meta(String text) {
    return with(it -> it.meta = text);
  }

  /** The kind of lock, for statistics. */
  public LockOptions label(String name) {
    return with(it -> it.label = name);
  }

  /**
   * Reports a lost hold at once, instead of at its next renewal, even if the lock was free. This
   * costs a subscription to the channel of the client, which all waits share.
   */
  public LockOptions hearLossAtOnce() {
    return with(it -> it.hearsLoss = true);
  }

  /** Called once if the hold is lost, by the executor of the client. */
  public LockOptions onLost(Consumer<Hold> call) {
    return with(it -> it.onLost = call);
  }

  boolean mayWait() {
    return wait == null || wait > 0;
  }

  /**
   * The options for the view of a thread. The wait is in nanoseconds, or null for one without an
   * end.
   */
  LockOptions forThread(Long nanos) {
    return with(it -> {
      it.wait = nanos;
      it.owner = null;
    });
  }

  private LockOptions with(Consumer<LockOptions> change) {
    try {
      LockOptions copy = (LockOptions) clone();
      change.accept(copy);
      return copy;
    } catch (CloneNotSupportedException e) {
      throw new AssertionError(e);
    }
  }

  /**
   * Returns nanoseconds. Refuses a time that cannot be intended, or that the server would refuse.
   */
  static long checked(String what, Duration time, boolean mayBeZero) {
    require(time != null, what + " must be a time, got null: leave the option out for the default");
    if (mayBeZero && time.isZero()) {
      return 0;
    }
    require(time.compareTo(Duration.ofMillis(1)) >= 0,
        what + " must be at least 1 ms, got " + time);
    require(time.compareTo(TIME_MAX) <= 0,
        what + " must be at most 365 days, got " + time
            + ": without the option, a wait has no end");
    return time.toNanos();
  }

  private static void require(boolean isTrue, String text) {
    if (!isTrue) {
      throw new IllegalArgumentException("fairlock: " + text);
    }
  }
}
