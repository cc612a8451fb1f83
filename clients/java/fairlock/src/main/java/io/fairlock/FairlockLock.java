package io.fairlock;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A lock of the server as a {@link Lock}: a thread that has it may take it again, and releases it
 * as often. {@link LockOptions#waitAtMost} and {@link LockOptions#owner} do not count here. A lost
 * lock is reported by {@link #hold} and, with {@link FairlockException.LostHold}, by the last
 * unlock. All threads may use it.
 */
public final class FairlockLock implements Lock {

  private final FairlockClient client;
  private final Threads threads;
  private final List<String> keys;
  private final LockOptions options;

  FairlockLock(FairlockClient client, Threads threads, List<String> keys, LockOptions options) {
    this.client = client;
    this.threads = threads;
    this.keys = keys;
    this.options = options;
  }

  /** What the threads of a client have. Only its own thread uses an entry. */
  static final class Threads {

    private static final class Entry {
      final Hold hold;
      int count = 1;

      Entry(Hold hold) {
        this.hold = hold;
      }
    }

    private final ThreadLocal<Map<List<String>, Entry>> entries =
        ThreadLocal.withInitial(HashMap::new);
  }

  private interface Taking<E extends Exception> {

    Optional<Hold> take() throws E;
  }

  /** Takes it again, or for the first time. A lost hold does not count. */
  private <E extends Exception> boolean take(Taking<E> first) throws E {
    Map<List<String>, Threads.Entry> mine = threads.entries.get();
    Threads.Entry entry = mine.get(keys);
    if (entry != null) {
      entry.hold.check();
      entry.count++;
      return true;
    }
    Optional<Hold> hold = first.take();
    hold.ifPresent(it -> mine.put(keys, new Threads.Entry(it)));
    return hold.isPresent();
  }

  /**
   * Waits without an end, and cannot be interrupted.
   *
   * @throws FairlockException if the server cannot be asked, or if this thread's lock is lost
   */
  @Override
  public void lock() {
    take(() -> Optional.of(client.lockUninterruptibly(keys, anonymous(null))));
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    take(() -> Optional.of(client.lock(keys.get(0), anonymous(null))));
  }

  /** Takes it only if it is free, and nobody waits for it. */
  @Override
  public boolean tryLock() {
    return take(() -> client.tryLock(keys.get(0), anonymous(0L)));
  }

  /** Waits in the queue for at most this time. A time of 0 or less does not wait. */
  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    long nanos = Math.min(unit.toNanos(time), LockOptions.TIME_MAX.toNanos());
    return take(() -> nanos <= 0 ? client.tryLock(keys.get(0), anonymous(0L)) : takeWithin(nanos));
  }

  private Optional<Hold> takeWithin(long nanos) throws InterruptedException {
    try {
      return Optional.of(client.lock(keys.get(0),
          anonymous(Math.max(nanos, Clock.MILLISECOND))));
    } catch (FairlockException.Denied e) {
      return Optional.empty();
    }
  }

  private LockOptions anonymous(Long wait) {
    return options.forThread(wait);
  }

  /**
   * Releases it once.
   *
   * @throws IllegalMonitorStateException if this thread does not have it
   * @throws FairlockException.LostHold at the last release, if it was not held until now
   */
  @Override
  public void unlock() {
    Map<List<String>, Threads.Entry> mine = threads.entries.get();
    Threads.Entry entry = mine.get(keys);
    if (entry == null) {
      throw new IllegalMonitorStateException(
          "fairlock: this thread does not have " + Explanation.Text.quoted(keys));
    }
    entry.count--;
    if (entry.count == 0) {
      mine.remove(keys);
      entry.hold.unlock();
    }
  }

  /** Whether this thread has it, and certainly holds it. */
  public boolean isHeldByCurrentThread() {
    Threads.Entry entry = threads.entries.get().get(keys);
    return entry != null && entry.hold.isHeld();
  }

  /**
   * The hold of this thread, for its token. Its lock is released by {@link #unlock}.
   *
   * @throws IllegalMonitorStateException if this thread does not have it
   */
  public Hold hold() {
    Threads.Entry entry = threads.entries.get().get(keys);
    if (entry == null) {
      throw new IllegalMonitorStateException(
          "fairlock: this thread does not have " + Explanation.Text.quoted(keys));
    }
    return entry.hold;
  }

  /** Not supported. */
  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("fairlock: a lock of the server has no conditions");
  }

  @Override
  public String toString() {
    return "FairlockLock[" + Explanation.Text.quoted(keys) + "]";
  }
}
