package io.fairlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;

/** A server, whose port the environment names, and clients that are closed after each test. */
class Bench {

  /** How long to wait for what must happen. */
  static final Duration PATIENCE = Duration.ofSeconds(120);

  static final LockOptions BRIEF = LockOptions.defaults().lease(Duration.ofMillis(600));

  private final List<FairlockClient> clients = new ArrayList<>();
  FairlockClient fairlock;

  static String address() {
    String port = System.getenv("FAIRLOCK_PORT");
    Assumptions.assumeTrue(port != null, "tests/run.py starts a server");
    return "redis://127.0.0.1:" + port;
  }

  @BeforeEach
  void connect() throws Exception {
    fairlock = client();
    // A Java program is slow at the beginning.
    until("asked", () -> fairlock.ping().handle((done, failure) -> failure == null).join());
    ask("BREAK", "k");
  }

  @AfterEach
  void close() {
    clients.forEach(FairlockClient::close);
  }

  FairlockClient client() {
    FairlockClient client = FairlockClient.create(address());
    clients.add(client);
    return client;
  }

  /** Asks the server with the connection of the client. */
  Object ask(String... words) {
    return fairlock.ask(List.of(words)).join().reply();
  }

  boolean isHeld(String key) {
    return !Long.valueOf(0).equals(ask("LOCKED", key));
  }

  int waiters(String key) {
    return ((List<?>) ask("QUEUE", key, "COUNT", "1000")).size();
  }

  void assertFree(String... keys) throws Exception {
    for (String key : keys) {
      until("free " + key, () -> !isHeld(key) && waiters(key) == 0);
    }
  }

  void until(String what, Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() > end) {
        fail("not in time: " + what);
      }
      Thread.sleep(10);
    }
  }

  /** The result of a call in a new thread. */
  static <T> CompletableFuture<T> inThread(Callable<T> call) {
    CompletableFuture<T> result = new CompletableFuture<>();
    startThread(result, call);
    return result;
  }

  static <T> Thread startThread(CompletableFuture<T> result, Callable<T> call) {
    Thread thread = Executors.defaultThreadFactory().newThread(() -> {
      try {
        result.complete(call.call());
      } catch (Throwable e) {
        result.completeExceptionally(e);
      }
    });
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  static <T> T get(CompletableFuture<T> future) throws Exception {
    return future.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  /** How often the server has executed the commands that change locks. */
  long requests() {
    String stats = Explanation.Text.of(ask("INFO", "commandstats"));
    long sum = 0;
    for (String line : stats.split("\r?\n")) {
      if (line.matches("cmdstat_(m?lock|m?unlock|m?renew|transfer):calls=.*")) {
        sum += Long.parseLong(line.replaceAll(".*:calls=(\\d+).*", "$1"));
      }
    }
    return sum;
  }

  void assertContains(String text, String part) {
    assertEquals(part, text.contains(part) ? part : text);
  }
}
