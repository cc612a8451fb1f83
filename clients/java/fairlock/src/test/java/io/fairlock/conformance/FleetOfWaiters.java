package io.fairlock.conformance;

import io.fairlock.FairlockClient;
import io.fairlock.Hold;
import io.fairlock.LockOptions;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/**
 * SIZE threads wait for the lock KEY, one after the other as they come. The program writes "ready"
 * when all are connected, and begins when it reads a line: for how many seconds. At the end, each
 * hold is a line: the kind, the thread, its begin and end in nanoseconds of the machine's monotonic
 * clock, its token, and when it was asked for.
 */
final class FleetOfWaiters {

  private static final long HOLD_MS = 2;

  private FleetOfWaiters() {}

  public static void main(String[] words) throws Exception {
    int size = Integer.parseInt(System.getenv("SIZE"));
    long pauseMs = (long) (1e3 * Double.parseDouble(System.getenv("NATIVE_PAUSE")));
    // The channel: so each lock is asked for once, and its place is that of this request.
    LockOptions options = LockOptions.waiting(Duration.ofSeconds(30)).hearLossAtOnce()
        .lease(Duration.ofMillis(Long.parseLong(System.getenv("LEASE_MS"))));
    String key = System.getenv("KEY");
    CountDownLatch ready = new CountDownLatch(size);
    CompletableFuture<Long> end = new CompletableFuture<>();
    List<List<Object>> holds = Collections.synchronizedList(new ArrayList<>());
    List<Exception> failures = Collections.synchronizedList(new ArrayList<>());
    try (FairlockClient fairlock =
        FairlockClient.create("redis://127.0.0.1:" + System.getenv("PORT"))) {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        int number = i;
        Thread thread = new Thread(() -> {
          try {
            // Java is slow at the beginning, and connects only now.
            fairlock.lock(key + ":" + number, options).unlock();
            ready.countDown();
            while (System.nanoTime() < end.join()) {
              long asked = System.nanoTime();
              try (Hold hold = fairlock.lock(key, options)) {
                long begin = System.nanoTime();
                long token = hold.token();
                Thread.sleep(HOLD_MS);
                hold.check();
                holds.add(List.of("java", number, begin, System.nanoTime(), token, asked));
              }
              Thread.sleep(pauseMs);
            }
          } catch (Exception e) {
            failures.add(e);
          }
        });
        threads.add(thread);
        thread.start();
      }
      ready.await();
      System.out.println("ready");
      String seconds = new BufferedReader(new InputStreamReader(System.in)).readLine();
      end.complete(System.nanoTime() + (long) (1e9 * Double.parseDouble(seconds)));
      for (Thread it : threads) {
        it.join();
      }
    }
    holds.forEach(it -> System.out.println(
        "[\"" + it.get(0) + "\"" + it.stream().skip(1).map(word -> ", " + word)
            .reduce("", String::concat) + "]"));
    for (Exception it : failures) {
      it.printStackTrace();
    }
    System.exit(failures.isEmpty() ? 0 : 1);
  }
}
