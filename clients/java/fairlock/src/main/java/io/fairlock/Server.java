package io.fairlock;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
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
 * One server, or the one that Sentinel names, and the connection for requests to it, which is
 * opened when it is needed, shared by all, and closed once it has been idle for a minute. Lettuce
 * neither reconnects nor repeats a request, after which nobody would know what its reply is about.
 * Only this file knows how Lettuce connects. All threads may call it.
 */
final class Server {

  private static final long IDLE_MAX = 60_000 * Clock.MILLISECOND;

  /**
   * A reply - null, Long, byte[] or a flat List of these - and a time before its request was sent.
   */
  record Answer(Object reply, long sentAt) {}

  private final RedisClient lettuce;
  private final RedisURI uri;
  private final Timers timers;
  private final long patience; // how long to wait for a reply
  private final Set<CompletableFuture<Void>> closing = ConcurrentHashMap.newKeySet();
  private CompletableFuture<Link> link;
  private boolean isClosed;

  /**
   * The time-out of the address limits the opening of a connection. `patience` is in nanoseconds.
   */
  Server(RedisClient lettuce, RedisURI uri, long patience, Timers timers) {
    this.lettuce = lettuce;
    this.uri = uri;
    this.patience = patience;
    this.timers = timers;
  }

  /** Sends a command once. The server answers at once. */
  CompletableFuture<Answer> ask(List<String> words) {
    return link().thenCompose(it -> it.ask(words));
  }

  /** There may be another leader by now, and only a new connection asks the Sentinels for it. */
  void doubt(Throwable failure) {
    CompletableFuture<Link> doubted;
    synchronized (this) {
      doubted = uri.getSentinels().isEmpty() || Failures.replyOf(failure) == null ? null : link;
    }
    closeLink(doubted, failure);
  }

  /** Ends when the connections are closed. */
  CompletableFuture<Void> close() {
    CompletableFuture<Link> last;
    synchronized (this) {
      isClosed = true;
      last = link;
    }
    closeLink(last, new Failures.Closed());
    return CompletableFuture.allOf(closing.toArray(CompletableFuture<?>[]::new));
  }

  private static void closeLink(CompletableFuture<Link> link, Throwable reason) {
    if (link != null) {
      link.thenAccept(it -> it.close(reason));
    }
  }

  private void close(StatefulConnection<?, ?> connection) {
    CompletableFuture<Void> closed = connection.closeAsync();
    closing.add(closed);
    closed.whenComplete((done, failure) -> closing.remove(closed));
  }

  private synchronized CompletableFuture<Link> link() {
    if (isClosed) {
      return CompletableFuture.failedFuture(new Failures.Closed());
    }
    if (link != null
        && (!link.isDone() || !link.isCompletedExceptionally() && link.join().isOpen())) {
      return link;
    }
    link = lettuce.connectAsync(ByteArrayCodec.INSTANCE, uri).toCompletableFuture()
        .thenApply(Link::new);
    return link;
  }

  /** Opens a connection that only subscribes. */
  CompletableFuture<Subscriber> subscriber(BiConsumer<String, String> message,
      Consumer<String> subscribed, Consumer<Throwable> closed) {
    return lettuce.connectPubSubAsync(StringCodec.UTF8, uri).toCompletableFuture()
        .thenApply(it -> new Subscriber(it, message, subscribed, closed));
  }

  /** A connection for requests, which are answered in order. */
  private final class Link {

    private final StatefulRedisConnection<byte[], byte[]> connection;
    private final Queue<Request> unanswered = new ConcurrentLinkedQueue<>();
    // Whether it is being watched for an answer that does not come.
    private final AtomicBoolean isWatched = new AtomicBoolean();
    private final AtomicBoolean isClosed = new AtomicBoolean();
    private volatile long usedAt = Clock.now();

    Link(StatefulRedisConnection<byte[], byte[]> connection) {
      this.connection = connection;
      onClose(connection, this::close);
      timers.after(IDLE_MAX, this::closeIfIdle);
    }

    boolean isOpen() {
      return !isClosed.get();
    }

    /**
     * Calls Lettuce without a monitor, because Lettuce ends requests while it holds a lock of its
     * own.
     */
    CompletableFuture<Answer> ask(List<String> words) {
      Request request = new Request(words);
      unanswered.add(request);
      usedAt = request.sentAt;
      request.whenComplete((reply, failure) -> answered(request, reply, failure));
      if (isClosed.get()) {
        request.cancel();
        return request.answer;
      }
      if (isWatched.compareAndSet(false, true)) {
        timers.after(patience, this::watch);
      }
      connection.dispatch(request);
      return request.answer;
    }

    private void answered(Request request, Object reply, Throwable failure) {
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
      Server.this.close(connection);
    }

    private static Throwable cut(Throwable reason) {
      Throwable bare = Failures.bare(reason);
      return bare instanceof Failures.Again || bare instanceof Failures.Closed
          || bare instanceof Failures.Cut ? bare
          : new Failures.Cut("the connection was closed", bare);
    }
  }

  /** A connection of a channel. */
  final class Subscriber {

    private final StatefulRedisPubSubConnection<String, String> connection;

    Subscriber(StatefulRedisPubSubConnection<String, String> connection,
        BiConsumer<String, String> message, Consumer<String> subscribed,
        Consumer<Throwable> closed) {
      this.connection = connection;
      connection.addListener(new RedisPubSubAdapter<>() {
        @Override
        public void message(String channel, String text) {
          message.accept(channel, text);
        }

        @Override
        public void subscribed(String channel, long count) {
          subscribed.accept(channel);
        }
      });
      onClose(connection, closed);
    }

    /** The reply is the call of `subscribed`; the future only has an error. */
    CompletableFuture<Void> subscribe(String name) {
      return connection.async().subscribe(name).toCompletableFuture();
    }

    void unsubscribe(String name) {
      connection.async().unsubscribe(name);
    }

    CompletableFuture<String> ping() {
      return connection.async().ping().toCompletableFuture();
    }

    void close() {
      Server.this.close(connection);
    }
  }

  private static void onClose(StatefulConnection<?, ?> connection, Consumer<Throwable> call) {
    connection.addListener(new RedisConnectionStateListener() {
      @Override
      public void onRedisConnected(RedisChannelHandler<?, ?> it, SocketAddress address) {}

      @Override
      public void onRedisDisconnected(RedisChannelHandler<?, ?> it) {
        call.accept(new Failures.Cut("the server closed the connection", null));
      }

      @Override
      public void onRedisExceptionCaught(RedisChannelHandler<?, ?> it, Throwable cause) {}
    });
    if (!connection.isOpen()) {
      call.accept(new Failures.Cut("the server closed the connection", null));
    }
  }

  private record Name(byte[] bytes, String word) implements ProtocolKeyword {

    @Override
    public byte[] getBytes() {
      return bytes;
    }

    @Override
    @SuppressWarnings("deprecation") // Lettuce 6 needs this.
    public String name() {
      return word;
    }
  }

  private static final class Request extends AsyncCommand<byte[], byte[], Object> {

    final CompletableFuture<Answer> answer = new CompletableFuture<>();
    final long sentAt = Clock.now();

    Request(List<String> words) {
      super(new Command<>(new Name(utf8(words.get(0)), words.get(0)), new ReplyOutput(),
          argumentsOf(words)));
    }

    private static CommandArgs<byte[], byte[]> argumentsOf(List<String> words) {
      CommandArgs<byte[], byte[]> arguments = new CommandArgs<>(ByteArrayCodec.INSTANCE);
      for (int i = 1; i < words.size(); i++) {
        arguments.add(utf8(words.get(i)));
      }
      return arguments;
    }

    private static byte[] utf8(String word) {
      return word.getBytes(StandardCharsets.UTF_8);
    }
  }

  /** Any reply. A map is a flat list of names and values, as version 2 of the protocol sends it. */
  private static final class ReplyOutput extends CommandOutput<byte[], byte[], Object> {

    private record Open(List<Object> list, int size) {}

    private final ArrayDeque<Open> open = new ArrayDeque<>();

    ReplyOutput() {
      super(ByteArrayCodec.INSTANCE, null);
    }

    private void add(Object value) {
      Object whole = value;
      while (!open.isEmpty()) {
        Open last = open.peek();
        last.list.add(whole);
        if (last.list.size() < last.size) {
          return;
        }
        whole = open.pop().list;
      }
      output = whole;
    }

    @Override
    public void set(ByteBuffer bytes) {
      add(bytes == null ? null : codec.decodeValue(bytes));
    }

    @Override
    public void set(long number) {
      add(number);
    }

    @Override
    public void set(double number) {
      add(number);
    }

    @Override
    public void set(boolean value) {
      add(value ? 1L : 0L);
    }

    @Override
    public void multi(int size) {
      if (size > 0) {
        open.push(new Open(new ArrayList<>(size), size));
      } else {
        add(size == 0 ? List.of() : null);
      }
    }

    @Override
    public void multiMap(int size) {
      multi(2 * size);
    }
  }

  /** One thread that calls what is due; nothing that it calls may block. */
  interface Timers {

    /** Calls after so many nanoseconds. */
    ScheduledFuture<?> after(long nanos, Runnable call);
  }
}
