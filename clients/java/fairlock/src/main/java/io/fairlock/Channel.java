package io.fairlock;

import io.fairlock.Server.Subscriber;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Consumer;

/**
 * The channel on which the server publishes who gets a lock, and who has lost one. All waits of a
 * client share it: one connection, or in a fleet of several partitions, one to each leader whose
 * keys are waited for. It is subscribed only while something uses it. All threads may call it; the
 * monitor of the channel protects its lines and feeds, and is not held while a future is completed
 * or a listener is called.
 */
final class Channel {

  private static final System.Logger LOG = System.getLogger("io.fairlock");
  private static final long SUBSCRIBE_MAX = 5000 * Clock.MILLISECOND;
  // After this time without a message, a connection is checked.
  private static final long SILENCE_MAX = 5000 * Clock.MILLISECOND;
  // The last line of a connection is kept for this long after its use: it may be used again soon.
  private static final long UNUSED_MAX = 1000 * Clock.MILLISECOND;

  private final String id;
  private final Server.Timers timers;
  private final Map<Integer, Line> lines = new HashMap<>(); // the lines by slot
  private final Map<Server, Feed> feeds = new HashMap<>();
  private boolean isClosed;

  Channel(String id, Server.Timers timers) {
    this.id = "fairlock:" + id.replace('{', '(').replace('}', ')');
    this.timers = timers;
  }

  /** Returns the line for the slot of a key, to be left with leave. */
  Line join(Route to) {
    Line line;
    boolean isNew;
    synchronized (this) {
      line = lines.get(to.slot());
      isNew = line == null;
      if (isNew) {
        line = new Line(to);
        lines.put(to.slot(), line);
      }
      line.uses++;
    }
    if (isNew) {
      line.subscribe(false, new Failures.Backoff());
    }
    return line;
  }

  void close() {
    List<Feed> open;
    List<Line> all;
    synchronized (this) {
      isClosed = true;
      open = List.copyOf(feeds.values());
      all = List.copyOf(lines.values());
    }
    open.forEach(it -> it.close(new Failures.Closed()));
    for (Line it : all) {
      it.settled().completeExceptionally(new Failures.Closed());
      it.deliverToAll(Message.SUBSCRIBED); // Waits notice that the channel is closed.
    }
  }

  private Feed feedAt(Server server) {
    Feed feed;
    synchronized (this) {
      if (isClosed) {
        throw new Failures.Closed();
      }
      feed = feeds.get(server);
      if (feed != null) {
        return feed;
      }
      feed = new Feed(server);
      feeds.put(server, feed);
    }
    feed.open();
    return feed;
  }

  /** A key of an owner. */
  private record Name(String key, String owner) {}

  /**
   * The subscription to one name: the only name or, with several partitions, the name of one slot.
   */
  final class Line {

    final String name;
    private final Route to;
    private final Map<Name, Consumer<Message>> listeners = new HashMap<>(); // locks itself
    // The monitor of the channel protects the others.
    private int uses;
    private Feed feed; // null until it is subscribed
    private CompletableFuture<Feed> settled = new CompletableFuture<>();
    private CompletableFuture<Void> confirmed = new CompletableFuture<>();
    private Throwable failure;
    private boolean isOver; // whether it has failed for good
    private ScheduledFuture<?> unused;

    private Line(Route to) {
      this.to = to;
      this.name = to.channelName(id);
    }

    /**
     * Makes this listener receive what is about the keys of an owner, instead of an earlier one.
     */
    void listen(List<String> keys, String owner, Consumer<Message> listener) {
      synchronized (listeners) {
        keys.forEach(key -> listeners.put(new Name(key, owner), listener));
      }
    }

    /**
     * A later listener stays, because the same owner may ask again before it releases a lost hold.
     */
    void leave(List<String> keys, String owner, Consumer<Message> listener) {
      synchronized (listeners) {
        keys.forEach(key -> listeners.remove(new Name(key, owner), listener));
      }
      synchronized (Channel.this) {
        uses--;
        endIfUnused();
      }
    }

    private void deliver(Message it) {
      Consumer<Message> listener;
      synchronized (listeners) {
        listener = listeners.get(new Name(it.key(), it.owner()));
      }
      if (listener != null) {
        listener.accept(it);
      }
    }

    private void deliverToAll(Message it) {
      Set<Consumer<Message>> all;
      synchronized (listeners) {
        all = new HashSet<>(listeners.values());
      }
      all.forEach(listener -> listener.accept(it));
    }

    /** The connection, once the line is subscribed; each call returns another future. */
    CompletableFuture<Feed> ready() {
      synchronized (Channel.this) {
        return isClosed ? CompletableFuture.failedFuture(new Failures.Closed())
            : isOver ? CompletableFuture.failedFuture(failure) : settled.copy();
      }
    }

    /** Returns null if no attempt has failed. */
    Throwable lastFailure() {
      synchronized (Channel.this) {
        return failure;
      }
    }

    private CompletableFuture<Feed> settled() {
      synchronized (Channel.this) {
        return settled;
      }
    }

    /** Asks again until it is subscribed, or nothing uses it any more. */
    private void subscribe(boolean isAgain, Failures.Backoff attempts) {
      to.server().thenCompose(server -> feedAt(server).subscribe(this, isAgain)
          .exceptionallyCompose(why -> {
            to.failed(server, why);
            return CompletableFuture.failedFuture(to.reason(why));
          })).whenComplete((done, why) -> {
            if (why != null && !giveUp(Failures.bare(why), isAgain)) {
              timers.after(attempts.pause(why), () -> subscribe(isAgain, attempts));
            }
          });
    }

    /** Whether a failure is final. A line that was subscribed before tries again. */
    private boolean giveUp(Throwable why, boolean isAgain) {
      CompletableFuture<Feed> waiting;
      synchronized (Channel.this) {
        failure = why;
        isOver = isClosed || uses == 0 || !isAgain && !Failures.isTemporary(why);
        if (!isOver) {
          return false;
        }
        lines.remove(to.slot(), this);
        waiting = settled;
      }
      waiting.completeExceptionally(why);
      return true;
    }

    /** The caller holds the monitor of the channel. */
    private void endIfUnused() {
      if (uses > 0 || feed == null || isClosed) {
        return;
      }
      if (unused != null) {
        unused.cancel(false);
      }
      unused = timers.after(feed.lines.size() > 1 ? 0 : UNUSED_MAX, this::end);
    }

    private void end() {
      Feed last;
      synchronized (Channel.this) {
        last = feed;
      }
      if (last != null) {
        last.unsubscribeIfUnused(this);
      }
    }
  }

  /** A connection on which one server sends messages. */
  final class Feed {

    private final Server server;
    private final CompletableFuture<Subscriber> connection = new CompletableFuture<>();
    private final Map<String, Line> lines = new HashMap<>(); // the lines by name
    private boolean isFeedClosed;
    private Throwable failure;
    private volatile boolean isAsked; // whether the server is still there
    private volatile long heardAt = Clock.now();

    private Feed(Server server) {
      this.server = server;
    }

    private void open() {
      server.subscriber(this::take, this::confirm, this::close).whenComplete((it, why) -> {
        if (why != null) {
          connection.completeExceptionally(Failures.bare(why));
          close(Failures.bare(why));
        } else if (!connection.complete(it)) {
          it.close();
        } else {
          timers.after(SILENCE_MAX, this::checkSilence);
        }
      });
    }

    /** Completes when the server has confirmed the subscription. */
    private CompletableFuture<Void> subscribe(Line line, boolean isAgain) {
      CompletableFuture<Void> confirmed = new CompletableFuture<>();
      Line other;
      synchronized (Channel.this) {
        if (isFeedClosed) {
          return CompletableFuture.failedFuture(failure);
        }
        line.confirmed = confirmed;
        lines.put(line.name, line);
        other = otherThan(line);
      }
      if (other != null) {
        unsubscribeIfUnused(other);
      }
      ScheduledFuture<?> timer = timers.after(SUBSCRIBE_MAX,
          () -> close(new Failures.Again("the server did not confirm a subscription in time")));
      connection.thenCompose(it -> it.subscribe(line.name)).whenComplete((done, why) -> {
        if (why != null) {
          close(Failures.bare(why));
        }
      });
      return confirmed.whenComplete((done, why) -> timer.cancel(false)).thenRun(() -> {
        if (isAgain) {
          // What was published in between is lost, so all waits must ask again.
          line.deliverToAll(Message.SUBSCRIBED);
        }
        accept(line);
      });
    }

    /** Ends the subscription of a line, unless the connection was lost meanwhile. */
    private void accept(Line line) {
      CompletableFuture<Feed> settled;
      synchronized (Channel.this) {
        if (isFeedClosed) {
          throw new Failures.Again("the connection of the channel was lost");
        }
        line.feed = this;
        line.failure = null;
        settled = line.settled;
        line.endIfUnused();
      }
      settled.complete(this);
    }

    /** The only other line, which may have been kept although it is unused. */
    private Line otherThan(Line line) {
      return lines.size() != 2 ? null
          : lines.values().stream().filter(it -> it != line).findFirst().orElse(null);
    }

    /** The last line ends the connection. */
    private void unsubscribeIfUnused(Line line) {
      boolean isLast;
      synchronized (Channel.this) {
        if (line.uses > 0 || line.feed != this || isFeedClosed) {
          return;
        }
        line.feed = null;
        Channel.this.lines.remove(line.to.slot(), line);
        lines.remove(line.name);
        isLast = lines.isEmpty();
      }
      if (isLast) {
        close(new Failures.Again("the channel is not used"));
      } else {
        connection.thenAccept(it -> it.unsubscribe(line.name));
      }
    }

    /** Ends the connection. Its lines subscribe again, where their keys are then served. */
    void close(Throwable reason) {
      List<Line> lost = new ArrayList<>();
      List<CompletableFuture<Void>> unconfirmed = new ArrayList<>();
      synchronized (Channel.this) {
        if (isFeedClosed) {
          return;
        }
        isFeedClosed = true;
        failure = reason;
        feeds.remove(server, this);
        for (Line it : lines.values()) {
          if (it.feed == this) {
            it.feed = null;
            if (!isClosed) {
              it.settled = new CompletableFuture<>();
              lost.add(it);
            }
          } else {
            unconfirmed.add(it.confirmed);
          }
        }
      }
      unconfirmed.forEach(it -> it.completeExceptionally(reason));
      connection.completeExceptionally(reason);
      if (!connection.isCompletedExceptionally()) {
        connection.join().close();
      }
      if (!lost.isEmpty()) {
        LOG.log(System.Logger.Level.WARNING, "fairlock: the channel subscribes again: {0}",
            Failures.textOf(reason));
      }
      for (Line it : lost) {
        it.to.failed(server, new Failures.Again("the connection of the channel was lost"));
        it.subscribe(true, new Failures.Backoff());
      }
    }

    private void checkSilence() {
      synchronized (Channel.this) {
        if (isFeedClosed) {
          return;
        }
      }
      if (isAsked) {
        close(new Failures.Again("the server did not answer in time"));
        return;
      }
      long left = heardAt + SILENCE_MAX - Clock.now();
      if (left <= 0) {
        isAsked = true;
        left = SILENCE_MAX;
        connection.thenCompose(Subscriber::ping).thenRun(this::hear);
      }
      timers.after(left, this::checkSilence);
    }

    private void hear() {
      heardAt = Clock.now();
      isAsked = false;
    }

    private void confirm(String name) {
      hear();
      Line line = line(name);
      if (line != null) {
        line.confirmed.complete(null);
      }
    }

    private void take(String name, String text) {
      hear();
      Line line = line(name);
      if (line == null) {
        return;
      }
      Message message;
      try {
        message = Message.of(text);
      } catch (IllegalArgumentException e) {
        LOG.log(System.Logger.Level.WARNING, "fairlock: a message is {0}", e.getMessage());
        return; // Any client may publish.
      }
      line.deliver(message);
    }

    private Line line(String name) {
      synchronized (Channel.this) {
        return lines.get(name);
      }
    }
  }
}
