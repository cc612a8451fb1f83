package io.fairlock;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisSocketFactory;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Connects with Jedis, whose connections block. Each has a thread that reads, and one that writes
 * for those that must not block; a thread that waits for a reply writes and reads itself. This
 * file, and the builder, are all that know Jedis.
 */
final class JedisTransport implements Transport {

  static {
    Failures.addReplies(JedisDataException.class);
  }

  // After this time without a request, the own thread of a connection reads: it notices the end of
  // the connection, and until then leaves the replies to those that wait for them.
  private static final long QUIET = 20 * Clock.MILLISECOND;
  private static final long WRITER_IDLE_SECONDS = 5;

  private final List<HostAndPort> places;
  private final String master; // null without Sentinels
  private final JedisClientConfig config;
  private final JedisClientConfig sentinelConfig;
  private final long patience;
  private volatile int preferred; // the Sentinel that is asked first

  /**
   * A transport to the first place, to a fleet of which it is a node, or if the master has a name,
   * to the one that the Sentinels at these places name.
   */
  JedisTransport(List<HostAndPort> places, String master, JedisClientConfig config,
      JedisClientConfig sentinelConfig) {
    this.places = List.copyOf(places);
    this.master = master;
    this.config = limited(config, Map.of());
    // The Sentinel port of fairlock has no TLS.
    this.sentinelConfig = sentinelConfig != null ? limited(sentinelConfig, Map.of())
        : limited(config, Map.of("isSsl", false, "getDatabase", 0));
    this.patience = Transport.patience(Duration.ofMillis(config.getSocketTimeoutMillis()));
  }

  /**
   * The settings of a program, but with the version of the protocol and the time-outs that this
   * library needs. A proxy, because each version of Jedis has more settings than the one before.
   */
  private static JedisClientConfig limited(JedisClientConfig of, Map<String, Object> changes) {
    int max = (int) REQUEST_MAX.toMillis();
    int wanted = of.getConnectionTimeoutMillis();
    Map<String, Object> own = Map.of("getRedisProtocol", RedisProtocol.RESP2,
        "getConnectionTimeoutMillis", wanted > 0 ? Math.min(wanted, max) : max,
        "getSocketTimeoutMillis", max, // to log in; the time for requests is counted elsewhere
        "isReadOnlyForRedisClusterReplicas", false);
    return (JedisClientConfig) Proxy.newProxyInstance(JedisClientConfig.class.getClassLoader(),
        new Class<?>[] {JedisClientConfig.class}, (proxy, method, arguments) -> {
          String name = method.getName();
          if (own.containsKey(name)) {
            return own.get(name);
          }
          if (changes.containsKey(name)) {
            return changes.get(name);
          }
          if (changes.containsKey("isSsl") && name.equals("getSslOptions")) {
            return null;
          }
          try {
            return method.invoke(of, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        });
  }

  @Override
  public Server server(Server.Timers timers) {
    return new JedisServer(places.get(0), master != null, timers);
  }

  @Override
  public Server node(String address, Server.Timers timers) {
    return new JedisServer(JedisAddress.place(address), false, timers);
  }

  @Override
  public void close() {
    // Each connection ends its own threads.
  }

  private static void startThread(Runnable call) {
    Thread thread = new Thread(call, "fairlock-jedis");
    thread.setDaemon(true);
    thread.start();
  }

  /** The leader, as the first Sentinel says that knows one. */
  private HostAndPort leader() {
    RuntimeException last = new Failures.Again("no Sentinel knows a leader");
    for (int i = 0; i < places.size(); i++) {
      Wire sentinel = null;
      try {
        sentinel = Wire.to(places.get(preferred % places.size()), sentinelConfig);
        sentinel.send(List.of("SENTINEL", "GET-MASTER-ADDR-BY-NAME", master));
        if (sentinel.receive() instanceof List<?> place && place.size() == 2) {
          return JedisAddress.place(
              Explanation.Text.of(place.get(0)) + ":" + Explanation.Text.of(place.get(1)));
        }
      } catch (RuntimeException e) {
        last = e;
      } finally {
        if (sentinel != null) {
          sentinel.end(true);
        }
      }
      preferred++;
    }
    throw last;
  }

  private record Word(byte[] getRaw) implements ProtocolCommand {}

  /** A connection of Jedis with its socket, which it makes only once. */
  private static final class Wire extends Connection {

    private static final class Sockets extends DefaultJedisSocketFactory {

      private volatile Socket socket;

      Sockets(HostAndPort place, JedisClientConfig config) {
        super(place, config);
      }

      /** Jedis would silently connect again, without knowing what was sent before. */
      @Override
      public Socket createSocket() {
        if (socket != null) {
          throw new JedisConnectionException("the connection was closed");
        }
        socket = super.createSocket();
        return socket;
      }
    }

    private final Sockets sockets;

    private Wire(Sockets sockets, JedisClientConfig config) {
      super(sockets, config);
      this.sockets = sockets;
    }

    /** Connects and logs in. */
    static Wire to(HostAndPort place, JedisClientConfig config) {
      return new Wire(new Sockets(place, config), config);
    }

    void send(List<String> words) {
      CommandArguments all = new CommandArguments(new Word(utf8(words.get(0))));
      for (int i = 1; i < words.size(); i++) {
        all.add(utf8(words.get(i)));
      }
      sendCommand(all);
      flush();
    }

    private static byte[] utf8(String word) {
      return word.getBytes(StandardCharsets.UTF_8);
    }

    /** Throws JedisDataException for an error reply. */
    Object receive() {
      return readProtocolWithCheckingBroken();
    }

    /**
     * Closes the socket. Jedis makes the system drop what was sent shortly before, which may be a
     * release; but with TLS, closing in an orderly way would wait for a thread that writes.
     */
    void end(boolean isOrderly) {
      try {
        if (isOrderly) {
          sockets.socket.setSoLinger(false, 0);
        }
        sockets.socket.close();
      } catch (IOException e) {
        // It is closed.
      }
    }
  }

  /** A wire, and the thread that writes for those that must not block. */
  private static final class Line {

    final Wire wire;
    final ReentrantLock writing = new ReentrantLock();
    private final ThreadPoolExecutor writer = new ThreadPoolExecutor(1, 1, WRITER_IDLE_SECONDS,
        TimeUnit.SECONDS, new LinkedBlockingQueue<>(), call -> {
          Thread thread = new Thread(call, "fairlock-jedis");
          thread.setDaemon(true);
          return thread;
        }, new ThreadPoolExecutor.DiscardPolicy()); // It was closed.

    Line(Wire wire) {
      this.wire = wire;
      writer.allowCoreThreadTimeOut(true);
    }

    /** Calls in the thread that may block, unless the line has ended. */
    void write(Runnable call) {
      writer.execute(call);
    }

    /** Closing may block with TLS. */
    CompletableFuture<Void> end() {
      writer.shutdown();
      CompletableFuture<Void> closed = new CompletableFuture<>();
      startThread(() -> {
        boolean isFree = writing.tryLock();
        try {
          wire.end(isFree);
        } finally {
          if (isFree) {
            writing.unlock();
          }
          closed.complete(null);
        }
      });
      return closed;
    }
  }

  private final class JedisServer extends Server {

    private final HostAndPort place;
    private final boolean isNamed;

    JedisServer(HostAndPort place, boolean isNamed, Timers timers) {
      super(timers, patience);
      this.place = place;
      this.isNamed = isNamed;
    }

    @Override
    boolean isNamed() {
      return isNamed;
    }

    private <T> CompletableFuture<T> connected(Function<Wire, T> make) {
      CompletableFuture<T> opened = new CompletableFuture<>();
      startThread(() -> {
        try {
          Wire wire = Wire.to(isNamed ? leader() : place, config);
          wire.setSoTimeout(0); // Timers end a connection whose server is silent.
          opened.complete(make.apply(wire));
        } catch (Throwable e) {
          preferred++; // The Sentinel may not know yet who leads.
          opened.completeExceptionally(e);
        }
      });
      return opened;
    }

    @Override
    CompletableFuture<JedisLink> open() {
      return connected(wire -> {
        JedisLink link = new JedisLink(new Line(wire));
        startThread(link::read);
        link.closeWhenIdle();
        return link;
      });
    }

    @Override
    CompletableFuture<Subscriber> subscriber(BiConsumer<String, String> message,
        Consumer<String> subscribed, Consumer<Throwable> closed) {
      return connected(wire -> {
        JedisSubscriber it = new JedisSubscriber(new Line(wire), message, subscribed, closed);
        startThread(it::read);
        return it;
      });
    }

    private final class JedisLink extends Link implements Blocking.Replies {

      private final Line line;
      private final ReentrantLock reading = new ReentrantLock();
      private final Queue<Request> due = new ConcurrentLinkedQueue<>(); // in the order of the wire
      private volatile Thread reader;
      private volatile boolean isLeft; // Replies are due that no other thread has promised to read.

      JedisLink(Line line) {
        this.line = line;
      }

      @Override
      void send(Request request) {
        if (Blocking.promise(this)) {
          write(request);
        } else {
          line.write(() -> {
            write(request);
            leave();
          });
        }
      }

      private void write(Request request) {
        RuntimeException failure = null;
        line.writing.lock();
        try {
          due.add(request);
          line.wire.send(request.words);
        } catch (RuntimeException e) {
          failure = e;
        } finally {
          line.writing.unlock();
        }
        if (failure != null) {
          close(failure);
        }
      }

      @Override
      public void readUntil(CompletableFuture<?> done) {
        while (!done.isDone() && !due.isEmpty() && isOpen() && reading.tryLock()) {
          try {
            if (!due.isEmpty()) {
              readOne();
            }
          } finally {
            reading.unlock();
          }
        }
        leave();
      }

      /** Leaves the replies that are due to the own thread. */
      private void leave() {
        if (!due.isEmpty()) {
          isLeft = true;
          LockSupport.unpark(reader);
        }
      }

      /** The own thread of the connection. */
      private void read() {
        reader = Thread.currentThread();
        while (isOpen()) {
          long quiet = usedAt() + QUIET - Clock.now();
          if (!isLeft && quiet > 0) {
            LockSupport.parkNanos(this, quiet);
            continue;
          }
          reading.lock();
          try {
            isLeft = false;
            do {
              readOne();
            } while (isOpen() && !due.isEmpty());
          } finally {
            reading.unlock();
          }
        }
      }

      /** The caller holds the lock for reading. */
      private void readOne() {
        Object reply = null;
        Throwable failure = null;
        try {
          reply = line.wire.receive();
        } catch (JedisDataException e) {
          failure = e;
        } catch (RuntimeException e) {
          close(new Failures.Cut("the server closed the connection", e));
          return;
        }
        Request request = due.poll();
        if (request == null) {
          close(new Failures.Again("the server sent a reply to no request"));
        } else {
          answered(request, reply, failure);
        }
      }

      @Override
      void disconnect() {
        note(line.end());
        LockSupport.unpark(reader);
      }
    }

    private final class JedisSubscriber implements Subscriber {

      private final Line line;
      private final BiConsumer<String, String> message;
      private final Consumer<String> subscribed;
      private final Consumer<Throwable> closed;
      private final Queue<CompletableFuture<Void>> due = new ConcurrentLinkedQueue<>();

      JedisSubscriber(Line line, BiConsumer<String, String> message, Consumer<String> subscribed,
          Consumer<Throwable> closed) {
        this.line = line;
        this.message = message;
        this.subscribed = subscribed;
        this.closed = closed;
      }

      private CompletableFuture<Void> send(String... words) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        line.write(() -> {
          RuntimeException failure = null;
          line.writing.lock();
          try {
            due.add(done);
            line.wire.send(List.of(words));
          } catch (RuntimeException e) {
            failure = e;
          } finally {
            line.writing.unlock();
          }
          if (failure != null) {
            end(failure);
          }
        });
        return done;
      }

      @Override
      public CompletableFuture<Void> subscribe(String name) {
        return send("SUBSCRIBE", name);
      }

      @Override
      public void unsubscribe(String name) {
        send("UNSUBSCRIBE", name);
      }

      @Override
      public CompletableFuture<Void> ping() {
        return send("PING");
      }

      /** The own thread of the connection. */
      private void read() {
        try {
          while (true) {
            try {
              take(line.wire.receive());
            } catch (JedisDataException e) {
              answer(e);
            }
          }
        } catch (RuntimeException e) {
          end(e);
        }
      }

      private void take(Object reply) {
        if (!(reply instanceof List<?> words) || words.size() < 2) {
          answer(null); // to PING, while nothing is subscribed
          return;
        }
        String kind = String.valueOf(Explanation.Text.of(words.get(0)));
        String name = Explanation.Text.of(words.get(1));
        if (kind.equals("message")) {
          message.accept(name, Explanation.Text.of(words.get(2)));
          return;
        }
        if (kind.equals("subscribe")) {
          subscribed.accept(name);
        }
        answer(null);
      }

      private void answer(Throwable failure) {
        CompletableFuture<Void> done = due.poll();
        if (done != null && failure == null) {
          done.complete(null);
        } else if (done != null) {
          done.completeExceptionally(failure);
        }
      }

      private void end(Throwable failure) {
        Throwable cut = new Failures.Cut("the server closed the connection", failure);
        closed.accept(cut);
        for (CompletableFuture<Void> it = due.poll(); it != null; it = due.poll()) {
          it.completeExceptionally(cut);
        }
      }

      @Override
      public void close() {
        note(line.end());
      }
    }
  }
}
