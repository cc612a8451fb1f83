package io.fairlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.net.SocketException;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;

/** What the conformance cases do not reach. */
class FairlockTest extends Bench {

  private static final Duration MOMENT = Duration.ofMillis(100);

  /** Each place that takes a time; whether it may be 0. */
  private static final Map<String, Boolean> TIMES = Map.of("lease", false, "wait", true,
      "keep", true, "minimal hold", true, "renew", false,
      "renewAsync", false, "transferAsync", false);

  private static void useTime(String place, Hold hold, Duration time) {
    LockOptions options = LockOptions.defaults();
    switch (place) {
      case "lease" -> options.lease(time);
      case "wait" -> options.waitAtMost(time);
      case "keep" -> options.keep(time);
      case "minimal hold" -> options.minHold(time);
      case "renew" -> hold.renew(time);
      case "renewAsync" -> hold.renewAsync(time);
      default -> hold.transferAsync("other", time);
    }
  }

  @Test
  void timesAreCheckedAtTheCall() throws Exception {
    Duration year = Duration.ofDays(365);
    List<Duration> wrong = List.of(Duration.ofNanos(-1), Duration.ofSeconds(Long.MIN_VALUE),
        Duration.ofNanos(1), Duration.ofNanos(30), Duration.ofNanos(999_999),
        year.plusNanos(1), Duration.ofSeconds(Long.MAX_VALUE));
    try (Hold hold = fairlock.lock("k")) {
      long before = requests();
      TIMES.forEach((place, mayBeZero) -> {
        for (Duration time : wrong) {
          var e = assertThrows(IllegalArgumentException.class, () -> useTime(place, hold, time));
          assertContains(e.getMessage(), "got " + time);
        }
        if (!mayBeZero) {
          assertThrows(IllegalArgumentException.class, () -> useTime(place, hold, Duration.ZERO));
        } else {
          useTime(place, hold, Duration.ZERO);
        }
        if (!place.endsWith("Async")) {
          assertThrows(IllegalArgumentException.class, () -> useTime(place, hold, null));
        }
      });
      assertEquals(before, requests());
      for (String place : List.of("lease", "wait", "keep", "minimal hold", "renew")) {
        useTime(place, hold, Duration.ofMillis(1));
        useTime(place, hold, year);
      }
      hold.check();
    }
  }

  @Test
  void numbersAndNamesAreCheckedAtTheCall() throws Exception {
    LockOptions options = LockOptions.defaults();
    for (Runnable wrong : List.<Runnable>of(() -> options.limit(0), () -> options.limit(-1),
        () -> options.maxWaiters(-1), () -> options.owner(""), () -> options.owner(null),
        () -> options.shared().limit(2), () -> options.limit(2).shared())) {
      assertThrows(IllegalArgumentException.class, wrong::run);
    }
    try (Hold hold = fairlock.lock("k", options.andKeys("j"))) {
      assertThrows(IllegalArgumentException.class, () -> hold.transfer("other"));
      assertEquals(List.of("k", "j"), hold.keys());
    }
    try (Hold hold = fairlock.lock("k")) {
      assertThrows(IllegalArgumentException.class, () -> hold.transfer(""));
      hold.check();
    }
  }

  /** An outer and an inner lock of k in one thread; whether the inner one is granted. */
  private record Nested(LockOptions outer, LockOptions inner, boolean isGranted) {}

  @Test
  void aNestedLockSaysSoAtOnce() throws Exception {
    LockOptions plain = LockOptions.defaults();
    for (Nested it : List.of(new Nested(plain, plain, false),
        new Nested(plain.shared(), plain, false), new Nested(plain, plain.shared(), false),
        new Nested(plain.shared(), plain.shared(), true),
        new Nested(plain.limit(2), plain.limit(2), true),
        new Nested(plain.limit(1), plain.limit(1), false),
        new Nested(plain.andKeys("x", "j"), plain.andKeys("j"), false),
        new Nested(plain.owner("me"), plain.owner("me"), true),
        new Nested(plain, plain.waitAtMost(Duration.ofHours(1)), false),
        new Nested(plain, plain.keep(Duration.ofSeconds(1)), false))) {
      try (Hold outer = fairlock.lock("k", it.outer)) {
        if (it.isGranted) {
          fairlock.lock("k", it.inner).unlock();
          if (it.inner.owner != null) { // It was the same hold.
            assertThrows(FairlockException.LostHold.class, outer::unlock);
          }
          continue;
        }
        var e = assertThrows(FairlockException.Deadlock.class, () -> fairlock.lock("k", it.inner));
        assertContains(e.getMessage(), outer.owner());
        assertContains(e.getMessage(), "\"k\"");
        assertTrue(fairlock.tryLock("k", it.inner).isEmpty());
        outer.check();
      }
      assertFree("k", "x", "j");
    }
  }

  @Test
  void whatIsNotNested() throws Exception {
    Hold released = fairlock.lock("k");
    released.unlock();
    Hold hold = fairlock.lock("k");
    fairlock.lock("other").unlock();
    CompletableFuture<Hold> elsewhere = inThread(() -> fairlock.lock("k"));
    until("waits", () -> waiters("k") == 1);
    CompletableFuture<Hold> future = fairlock.lockAsync("k", LockOptions.defaults());
    until("waits", () -> waiters("k") == 2);
    hold.unlock();
    get(elsewhere).unlock();
    get(future).unlock();
    assertFree("k", "other");
  }

  @Test
  void aDroppedHoldIsNotRenewed() throws Exception {
    var records = new ConcurrentLinkedQueue<String>();
    Handler handler = handler(records);
    Logger.getLogger("io.fairlock").addHandler(handler);
    var losses = new ConcurrentLinkedQueue<String>();
    LockOptions options = LockOptions.defaults().lease(Duration.ofSeconds(3))
        .onLost(hold -> losses.addAll(hold.keys()));
    List<String> dropped = List.of("dropped", "with channel");
    drop("dropped", options);
    drop("with channel", options.hearLossAtOnce());
    Hold kept = fairlock.lock("kept", BRIEF);
    try {
      until("dropped", () -> {
        System.gc();
        return !isHeld("dropped") && !isHeld("with channel");
      });
      until("reported", () -> losses.containsAll(dropped));
      for (String key : dropped) {
        assertTrue(records.stream().anyMatch(it -> it.contains("\"" + key + "\" was dropped")),
            records::toString);
      }
      assertFalse(records.stream().anyMatch(it -> it.contains("\"kept\" was dropped")),
          records::toString);
    } finally {
      Logger.getLogger("io.fairlock").removeHandler(handler);
    }
    assertEquals(2, losses.size());
    assertEquals("kept", kept.keys().get(0)); // until here
  }

  private void drop(String key, LockOptions options) throws InterruptedException {
    fairlock.lock(key, options).check();
  }

  private static Handler handler(ConcurrentLinkedQueue<String> records) {
    return new Handler() {
      @Override
      public void publish(LogRecord record) {
        records.add(java.text.MessageFormat.format(record.getMessage(), record.getParameters()));
      }

      @Override
      public void flush() {}

      @Override
      public void close() {}
    };
  }

  @Test
  void eachReleaseButTheFirstSaysThatTheHoldIsLost() throws Exception {
    Hold hold = fairlock.lock("k");
    long token = hold.token();
    hold.unlock();
    assertThrows(FairlockException.LostHold.class, hold::unlock);
    assertThrows(FairlockException.LostHold.class, hold::check);
    assertThrows(FairlockException.LostHold.class, hold::token);
    assertThrows(FairlockException.LostHold.class, hold::renew);
    assertThrows(FairlockException.LostHold.class, () -> hold.transfer("x"));
    assertThrows(ExecutionException.class, () -> get(hold.unlockAsync()));
    assertFalse(hold.isHeld());
    hold.close(); // The block has released it.
    Hold next = fairlock.lock("k");
    assertTrue(next.token() > token);
    CompletableFuture<?>[] both = {next.unlockAsync(), next.unlockAsync()};
    assertEquals(1, List.of(both).stream().filter(it -> {
      it.handle((done, failure) -> null).join();
      return it.isCompletedExceptionally();
    }).count());
    assertFree("k");
  }

  @Test
  void theEndOfABlockReportsALostHold() throws Exception {
    AtomicInteger losses = new AtomicInteger();
    var e = assertThrows(FairlockException.LostHold.class, () -> {
      try (Hold hold = fairlock.lock("k",
          LockOptions.defaults().hearLossAtOnce().onLost(it -> losses.incrementAndGet()))) {
        ask("BREAK", "k");
        until("lost", () -> !hold.isHeld());
        hold.token();
      }
    });
    assertContains(e.getMessage(), "\"k\"");
    assertEquals(List.of("k"), e.keys());
    until("reported", () -> losses.get() == 1);
    assertThrows(FairlockException.LostHold.class, () -> {
      try (Hold hold = fairlock.lock("k", BRIEF.withoutRenewal())) {
        until("over", () -> hold.left().isNegative());
        assertFalse(hold.isHeld());
      }
    });
    assertFree("k");
  }

  @Test
  void aDenialNamesTheKeysAndTheHolders() throws Exception {
    ask("LOCK", "k", "worker-2", "PX", "60000", "META", "release 17");
    var e = assertThrows(FairlockException.Denied.class,
        () -> fairlock.lock("k", LockOptions.waiting(Duration.ofMillis(200))));
    assertTrue(e.getMessage().matches(
        "fairlock: \"k\" not granted in [0-9.]+ m?s: held by worker-2 for [0-9.]+ m?s"
            + "(; free in about .*)?"), e::getMessage);
    assertEquals("release 17", e.explanation().holders().get(0).meta());
    assertEquals("timeout", e.explanation().status());
    assertTrue(e.waited().compareTo(Duration.ofMillis(190)) >= 0);
    var at = assertThrows(FairlockException.Denied.class,
        () -> fairlock.lock("k", LockOptions.waiting(Duration.ZERO).andKeys("j")));
    assertContains(at.getMessage(), "\"k\", \"j\" not granted: \"k\" is taken");
    ask("UNLOCK", "k", "worker-2");
  }

  @Test
  void anyTextIsAKeyAndAnOwner() throws Exception {
    for (String text : List.of("{\"a\": [1]}", "line\nbreak", "\u00e4\u20ac\ud83d\ude00",
        " ", "\\u0041")) {
      Hold first = fairlock.lock(text, LockOptions.defaults().owner("1" + text));
      CompletableFuture<Hold> next = fairlock.lockAsync(text, LockOptions.defaults().owner(text));
      until("waits", () -> waiters(text) == 1);
      var e = assertThrows(FairlockException.Denied.class,
          () -> fairlock.lock(text, LockOptions.waiting(Duration.ZERO).owner("2")));
      assertEquals("1" + text, e.explanation().holders().get(0).owner());
      assertFalse(e.getMessage().contains("\n"), e::getMessage);
      first.unlock();
      assertEquals(text, get(next).owner());
      get(next).unlock();
    }
    assertEquals("\\xff\\x00a", Explanation.Text.of(new byte[] {(byte) 0xff, 0, 'a'}));
  }

  @Test
  void anInterruptedWaitLeavesNothing() throws Exception {
    try (Hold hold = fairlock.lock("k")) {
      hold.check();
      CompletableFuture<Hold> result = new CompletableFuture<>();
      Thread waiting = startThread(result, () -> fairlock.lock("k"));
      until("waits", () -> waiters("k") == 1);
      waiting.interrupt();
      var e = assertThrows(ExecutionException.class, () -> get(result));
      assertEquals(InterruptedException.class, e.getCause().getClass());
      assertEquals(0, waiters("k"));
    }
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> fairlock.lock("k"));
    Thread.currentThread().interrupt();
    Hold hold = fairlock.tryLock("k").orElseThrow();
    hold.unlock();
    assertTrue(Thread.interrupted());
    assertFree("k");
  }

  @Test
  void aCancelledFutureLeavesNothing() throws Exception {
    BiConsumer<CompletableFuture<Hold>, Long> cancel = (future, nanos) -> {
      long end = System.nanoTime() + nanos;
      while (System.nanoTime() < end) {
        Thread.onSpinWait();
      }
      future.cancel(true);
    };
    for (int i = 0; i < 50; i++) {
      CompletableFuture<Hold> free = fairlock.lockAsync("k", LockOptions.defaults());
      cancel.accept(free, i * 20_000L);
      if (!free.isCancelled()) {
        get(free).unlock();
      } else {
        assertThrows(CancellationException.class, free::join);
      }
      assertFree("k");
    }
    try (Hold hold = fairlock.lock("k")) {
      hold.check();
      CompletableFuture<Hold> waits = fairlock.lockAsync("k", LockOptions.defaults());
      until("waits", () -> waiters("k") == 1);
      waits.cancel(true);
      until("left", () -> waiters("k") == 0);
    }
    assertFree("k");
  }

  @Test
  void whatIsChainedToAFutureMayBlock() throws Exception {
    String name = get(fairlock.lockAsync("k", LockOptions.defaults()).thenApply(hold -> {
      hold.renew();
      hold.unlock();
      return Thread.currentThread().getName();
    }));
    assertFalse(name.startsWith("lettuce") || name.startsWith("fairlock"), name);
    get(fairlock.lockAsync("k", LockOptions.defaults()).thenCompose(hold ->
        hold.transferAsync("next", null).thenCompose(token ->
            fairlock.lockAsync("k", LockOptions.defaults().owner("next"))))
        .thenCompose(Hold::unlockAsync));
    assertFree("k");
  }

  @Test
  void manyWaitsUseTwoConnections() throws Exception {
    FairlockClient other = client();
    CompletableFuture<?>[] all = new CompletableFuture<?>[300];
    int before = connections();
    try (Hold hold = fairlock.lock("k")) {
      hold.check();
      for (int i = 0; i < all.length; i++) {
        all[i] = other.lockAsync("k", LockOptions.defaults()).thenCompose(Hold::unlockAsync);
      }
      until("wait", () -> waiters("k") == all.length);
      assertEquals(before + 2, connections());
    }
    CompletableFuture.allOf(all).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    assertFree("k");
  }

  private int connections() {
    return Explanation.Text.of(ask("CLIENT", "LIST")).split("\n").length;
  }

  @Test
  void aClosedClientEndsItsWaits() throws Exception {
    FairlockClient other = client();
    Hold hold = other.lock("k", BRIEF);
    CompletableFuture<Hold> waits = other.lockAsync("k", LockOptions.defaults());
    until("waits", () -> waiters("k") == 1);
    other.close();
    var e = assertThrows(ExecutionException.class, () -> get(waits));
    assertContains(e.getMessage(), "the client is closed");
    until("over", () -> !hold.isHeld());
    assertThrows(FairlockException.class, () -> other.lock("k"));
  }

  @Test
  void aServerThatIsNotThereFailsWhenTheWaitIsOver() {
    try (FairlockClient none = FairlockClient.create("redis://127.0.0.1:1")) {
      assertThrows(FairlockException.class, () -> none.tryLock("k"));
      long begun = System.nanoTime();
      var e = assertThrows(FairlockException.class,
          () -> none.lock("k", LockOptions.waiting(MOMENT.multipliedBy(3))));
      assertContains(e.getMessage(), "\"k\"");
      assertTrue(System.nanoTime() - begun >= MOMENT.multipliedBy(3).toNanos());
      assertThrows(FairlockException.class, () -> none.lock("k", LockOptions.waiting(MOMENT)));
    }
  }

  @Test
  void aHandshakeThatEndsWithItsConnectionIsTemporary() {
    SSLException ended = new SSLHandshakeException("Remote host terminated the handshake");
    ended.initCause(new EOFException("SSL peer shut down incorrectly"));
    assertTrue(Failures.isTemporary(new RuntimeException(ended)));
    assertTrue(Failures.isTemporary(new SSLException("Connection reset",
        new SocketException("Connection reset"))));
    assertTrue(Failures.isTemporary(new SSLException("Socket closed")));
    assertFalse(Failures.isTemporary(new RuntimeException(
        new SSLHandshakeException("Received fatal alert: bad_certificate"))));
    assertFalse(Failures.isTemporary(new SSLException("PKIX path building failed",
        new CertificateException("unable to find valid certification path"))));
  }

  @Test
  void ownersDiffer() throws Exception {
    Hold one = fairlock.lock("a");
    Hold other = fairlock.lock("b");
    assertNotEquals(one.owner(), other.owner());
    one.close();
    other.close();
  }

  @Test
  void theClockOnlyRisesAndAgreesWithTheSystem() {
    long last = Clock.now();
    long offset = last - System.nanoTime();
    for (int i = 0; i < 100_000; i++) {
      long next = Clock.now();
      assertTrue(next >= last);
      last = next;
    }
    assertTrue(Math.abs(last - System.nanoTime() - offset) < 1_000_000_000L);
  }

  @Test
  void hashSlotsAreThoseOfRedisCluster() {
    assertEquals(12739, Route.Slots.of("123456789"));
    assertEquals(Route.Slots.of("user1000"), Route.Slots.of("{user1000}.following"));
    assertEquals("foo{}{bar}", Route.Slots.hashTag("foo{}{bar}"));
    for (String key : List.of("k", "{a}b", "{}x", "x".repeat(300), "a}b{", "")) {
      String name = Route.Slots.nameInSlot("fairlock:x", key);
      assertEquals(Route.Slots.of(key), Route.Slots.of(name), key);
      assertTrue(name.length() < 150);
    }
  }
}
