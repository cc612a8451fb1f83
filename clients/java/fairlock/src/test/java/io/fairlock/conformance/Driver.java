package io.fairlock.conformance;

import io.fairlock.FairlockClient;
import io.fairlock.FairlockException;
import io.fairlock.Hold;
import io.fairlock.LockOptions;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Uses the library as an application would: reads one JSON object a line, and writes one JSON
 * object a line, as tests/clients/conformance describes. Each operation has a thread.
 */
public final class Driver {

  private static final int RATE_SLICES = 75;
  private static final String LOST = "lost";

  private final Library library;
  private final FairlockClient fairlock;
  private final Map<String, Hold> holds = new ConcurrentHashMap<>();
  private final Map<Double, Thread> operations = new ConcurrentHashMap<>();

  private Driver(Library library) {
    this.library = library;
    fairlock = library.client();
  }

  /** The library under the client: a program may have only one of them. */
  interface Library {

    FairlockClient client();

    /** A connection for plain commands. */
    Raw raw();
  }

  /** Takes and releases a lock with two commands, each of which waits for its reply. */
  interface Raw extends AutoCloseable {

    /** Returns the token. */
    long lock(String key, String owner);

    void unlock(String key, String owner, long token);
  }

  /** What the environment says. */
  record Wish(String url, Duration timeOut, File authorities, String sentinels,
      List<String> nodes) {

    static Wish ofEnvironment() {
      String seconds = variable("FAIRLOCK_READ_TIMEOUT", "5");
      String authorities = System.getenv("FAIRLOCK_CA");
      String nodes = System.getenv("FAIRLOCK_CLUSTER");
      return new Wish(variable("FAIRLOCK_URL", "redis://127.0.0.1"),
          seconds(Double.parseDouble(seconds)), authorities == null ? null : new File(authorities),
          System.getenv("FAIRLOCK_SENTINELS"), nodes == null ? null : List.of(nodes.split(",")));
    }

    private static String variable(String name, String otherwise) {
      return Optional.ofNullable(System.getenv(name)).orElse(otherwise);
    }
  }

  /** Reads until there is no more, or `exit`. The word is `jedis`, or there is none. */
  public static void main(String[] words) throws Exception {
    Wish wish = Wish.ofEnvironment();
    Driver driver = new Driver(List.of(words).contains("jedis")
        ? new DriverOnJedis(wish) : new DriverOnLettuce(wish));
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

  /** The best of many slices of the time, which alternate. */
  private Map<String, Object> rate(Request it) throws Exception {
    double slice = it.number("seconds") / (2 * RATE_SLICES);
    try (Raw raw = library.raw()) {
      double best = 0;
      double bare = 0;
      for (int i = 0; i < RATE_SLICES; i++) {
        best = Math.max(best, perSecond(slice, () -> {
          try (Hold hold = fairlock.lock("rate")) {
            hold.token();
          }
          return null;
        }));
        bare = Math.max(bare, perSecond(slice, () -> {
          raw.unlock("rate:raw", "raw", raw.lock("rate:raw", "raw"));
          return null;
        }));
      }
      Map<String, Object> reply = reply("library", best);
      reply.put("raw", bare);
      return reply;
    }
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
