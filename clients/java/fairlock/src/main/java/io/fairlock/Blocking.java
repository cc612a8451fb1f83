package io.fairlock;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Lets a thread that waits for a future read the replies itself, where otherwise a thread of the
 * transport would have to wake it. A transport that reads with threads asks for it by promise.
 */
final class Blocking {

  /** A connection with replies that somebody has to read. */
  interface Replies {

    /** Reads until the future is done, no reply is due, or another thread reads. */
    void readUntil(CompletableFuture<?> done);
  }

  // What this thread has sent requests to, and will read from. Null if it does not block.
  private static final ThreadLocal<List<Replies>> SENT = new ThreadLocal<>();

  private Blocking() {}

  /** Calls, and reads what is due; the future may still be pending. */
  static <T> CompletableFuture<T> call(Supplier<CompletableFuture<T>> call) {
    List<Replies> outer = SENT.get();
    List<Replies> sent = new ArrayList<>(1);
    SENT.set(sent);
    try {
      CompletableFuture<T> future = call.get();
      while (!sent.isEmpty() && !future.isDone()) {
        sent.remove(sent.size() - 1).readUntil(future);
      }
      return future;
    } finally {
      SENT.set(outer);
      for (Replies it : sent) {
        it.readUntil(CompletableFuture.completedFuture(null)); // Leaves the rest to others.
      }
    }
  }

  /** Returns whether this thread promises to read the reply to the request that it sends. */
  static boolean promise(Replies from) {
    List<Replies> sent = SENT.get();
    if (sent == null) {
      return false;
    }
    if (!sent.contains(from)) {
      sent.add(from);
    }
    return true;
  }
}
