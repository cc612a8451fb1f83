package io.fairlock;

import java.time.Duration;
import java.util.List;

/**
 * An error of a lock. The nested classes are those that a program may want to tell apart; any other
 * is about the connection, permissions or limits of the server, and has the exception of Lettuce or
 * Jedis as its cause. Each text names the keys.
 */
public class FairlockException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final transient List<String> keys;

  FairlockException(List<String> keys, String text, Throwable cause) {
    this(keys, ": ", text, cause);
  }

  private FairlockException(List<String> keys, String separator, String text, Throwable cause) {
    super("fairlock: " + (keys.isEmpty() ? "" : Explanation.Text.quoted(keys) + separator) + text,
        cause);
    this.keys = keys;
  }

  /** The keys that the error is about; empty if there are none. */
  public List<String> keys() {
    return keys == null ? List.of() : keys;
  }

  /** The lock was not granted: at once, or until the wait was over. */
  public static final class Denied extends FairlockException {

    private static final long serialVersionUID = 1;

    private final transient Explanation explanation;
    private final Duration waited;

    Denied(List<String> keys, Explanation explanation, Duration waited) {
      super(keys, " ", "not granted"
          + (waited.isZero() ? "" : " in " + Explanation.Text.rounded(waited)) + ": "
          + explanation, null);
      this.explanation = explanation;
      this.waited = waited;
    }

    /** Who holds the lock, and how long the wait may take. */
    public Explanation explanation() {
      return explanation;
    }

    /** How long the lock was waited for; zero if it was not. */
    public Duration waited() {
      return waited;
    }
  }

  /** The lock is no longer held, or this is not certain. */
  public static final class LostHold extends FairlockException {

    private static final long serialVersionUID = 1;

    LostHold(List<String> keys, String text) {
      super(keys, "the hold is lost: " + text, null);
    }
  }

  /** {@code CANCEL}, {@code CLIENT UNBLOCK} or a newer request of the same owner ended the wait. */
  public static final class WaitEnded extends FairlockException {

    private static final long serialVersionUID = 1;

    WaitEnded(List<String> keys, String text) {
      super(keys, "another request ended the wait: " + text, null);
    }
  }

  /**
   * The wait would never end. The text names the owners that wait for each other, or the hold of
   * the same thread.
   */
  public static final class Deadlock extends FairlockException {

    private static final long serialVersionUID = 1;

    Deadlock(List<String> keys, String text) {
      super(keys, "deadlock: " + text, null);
    }
  }

  /** The server does not know {@code LOCK}. It may be Redis. */
  public static final class NotFairlock extends FairlockException {

    private static final long serialVersionUID = 1;

    NotFairlock(List<String> keys, Throwable cause) {
      super(keys, "the server is not fairlock, it may be Redis: " + cause.getMessage(), cause);
    }
  }

  /**
   * The server belongs to a fleet of several partitions, which needs a client made with
   * {@link FairlockClient.Builder#cluster}.
   */
  public static final class NeedsCluster extends FairlockException {

    private static final long serialVersionUID = 1;

    NeedsCluster(Throwable cause) {
      super(List.of(), "a fleet of several partitions needs a client with cluster(): "
          + cause.getMessage(), cause);
    }
  }
}
