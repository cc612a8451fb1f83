package io.fairlock;

import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * One server, or that which Sentinel names, and the connection for requests to it: opened when it
 * is needed, shared by all, closed when it was idle for a minute. No transport reconnects or
 * repeats a request, after which nobody would know what its reply is about. All threads may call
 * it.
 */
abstract class Server {

  private static final long IDLE_MAX = 60_000 * Clock.MILLISECOND;

  /**
   * A reply - null, Long, byte[] or a flat List of these - and a time before its request was sent.
   */
  record Answer(Object reply, long sentAt) {}

  /** One thread that calls what is due; nothing that it calls may block. */
  interface Timers {

    /** Calls after so many nanoseconds. */
    ScheduledFuture<?> after(long nanos, Runnable call);
  }

  /** A connection of a channel. */
  interface Subscriber {

    /** The reply is the call of `subscribed`; the future only has an error. */
    CompletableFuture<Void> subscribe(String name);

    void unsubscribe(String name);

    CompletableFuture<Void> ping();

    void close();
  }

  private final Timers timers;
  private final long patience; // for a reply
  private final Set<CompletableFuture<Void>> closing = ConcurrentHashMap.newKeySet();
  private CompletableFuture<? extends Link> link;
  private boolean isClosed;

  /** The patience in nanoseconds. */
  Server(Timers timers, long patience) {
    this.timers = timers;
    this.patience = patience;
  }

  /** Connects and logs in. */
  abstract CompletableFuture<? extends Link> open();

  /** Opens a connection that only subscribes. Nothing that it calls may block. */
  abstract CompletableFuture<Subscriber> subscriber(BiConsumer<String, String> message,
      Consumer<String> subscribed, Consumer<Throwable> closed);

  /** Whether Sentinels name the server. */
  abstract boolean isNamed();

  /** Sends a command once. The server answers at once. */
  CompletableFuture<Answer> ask(List<String> words) {
    return link().thenCompose(it -> it.ask(words));
  }

  /** The leader may be another one by now, which only a new connection asks the Sentinels. */
  void doubt(Throwable failure) {
    CompletableFuture<? extends Link> doubted;
    synchronized (this) {
      doubted = !isNamed() || Failures.replyOf(failure) == null ? null : link;
    }
    closeLink(doubted, failure);
  }

  /** Ends when the connections are closed. */
  CompletableFuture<Void> close() {
    CompletableFuture<? extends Link> last;
    synchronized (this) {
      isClosed = true;
      last = link;
    }
    closeLink(last, new Failures.Closed());
    return CompletableFuture.allOf(closing.toArray(CompletableFuture<?>[]::new));
  }

  private static void closeLink(CompletableFuture<? extends Link> link, Throwable reason) {
    if (link != null) {
      link.thenAccept(it -> it.close(reason));
    }
  }

  /** Lets close wait for the end of a connection. */
  void note(CompletableFuture<Void> closed) {
    closing.add(closed);
    closed.whenComplete((done, failure) -> closing.remove(closed));
  }

  private synchronized CompletableFuture<? extends Link> link() {
    if (isClosed) {
      return CompletableFuture.failedFuture(new Failures.Closed());
    }
    if (link == null
        || link.isDone() && (link.isCompletedExceptionally() || !link.join().isOpen())) {
      link = open();
    }
    return link;
  }

  /** A request that has no answer yet. */
  static final class Request {

    final List<String> words;
    final CompletableFuture<Answer> answer = new CompletableFuture<>();
    final long sentAt = Clock.now();

    Request(List<String> words) {
      this.words = words;
    }
  }

  /** A connection for requests, which are answered in order. */
  abstract class Link {

    private final Queue<Request> unanswered = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean isWatched = new AtomicBoolean(); // for an answer that does not come
    private final AtomicBoolean isClosed = new AtomicBoolean();
    private volatile long usedAt = Clock.now();

    /** Sends a request; answered is called later, unless the link is closed before. */
    abstract void send(Request request);

    /** Closes the connection, which nothing uses any more. */
    abstract void disconnect();

    /** To be called once, when it is connected. */
    void closeWhenIdle() {
      timers.after(IDLE_MAX, this::closeIfIdle);
    }

    boolean isOpen() {
      return !isClosed.get();
    }

    /** When the newest request was sent. */
    long usedAt() {
      return usedAt;
    }

    /** Sends without a monitor: a transport ends requests while it holds a lock of its own. */
    CompletableFuture<Answer> ask(List<String> words) {
      Request request = new Request(words);
      unanswered.add(request);
      usedAt = request.sentAt;
      if (isClosed.get()) {
        unanswered.remove(request);
        request.answer.completeExceptionally(new Failures.Cut("the connection was closed", null));
        return request.answer;
      }
      if (isWatched.compareAndSet(false, true)) {
        timers.after(patience, this::watch);
      }
      send(request);
      return request.answer;
    }

    void answered(Request request, Object reply, Throwable failure) {
      unanswered.remove(request);
      if (failure == null) {
        request.answer.complete(new Answer(reply, request.sentAt));
      } else if (Failures.replyOf(failure) != null) {
        request.answer.completeExceptionally(Failures.bare(failure));
      } else {
        request.answer.completeExceptionally(cut(failure));
        close(failure);
      }
    }

    private void watch() {
      isWatched.set(false);
      Request oldest = unanswered.peek();
      if (oldest == null || isClosed.get()) {
        return;
      }
      long left = oldest.sentAt + patience - Clock.now();
      if (left <= 0) {
        close(new Failures.Again("the server did not answer in time"));
      } else if (isWatched.compareAndSet(false, true)) {
        timers.after(left, this::watch);
      }
    }

    private void closeIfIdle() {
      long left = unanswered.isEmpty() ? usedAt + IDLE_MAX - Clock.now() : IDLE_MAX;
      if (left <= 0) {
        close(new Failures.Cut("the connection was idle", null));
      } else if (isOpen()) {
        timers.after(left, this::closeIfIdle);
      }
    }

    /** All requests without an answer fail with this reason. */
    void close(Throwable reason) {
      if (!isClosed.compareAndSet(false, true)) {
        return;
      }
      Throwable shown = cut(reason);
      for (Request it = unanswered.poll(); it != null; it = unanswered.poll()) {
        it.answer.completeExceptionally(shown);
      }
      disconnect();
    }

    private static Throwable cut(Throwable reason) {
      Throwable bare = Failures.bare(reason);
      return bare instanceof Failures.Again || bare instanceof Failures.Closed
          || bare instanceof Failures.Cut ? bare
          : new Failures.Cut("the connection was closed", bare);
    }
  }
}
