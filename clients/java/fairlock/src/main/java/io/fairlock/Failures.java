package io.fairlock;

import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import javax.net.ssl.SSLException;

/** What the errors of requests mean. */
final class Failures {

  private static final List<String> TEMPORARY =
      List.of("CLUSTERDOWN ", "LOADING ", "NOQUORUM ", "TRYAGAIN ", "READONLY ", "MASTERDOWN ");
  // A channel has none while its connection is re-established.
  private static final String NO_SUBSCRIBER = "has no subscriber";

  // The exceptions of the transports that are error replies of a server.
  private static final List<Class<? extends Throwable>> REPLIES = new CopyOnWriteArrayList<>();

  private Failures() {}

  /** Called by each transport in use, once: nothing else here knows the classes of its library. */
  static void addReplies(Class<? extends Throwable> replies) {
    REPLIES.add(replies);
  }

  /** An error of this library that is worth asking again. */
  static final class Again extends RuntimeException {

    private static final long serialVersionUID = 1;

    Again(String text) {
      super(text, null, false, false);
    }
  }

  /** A connection that was opened is closed: its next request may succeed at once on a new one. */
  static final class Cut extends RuntimeException {

    private static final long serialVersionUID = 1;

    Cut(String text, Throwable cause) {
      super(text, cause, false, false);
    }
  }

  /** The client is closed. */
  static final class Closed extends RuntimeException {

    private static final long serialVersionUID = 1;

    Closed() {
      super("the client is closed", null, false, false);
    }
  }

  /** Returns the error itself, without what futures wrap around it. */
  static Throwable bare(Throwable failure) {
    Throwable it = failure;
    while ((it instanceof CompletionException || it instanceof ExecutionException)
        && it.getCause() != null) {
      it = it.getCause();
    }
    return it;
  }

  /** Returns the text of the error reply of a server, or null if there was none. */
  static String replyOf(Throwable failure) {
    for (Throwable it = failure; it != null; it = it.getCause()) {
      Throwable one = it;
      if (REPLIES.stream().anyMatch(replies -> replies.isInstance(one))) {
        return String.valueOf(it.getMessage());
      }
    }
    return null;
  }

  /** Whether the same request may succeed later: the server is restarting, or fails over. */
  static boolean isTemporary(Throwable failure) {
    Throwable it = bare(failure);
    if (it instanceof Closed || it instanceof FairlockException
        || it instanceof CancellationException || it instanceof Error) {
      return false;
    }
    String reply = replyOf(it);
    if (reply != null) {
      return TEMPORARY.stream().anyMatch(reply::contains) || isWithoutSubscriber(it);
    }
    return !isRefusedByTls(it);
  }

  /**
   * An alert or a certificate, rather than a connection that was closed meanwhile, perhaps during
   * the handshake: then another error of the connection is the cause.
   */
  private static boolean isRefusedByTls(Throwable failure) {
    boolean isRefused = false;
    for (Throwable it = failure; it != null; it = it.getCause()) {
      if (it instanceof SSLException) {
        String text = String.valueOf(it.getMessage()).toLowerCase(Locale.ROOT);
        isRefused |= !text.contains("closed") && !text.contains("timed out");
      } else if (it instanceof IOException) {
        return false;
      }
    }
    return isRefused;
  }

  static boolean isWithoutSubscriber(Throwable failure) {
    String reply = replyOf(bare(failure));
    return reply != null && reply.contains(NO_SUBSCRIBER);
  }

  static boolean isMoved(Throwable failure) {
    String reply = replyOf(bare(failure));
    return reply != null && reply.startsWith("MOVED ");
  }

  /** Whether a request that failed may have left a place or a hold. */
  static boolean mayLeaveSomething(Throwable failure) {
    Throwable it = bare(failure);
    return it instanceof CancellationException || it instanceof Closed || isTemporary(it);
  }

  /** Returns the exception of this library, which names the keys. */
  static RuntimeException translated(List<String> keys, Throwable failure) {
    Throwable it = bare(failure);
    if (it instanceof CancellationException cancelled) {
      return cancelled;
    }
    if (it instanceof FairlockException ours && !(it instanceof FairlockException.NeedsCluster)) {
      return ours;
    }
    String reply = replyOf(it);
    if (reply != null) {
      String word = reply.split(" ", 2)[0];
      if (word.equals("DEADLOCK")) {
        return new FairlockException.Deadlock(keys, reply.substring(word.length()).strip());
      }
      if (List.of("SUPERSEDED", "CANCELLED", "UNBLOCKED").contains(word)) {
        return new FairlockException.WaitEnded(keys, reply);
      }
      if (reply.toLowerCase(Locale.ROOT).contains("unknown command")) {
        return new FairlockException.NotFairlock(keys, it);
      }
    }
    if (it instanceof FairlockException ours) {
      return ours;
    }
    return new FairlockException(keys, textOf(it), it);
  }

  /** The message, and why: a transport tells in the cause what it was. */
  static String textOf(Throwable failure) {
    Throwable it = bare(failure);
    String text = it.getMessage() == null ? it.getClass().getSimpleName() : it.getMessage();
    for (Throwable cause = it.getCause(); cause != null; cause = cause.getCause()) {
      if (cause.getMessage() != null && !text.contains(cause.getMessage())) {
        text += ": " + cause.getMessage();
      }
    }
    return text;
  }

  /** Growing pauses between attempts. Clients that lost one server do not return all at once. */
  static final class Backoff {

    private static final long PAUSE_MIN = 50 * Clock.MILLISECOND;
    private static final long PAUSE_MAX = 1000 * Clock.MILLISECOND;

    private long last;
    private boolean wasCut;

    /** Returns nanoseconds. */
    long pause(Throwable failure) {
      if (bare(failure) instanceof Cut && !wasCut) {
        wasCut = true;
        return Clock.MILLISECOND;
      }
      last = last == 0 ? PAUSE_MIN : Math.min(PAUSE_MAX, 2 * last);
      return last / 2 + ThreadLocalRandom.current().nextLong(last / 2);
    }
  }
}
