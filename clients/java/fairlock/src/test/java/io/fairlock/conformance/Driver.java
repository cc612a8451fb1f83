package io.fairlock.conformance;

import io.fairlock.FairlockClient;
import io.fairlock.FairlockException;
import io.fairlock.Hold;
import io.fairlock.LockOptions;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Uses the library as an application would: reads and writes one JSON object per line, as
 * tests/clients/conformance describes. Each operation has a thread.
 */
public final class Driver {

  private static final int RATE_SLICES = 75;
  private static final String LOST = "lost";

  private final FairlockClient fairlock;
  private final RedisURI address;
  private final ClientOptions options;
  private final Map<String, Hold> holds = new ConcurrentHashMap<>();
  private final Map<Double, Thread> operations = new ConcurrentHashMap<>();

  private Driver() {
    String url = Optional.ofNullable(System.getenv("FAIRLOCK_URL")).orElse("redis://127.0.0.1");
    address = RedisURI.create(url);
    String seconds = System.getenv("FAIRLOCK_READ_TIMEOUT");
    address.setTimeout(seconds(seconds == null ? 5 : Double.parseDouble(seconds)));
    ClientOptions.Builder made = ClientOptions.builder();
    if (System.getenv("FAIRLOCK_CA") != null) {
      made.sslOptions(SslOptions.builder()
          .trustManager(new File(System.getenv("FAIRLOCK_CA"))).build());
    }
    options = made.build();
    FairlockClient.Builder builder = FairlockClient.builder().options(options).address(address);
    String sentinels = System.getenv("FAIRLOCK_SENTINELS");
    if (sentinels != null) {
      RedisURI uri = RedisURI.create("redis-sentinel://" + sentinels + "#main");
      uri.setTimeout(address.getTimeout());
      builder.address(uri);
    }
    String nodes = System.getenv("FAIRLOCK_CLUSTER");
    if (nodes != null) {
      builder.cluster(Arrays.stream(nodes.split(",")).map(this::node).toArray(RedisURI[]::new));
    }
    fairlock = builder.build();
  }

  private RedisURI node(String place) {
    int colon = place.lastIndexOf(':');
    return RedisURI.builder(address).withHost(place.substring(0, colon))
        .withPort(Integer.parseInt(place.substring(colon + 1))).build();
  }

  /** Reads until there is no more, or `exit`. */
  public static void main(String[] words) throws Exception {
    Driver driver = new Driver();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Request request = new Request(Json.read(line));
      if (request.text("do").equals("exit")) {
        break;
      }
      driver.begin(request);
    }
    System.exit(0);
  }

  private static synchronized void write(Map<String, Object> reply) {
    System.out.println(Json.write(reply));
    System.out.flush();
  }

  /** One line of the input. Times are in seconds. */
  private record Request(Map<?, ?> fields) {

    Request(Object line) {
      this((Map<?, ?>) line);
    }

    String text(String name) {
      return (String) fields.get(name);
    }

    Double number(String name) {
      return (Double) fields.get(name);
    }

    Duration time(String name) {
      return seconds(number(name));
    }

    boolean is(String name) {
      return Boolean.TRUE.equals(fields.get(name));
    }

    List<String> keys() {
      return ((List<?>) fields.get("keys")).stream().map(String.class::cast).toList();
    }
  }

  private static Duration seconds(double number) {
    return Duration.ofNanos(Math.round(number * 1e9));
  }

  /** Starts an operation. A cancellation that is read later finds it. */
  private void begin(Request request) {
    Thread thread = new Thread(null, () -> {
      Map<String, Object> reply;
      try {
        reply = execute(request);
      } catch (Exception e) {
        reply = failure(e);
      }
      operations.remove(request.number("id"));
      reply.put("id", request.number("id").longValue());
      write(reply);
    }, "operation", 1 << 18);
    operations.put(request.number("id"), thread);
    thread.start();
  }

  private static Map<String, Object> reply(String name, Object value) {
    Map<String, Object> reply = new HashMap<>();
    reply.put(name, value);
    return reply;
  }

  private static Map<String, Object> failure(Exception failure) {
    Map<String, Object> reply = reply("text", failure.toString());
    String name = failure.getClass().getSimpleName();
    boolean isCancelled = failure instanceof InterruptedException
        || failure instanceof CancellationException;
    reply.put("error", isCancelled ? "Cancelled"
        : failure instanceof UnsupportedOperationException ? "Unsupported"
        : List.of("LostHold", "WaitEnded", "Deadlock", "NotFairlock").contains(name) ? name
        : "Failed");
    if (failure instanceof FairlockException.Denied denied) {
      var why = denied.explanation();
      reply.put("error", "Denied");
      reply.put("reason", why.reason());
      reply.put("holders", why.holders().stream().map(it -> it.owner()).toList());
      reply.put("position", why.position() == 0 ? null : why.position());
      reply.put("eta", why.eta() == null ? null : why.eta().toMillis() / 1000.0);
    }
    return reply;
  }

  private Map<String, Object> execute(Request it) throws Exception {
    switch (it.text("do")) {
      case "acquire":
        return keep(it, fairlock.lock(it.keys().get(0), options(it)));
      case "try":
        Optional<Hold> got = fairlock.tryLock(it.keys().get(0), options(it));
        return got.isPresent() ? keep(it, got.get()) : reply("token", null);
      case "cancel":
        Thread thread = operations.get(it.number("acquire"));
        if (thread != null) {
          thread.interrupt();
        }
        return reply("ok", true);
      case "work":
        return new Work(it).run();
      case "rate":
        return rate(it);
      case "fork":
        throw new UnsupportedOperationException("Java has no fork");
      default:
        return use(it, holds.get(it.text("hold")));
    }
  }

  private Map<String, Object> use(Request it, Hold hold) {
    switch (it.text("do")) {
      case "release":
        hold.unlock();
        break;
      case "check":
        hold.check();
        break;
      case "renew":
        if (it.number("lease") == null) {
          hold.renew();
        } else {
          hold.renew(it.time("lease"));
        }
        break;
      case "left":
        return reply("left", hold.left().toNanos() / 1e9);
      case "token":
        return reply("token", hold.token());
      case "transfer":
        return reply("token", hold.transfer(it.text("to")));
      default:
        throw new IllegalArgumentException("unknown operation " + it.text("do"));
    }
    return reply("ok", true);
  }

  private Map<String, Object> keep(Request it, Hold hold) {
    holds.put(it.text("hold"), hold);
    Map<String, Object> reply = reply("token", hold.token());
    reply.put("owner", hold.owner());
    return reply;
  }

  private static LockOptions options(Request it) {
    LockOptions options = LockOptions.defaults().label(it.text("label")).meta(it.text("meta"))
        .andKeys(it.keys().subList(1, it.keys().size()).toArray(String[]::new))
        .onLost(lost -> {
          Map<String, Object> event = reply("event", LOST);
          event.put("hold", it.text("hold"));
          write(event);
        });
    if (it.number("lease") != null) {
      options = options.lease(it.time("lease"));
    }
    if (it.number("wait") != null) {
      options = options.waitAtMost(it.time("wait"));
    }
    if (it.number("keep") != null) {
      options = options.keep(it.time("keep"));
    }
    if (it.number("min_hold") != null) {
      options = options.minHold(it.time("min_hold"));
    }
    if (it.number("limit") != null) {
      options = options.limit(it.number("limit").intValue());
    }
    if (it.text("owner") != null) {
      options = options.owner(it.text("owner"));
    }
    options = it.is("shared") ? options.shared() : options;
    options = it.is("channel") ? options.hearLossAtOnce() : options;
    return Boolean.FALSE.equals(it.fields.get("renew")) ? options.withoutRenewal() : options;
  }

  /** Workers that compete for a key: futures if they wait over the channel, otherwise threads. */
  private final class Work {

    private final String key;
    private final int count;
    private final long end;
    private final boolean isAsync;
    private final LockOptions options;
    private int grants;
    private long last;
    private boolean isFalling;

    Work(Request it) {
      key = it.text("key");
      count = it.number("count").intValue();
      Double seconds = it.number("seconds");
      end = System.nanoTime() + (seconds == null ? 0 : it.time("seconds").toNanos());
      isAsync = it.is("channel");
      LockOptions made = it.number("lease") == null ? LockOptions.defaults()
          : LockOptions.defaults().lease(it.time("lease"));
      options = isAsync ? made.hearLossAtOnce() : made;
    }

    /**
     * Only the lock of the server keeps the order of the tokens; the monitor protects the memory.
     */
    private synchronized void add(long token) {
      grants++;
      isFalling |= token <= last;
      last = token;
    }

    private CompletableFuture<Void> chain() {
      return fairlock.lockAsync(key, options).thenCompose(hold -> {
        add(hold.token());
        return hold.unlockAsync();
      }).thenCompose(done -> System.nanoTime() - end < 0 ? chain()
          : CompletableFuture.completedFuture(null));
    }

    private Void loop() throws InterruptedException {
      do {
        try (Hold hold = fairlock.lock(key, options)) {
          add(hold.token());
        }
      } while (System.nanoTime() - end < 0);
      return null;
    }

    private CompletableFuture<Void> inThread(Callable<Void> call) {
      CompletableFuture<Void> done = new CompletableFuture<>();
      new Thread(() -> {
        try {
          done.complete(call.call());
        } catch (Exception e) {
          done.completeExceptionally(e);
        }
      }).start();
      return done;
    }

    Map<String, Object> run() {
      CompletableFuture<?>[] all = new CompletableFuture<?>[count];
      for (int i = 0; i < count; i++) {
        all[i] = isAsync ? chain() : inThread(this::loop);
      }
      CompletableFuture.allOf(all).join();
      synchronized (this) {
        Map<String, Object> reply = reply("grants", grants);
        reply.put("rising", !isFalling);
        return reply;
      }
    }
  }

  private record Word(String name) implements ProtocolKeyword {

    @Override
    public byte[] getBytes() {
      return name.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    @SuppressWarnings("deprecation") // Lettuce 6 needs this.
    public String name() {
      return name;
    }
  }

  /**
   * Divides the time into many slices, which alternate between the two loops, and returns the best
   * one of each.
   */
  private Map<String, Object> rate(Request it) throws Exception {
    double slice = it.number("seconds") / (2 * RATE_SLICES);
    RedisClient client = RedisClient.create(address);
    client.setOptions(options);
    try (var connection = client.connect()) {
      var raw = connection.sync();
      double library = 0;
      double bare = 0;
      for (int i = 0; i < RATE_SLICES; i++) {
        library = Math.max(library, perSecond(slice, () -> {
          try (Hold hold = fairlock.lock("rate")) {
            hold.token();
          }
          return null;
        }));
        bare = Math.max(bare, perSecond(slice, () -> {
          Long token = raw.dispatch(new Word("LOCK"), new IntegerOutput<>(StringCodec.UTF8),
              words("rate:raw", "raw", "PX", "30000"));
          raw.dispatch(new Word("UNLOCK"), new IntegerOutput<>(StringCodec.UTF8),
              words("rate:raw", "raw", "TOKEN", Long.toString(token)));
          return null;
        }));
      }
      Map<String, Object> reply = reply("library", library);
      reply.put("raw", bare);
      return reply;
    } finally {
      client.shutdownAsync();
    }
  }

  private static CommandArgs<String, String> words(String... all) {
    CommandArgs<String, String> words = new CommandArgs<>(StringCodec.UTF8);
    Arrays.stream(all).forEach(words::add);
    return words;
  }

  private static double perSecond(double seconds, Callable<Void> once) throws Exception {
    long begun = System.nanoTime();
    long end = begun + Math.round(seconds * 1e9);
    int count = 0;
    do {
      once.call();
      count++;
    } while (System.nanoTime() < end);
    return count * 1e9 / (System.nanoTime() - begun);
  }
}
