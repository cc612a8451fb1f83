package io.fairlock;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/**
 * A lock that is held, for a try-with-resources statement. Its lease is renewed until it is
 * released, or until the program does not refer to this object any more: then a warning is logged,
 * and the lease ends the hold. All threads may use it.
 *
 * <p>Blocking methods are not interrupted: each ends after its request, or after repeating it for 5
 * s while the server cannot be reached. Futures end in the executor of the client. Each exception
 * is a {@link FairlockException}.
 */
public final class Hold implements AutoCloseable {

  private final Holding it;

  Hold(Holding it) {
    this.it = it;
  }

  /** The keys that are held. */
  public List<String> keys() {
    return it.keys;
  }

  /** The owner, as the server knows it. */
  public String owner() {
    return it.owner;
  }

  /**
   * The fencing token, to be sent with every write. It is greater than those of all earlier holds
   * of the key.
   *
   * @throws FairlockException.LostHold as {@link #check}
   */
  public long token() {
    it.check();
    return it.token;
  }

  /**
   * Sends nothing. Compares the time with the end of the lease, which counts from the moment at
   * which the last confirmed request was sent.
   *
   * @throws FairlockException.LostHold if the lock is lost or released, or if its lease may have
   *     ended
   */
  public void check() {
    it.check();
  }

  /** Whether {@link #check} would succeed. */
  public boolean isHeld() {
    return it.isHeld();
  }

  /**
   * The time for which the lease lasts at least, unless it is renewed. Negative if it may be over.
   */
  public Duration left() {
    return Duration.ofNanos(it.left());
  }

  /**
   * Renews the lease now.
   *
   * @throws FairlockException.LostHold if the lock is not held any more
   */
  public void renew() {
    await(() -> it.renew(null));
  }

  /**
   * Renews now, and with this lease from now on. A renewal never makes a lease end earlier.
   *
   * @param lease 1 ms to 365 days
   * @throws FairlockException.LostHold if the lock is not held any more
   */
  public void renew(Duration lease) {
    long nanos = LockOptions.checked("the lease", lease, false);
    await(() -> it.renew(nanos));
  }

  /** {@link #renew(Duration)} as a future; null for the present lease. */
  public CompletableFuture<Void> renewAsync(Duration lease) {
    Long nanos = lease == null ? null : (Long) LockOptions.checked("the lease", lease, false);
    return async(() -> it.renew(nanos));
  }

  /**
   * Releases the lock. If the server cannot be reached, the end of the lease ends the hold; that is
   * logged.
   *
   * @throws FairlockException.LostHold if the lock was not held until now, even if that is because
   *     it was released before
   */
  public void unlock() {
    await(it::release);
  }

  /** {@link #unlock} as a future. */
  public CompletableFuture<Void> unlockAsync() {
    return async(it::release);
  }

  /**
   * Releases the lock, unless it has been released or transferred already.
   *
   * @throws FairlockException.LostHold if the lock was lost meanwhile
   */
  @Override
  public void close() {
    if (!it.hasLeft()) {
      await(it::release);
    }
  }

  /**
   * Gives a lock of one key to another owner, which gets its own hold by a lock with {@link
   * LockOptions#owner}. Its lease is as long as the present one. From the request on, this hold is
   * not held any more, unless the server refuses the transfer.
   *
   * @return the new token
   * @throws FairlockException.LostHold if the lock is not held any more
   * @throws FairlockException if the server refuses; or if it does not answer for 5 s, and then the
   *     hold is lost
   */
  public long transfer(String newOwner) {
    return await(() -> transferred(newOwner, null));
  }

  /** {@link #transfer} as a future; the lease of the new owner, or null for the present one. */
  public CompletableFuture<Long> transferAsync(String newOwner, Duration lease) {
    Long nanos = lease == null ? null : (Long) LockOptions.checked("the lease", lease, false);
    return async(() -> transferred(newOwner, nanos));
  }

  private CompletableFuture<Long> transferred(String newOwner, Long lease) {
    if (it.keys.size() != 1) {
      throw new IllegalArgumentException("fairlock: only a lock of one key can be transferred");
    }
    if (newOwner == null || newOwner.isEmpty()) {
      throw new IllegalArgumentException("fairlock: the new owner must have a name");
    }
    return it.transfer(newOwner, lease);
  }

  Holding holding() {
    return it;
  }

  private <T> CompletableFuture<T> async(Supplier<CompletableFuture<T>> begin) {
    CompletableFuture<T> done;
    try {
      done = begin.get();
    } catch (FairlockException e) {
      done = CompletableFuture.failedFuture(e);
    }
    return done.whenCompleteAsync((value, failure) -> {}, it.executor());
  }

  /** Calls, and waits for what it begins. */
  static <T> T await(Supplier<CompletableFuture<T>> begin) {
    try {
      return Blocking.call(begin).join();
    } catch (CompletionException e) {
      throw thrown(e);
    }
  }

  /** The exception of a future, with the place where the program waited for it. */
  static RuntimeException thrown(Throwable failure) {
    Throwable bare = Failures.bare(failure);
    if (bare instanceof Error error) {
      throw error;
    }
    if (bare instanceof RuntimeException it) {
      it.addSuppressed(new Waiting());
      return it;
    }
    return new FairlockException(List.of(), Failures.textOf(bare), bare);
  }

  /** Has only a stack trace, that of the thread which got the exception of another thread. */
  private static final class Waiting extends RuntimeException {

    private static final long serialVersionUID = 1;

    Waiting() {
      super("thrown to");
    }
  }
}
