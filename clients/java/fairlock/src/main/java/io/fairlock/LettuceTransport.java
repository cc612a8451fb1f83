package io.fairlock;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** Connects with Lettuce. This file, and the builder, are all that know it. */
final class LettuceTransport implements Transport {

  static {
    Failures.addReplies(RedisCommandExecutionException.class);
  }

  private final RedisClient lettuce;
  private final RedisURI first;
  private final long patience;

  /**
   * A transport to the first address, or to a fleet of which it is a node.
   *
   * @param resources threads of the program, or null for own ones
   */
  LettuceTransport(RedisURI first, ClientOptions options, ClientResources resources) {
    lettuce = resources == null ? RedisClient.create() : RedisClient.create(resources);
    lettuce.setOptions(ownOptions(options));
    patience = Transport.patience(first.getTimeout());
    this.first = own(first);
  }

  @Override
  public Server server(Server.Timers timers) {
    return new LettuceServer(first, timers);
  }

  @Override
  public Server node(String address, Server.Timers timers) {
    int colon = address.lastIndexOf(':');
    return new LettuceServer(RedisURI.builder(first).withHost(address.substring(0, colon))
        .withPort(Integer.parseInt(address.substring(colon + 1))).build(), timers);
  }

  @Override
  public void close() {
    lettuce.shutdown(0, 2, TimeUnit.SECONDS);
  }

  private static RedisURI own(RedisURI of) {
    RedisURI.Builder copy = RedisURI.builder(of);
    if (!of.getSentinels().isEmpty()) {
      copy.withSentinelMasterId(of.getSentinelMasterId());
      of.getSentinels().forEach(copy::withSentinel);
    }
    RedisURI own = copy.build();
    own.setTimeout(REQUEST_MAX); // to log in; the time for requests is counted elsewhere
    return own;
  }

  private static ClientOptions ownOptions(ClientOptions of) {
    SocketOptions sockets = of.getSocketOptions();
    if (sockets.getConnectTimeout().compareTo(REQUEST_MAX) > 0) {
      sockets = sockets.mutate().connectTimeout(REQUEST_MAX).build();
    }
    return of.mutate().autoReconnect(false).pingBeforeActivateConnection(true)
        .protocolVersion(ProtocolVersion.RESP3).publishOnScheduler(false)
        .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
        .timeoutOptions(TimeoutOptions.create()).socketOptions(sockets).build();
  }

  /** The time-out of the address is that of opening a connection. */
  private final class LettuceServer extends Server {

    private final RedisURI uri;

    LettuceServer(RedisURI uri, Timers timers) {
      super(timers, patience);
      this.uri = uri;
    }

    @Override
    boolean isNamed() {
      return !uri.getSentinels().isEmpty();
    }

    @Override
    CompletableFuture<LettuceLink> open() {
      return lettuce.connectAsync(ByteArrayCodec.INSTANCE, uri).toCompletableFuture()
          .thenApply(LettuceLink::new);
    }

    @Override
    CompletableFuture<Subscriber> subscriber(BiConsumer<String, String> message,
        Consumer<String> subscribed, Consumer<Throwable> closed) {
      return lettuce.connectPubSubAsync(StringCodec.UTF8, uri).toCompletableFuture()
          .thenApply(it -> new LettuceSubscriber(it, message, subscribed, closed));
    }

    private void end(StatefulConnection<?, ?> connection) {
      note(connection.closeAsync());
    }

    private final class LettuceLink extends Link {

      private final StatefulRedisConnection<byte[], byte[]> connection;

      LettuceLink(StatefulRedisConnection<byte[], byte[]> connection) {
        this.connection = connection;
        onClose(connection, this::close);
        closeWhenIdle();
      }

      @Override
      void send(Request request) {
        Words words = new Words(request.words);
        words.whenComplete((reply, failure) -> answered(request, reply, failure));
        connection.dispatch(words);
      }

      @Override
      void disconnect() {
        end(connection);
      }
    }

    private final class LettuceSubscriber implements Subscriber {

      private final StatefulRedisPubSubConnection<String, String> connection;

      LettuceSubscriber(StatefulRedisPubSubConnection<String, String> connection,
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

      @Override
      public CompletableFuture<Void> subscribe(String name) {
        return connection.async().subscribe(name).toCompletableFuture();
      }

      @Override
      public void unsubscribe(String name) {
        connection.async().unsubscribe(name);
      }

      @Override
      public CompletableFuture<Void> ping() {
        return connection.async().ping().toCompletableFuture().thenAccept(it -> {});
      }

      @Override
      public void close() {
        end(connection);
      }
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
    @SuppressWarnings("deprecation") // Lettuce 6 needs it.
    public String name() {
      return word;
    }
  }

  private static final class Words extends AsyncCommand<byte[], byte[], Object> {

    Words(List<String> words) {
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
}
