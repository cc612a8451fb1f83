package io.fairlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisDataException;

/** What is different on Jedis. The other tests run on it, too, without Lettuce. */
class JedisTest extends Bench {

  private static final String THREADS = "fairlock-jedis";

  private static FairlockClient onJedis() {
    return FairlockClient.onJedis().address(address()).build();
  }

  private static Set<Thread> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(it -> it.getName().equals(THREADS)).collect(Collectors.toSet());
  }

  /** The threads that there were not before. */
  private static Set<Thread> threadsSince(Set<Thread> before) {
    Set<Thread> found = threads();
    found.removeAll(before);
    return found;
  }

  @Test
  void lettuceIsOnlyLoadedIfItIsThere() {
    boolean isThere = System.getProperty("java.class.path").contains("lettuce-core");
    assertEquals(isThere, Transport.has("io.lettuce.core.RedisClient"));
  }

  @Test
  void manyThreadsShareTwoConnections() throws Exception {
    try (FairlockClient jedis = onJedis()) {
      AtomicInteger holders = new AtomicInteger();
      List<CompletableFuture<Void>> all = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        String own = "own:" + i;
        all.add(inThread(() -> {
          for (int turn = 0; turn < 100; turn++) {
            jedis.lock(own).unlock();
            if (turn % 10 == 0) {
              try (Hold hold = jedis.lock("shared")) {
                assertEquals(1, holders.incrementAndGet());
                hold.renew();
                holders.decrementAndGet();
              }
              jedis.lockAsync(own, LockOptions.defaults()).thenCompose(Hold::unlockAsync).get();
            }
          }
          return null;
        }));
      }
      for (CompletableFuture<Void> it : all) {
        get(it);
      }
    }
    assertFree("shared");
  }

  @Test
  void aBlockingCallInACallbackReadsItsOwnReply() throws Exception {
    try (FairlockClient jedis = FairlockClient.onJedis().address(address())
        .executor(Runnable::run).build()) {
      get(jedis.lockAsync("k", LockOptions.defaults()).thenAccept(hold -> {
        hold.renew();
        hold.unlock();
      }));
    }
    assertFree("k");
  }

  @Test
  void aConnectionThatTheServerClosedIsNotUsedAgain() throws Exception {
    try (FairlockClient jedis = onJedis()) {
      for (int i = 0; i < 5; i++) {
        Set<Thread> before = threads();
        jedis.tryLock("k").orElseThrow().unlock();
        String id = jedis.ask(List.of("CLIENT", "ID")).join().reply().toString();
        Set<Thread> its = threadsSince(before);
        assertFalse(its.isEmpty());
        assertEquals(1L, ask("CLIENT", "KILL", "ID", id));
        until("noticed", () -> its.stream().noneMatch(Thread::isAlive));
      }
    }
  }

  @Test
  void nothingIsLeftOfAClosedClient() throws Exception {
    Set<Thread> before = threads();
    FairlockClient jedis = onJedis();
    Hold hold = jedis.lock("k");
    CompletableFuture<Hold> waits = jedis.lockAsync("k", LockOptions.defaults());
    until("waits", () -> waiters("k") == 1);
    Set<Thread> its = threadsSince(before);
    assertFalse(its.isEmpty());
    hold.unlock();
    get(waits).unlock();
    jedis.close();
    until("ended", () -> its.stream().noneMatch(Thread::isAlive));
    assertFree("k");
  }

  @Test
  void anInterruptedThreadHasNothing() throws Exception {
    try (FairlockClient jedis = onJedis()) {
      try (Hold hold = jedis.lock("k")) {
        hold.check();
        CompletableFuture<Hold> result = new CompletableFuture<>();
        Thread waiting = startThread(result, () -> jedis.lock("k"));
        until("waits", () -> waiters("k") == 1);
        waiting.interrupt();
        var e = assertThrows(ExecutionException.class, () -> get(result));
        assertEquals(InterruptedException.class, e.getCause().getClass());
        assertEquals(0, waiters("k"));
      }
    }
    assertFree("k");
  }

  @Test
  void anErrorOfTheServerIsThatOfJedis() {
    try (FairlockClient jedis = FairlockClient.onJedis().address(address())
        .config(DefaultJedisClientConfig.builder().database(15).user("nobody").password("wrong")
            .build()).build()) {
      var e = assertThrows(FairlockException.class,
          () -> jedis.lock("k", LockOptions.waiting(Duration.ofSeconds(60))));
      assertTrue(e.getCause() instanceof JedisDataException, e::toString);
      assertContains(e.getMessage(), "\"k\"");
    }
  }

  @Test
  void addressesAreReadAsLettuceReadsThem() {
    JedisAddress plain = JedisAddress.of("redis://localhost");
    assertEquals(List.of(new HostAndPort("localhost", 6379)), plain.places());
    assertFalse(plain.isTls());
    assertNull(plain.user());
    assertNull(plain.password());
    JedisAddress full = JedisAddress.of("rediss://a%40b:p%3a%2fs+%C3%A4:x@[::1]:7/3?timeout=1s");
    assertTrue(full.isTls());
    assertEquals("a@b", full.user());
    assertEquals("p:/s+\u00e4:x", full.password());
    assertEquals(new HostAndPort("::1", 7), full.places().get(0));
    assertEquals(3, full.database());
    assertEquals("secret", JedisAddress.of("redis://secret@h").password());
    assertEquals("secret", JedisAddress.of("redis://:secret@h").password());
    assertNull(JedisAddress.of("redis://:secret@h").user());
    JedisAddress named = JedisAddress.of("redis-sentinel://u:p@a:1,b,c:3/2#main");
    assertEquals("main", named.master());
    assertEquals(2, named.database());
    assertEquals(List.of(new HostAndPort("a", 1), new HostAndPort("b", 26379),
        new HostAndPort("c", 3)), named.places());
  }

  @Test
  void aWrongAddressIsRefusedWithoutItsPassword() {
    for (String wrong : List.of("http://u:secret@h", "u:secret@h:1", "redis://u:secret@",
        "redis://u:secret@h:x", "redis://u:secret@h/x", "redis-sentinel://u:secret@h:1")) {
      var e = assertThrows(IllegalArgumentException.class,
          () -> FairlockClient.onJedis().address(wrong).build(), wrong);
      assertFalse(e.toString().contains("secret"), e::toString);
      assertContains(e.getMessage(), "fairlock: an address ");
    }
    assertThrows(IllegalArgumentException.class, () -> FairlockClient.onJedis().build());
    assertThrows(IllegalArgumentException.class, () -> FairlockClient.onJedis().cluster());
    assertThrows(IllegalArgumentException.class,
        () -> FairlockClient.onJedis().timeout(Duration.ofNanos(5)));
  }
}
