import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.Redisson;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Uses the locks and semaphores of Redisson from two clients, and prints what happened, one line for
 * each step: beside another server, the lines must be the same.
 *
 * <p>RedissonLocks ADDRESS PERMITS
 */
public final class RedissonLocks {
  private static final long WATCHDOG_MS = 1_500;

  private final RedissonClient first;
  private final RedissonClient second;
  private final int permits;
  private final ExecutorService threads = Executors.newCachedThreadPool();

  private RedissonLocks(String address, int permits) {
    first = connect(address);
    second = connect(address);
    this.permits = permits;
  }

  public static void main(String[] arguments) throws Exception {
    RedissonLocks all = new RedissonLocks(arguments[0], Integer.parseInt(arguments[1]));
    try {
      all.run("RLock", all::lock);
      all.run("waiters of an RLock", all::waiters);
      all.run("lease of an RLock", all::lease);
      all.run("RLock after its client ended", all::watchdog);
      all.run("RFairLock", all::fairLock);
      all.run("RReadWriteLock", all::readWriteLock);
      all.run("RFencedLock", all::fencedLock);
      all.run("RSpinLock", all::spinLock);
      all.run("RedissonMultiLock", all::multiLock);
      all.run("RSemaphore", all::semaphore);
      all.run("RPermitExpirableSemaphore", all::permits);
      all.run("RCountDownLatch", all::latch);
    } finally {
      all.threads.shutdownNow();
      all.first.shutdown();
      all.second.shutdown();
    }
  }

  private static RedissonClient connect(String address) {
    Config config = new Config();
    config.setLockWatchdogTimeout(WATCHDOG_MS);
    config.useSingleServer().setAddress("redis://" + address).setConnectionMinimumIdleSize(2);
    return Redisson.create(config);
  }

  private void run(String name, Callable<List<?>> scenario) {
    String result;
    try {
      result = scenario.call().toString();
    } catch (Exception failure) {
      result = "failed: " + failure;
    }
    System.out.println(name + ": " + result);
  }

  private <T> T inThread(Callable<T> work) throws Exception {
    return threads.submit(work).get(60, TimeUnit.SECONDS);
  }

  private List<?> lock() throws Exception {
    RLock lock = first.getLock("lock");
    RLock other = second.getLock("lock");
    List<Object> seen = new ArrayList<>();
    seen.add(lock.tryLock());
    seen.add(lock.tryLock()); // reentrant
    seen.add(lock.getHoldCount());
    seen.add(inThread(() -> lock.tryLock()));
    seen.add(other.tryLock(50, TimeUnit.MILLISECONDS));
    seen.add(other.isLocked());
    seen.add(other.isHeldByCurrentThread());
    try {
      other.unlock();
    } catch (IllegalMonitorStateException refused) {
      seen.add("refused");
    }
    lock.unlock();
    seen.add(other.isLocked());
    lock.unlock();
    seen.add(other.isLocked());
    seen.add(lock.tryLock());
    seen.add(other.forceUnlock());
    seen.add(other.tryLock());
    other.unlock();
    return seen;
  }

  private List<?> waiters() throws Exception {
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    AtomicInteger done = new AtomicInteger();
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      RLock lock = (i % 2 == 0 ? first : second).getLock("waiters");
      all.add(threads.submit(() -> {
        for (int round = 0; round < 20; round++) {
          lock.lock();
          most.accumulateAndGet(inside.incrementAndGet(), Math::max);
          done.incrementAndGet();
          inside.decrementAndGet();
          lock.unlock();
        }
      }));
    }
    for (Future<?> each : all) {
      each.get(120, TimeUnit.SECONDS);
    }
    return List.of(done.get(), most.get(), first.getKeys().countExists("waiters"));
  }

  private List<?> lease() throws Exception {
    RLock lock = first.getLock("lease");
    lock.lock(300, TimeUnit.MILLISECONDS);
    long left = lock.remainTimeToLive();
    boolean isBounded = left > 0 && left <= 300;
    boolean isTaken = inThread(() -> second.getLock("lease").tryLock(10, TimeUnit.SECONDS));
    return List.of(isBounded, isTaken, lock.isHeldByCurrentThread());
  }

  private List<?> watchdog() throws Exception {
    RedissonClient third = Redisson.create(first.getConfig());
    third.getLock("watchdog").lock();
    Thread.sleep(2 * WATCHDOG_MS);
    boolean isRenewed = first.getLock("watchdog").isLocked();
    third.shutdown();
    boolean isTaken = first.getLock("watchdog").tryLock(4 * WATCHDOG_MS, TimeUnit.MILLISECONDS);
    return List.of(isRenewed, isTaken);
  }

  private List<?> fairLock() throws Exception {
    RLock holder = first.getFairLock("fair");
    holder.lock();
    List<Integer> order = new ArrayList<>();
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      int number = i;
      CountDownLatch isStarted = new CountDownLatch(1);
      all.add(threads.submit(() -> {
        RLock lock = (number % 2 == 0 ? first : second).getFairLock("fair");
        isStarted.countDown();
        lock.lock();
        order.add(number);
        lock.unlock();
      }));
      isStarted.await();
      Thread.sleep(150);
    }
    holder.unlock();
    for (Future<?> each : all) {
      each.get(60, TimeUnit.SECONDS);
    }
    return order;
  }

  private List<?> readWriteLock() throws Exception {
    RReadWriteLock lock = first.getReadWriteLock("readers");
    RReadWriteLock other = second.getReadWriteLock("readers");
    List<Object> seen = new ArrayList<>();
    seen.add(lock.readLock().tryLock());
    seen.add(other.readLock().tryLock());
    seen.add(other.writeLock().tryLock(50, TimeUnit.MILLISECONDS));
    lock.readLock().unlock();
    other.readLock().unlock();
    seen.add(other.writeLock().tryLock());
    seen.add(other.readLock().tryLock()); // the writer may read
    seen.add(lock.readLock().tryLock(50, TimeUnit.MILLISECONDS));
    other.readLock().unlock();
    other.writeLock().unlock();
    seen.add(lock.readLock().tryLock());
    lock.readLock().unlock();
    seen.add(first.getKeys().countExists("readers"));
    return seen;
  }

  private List<?> fencedLock() {
    RFencedLock lock = first.getFencedLock("fenced");
    List<Object> seen = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      seen.add(lock.lockAndGetToken());
      lock.unlock();
    }
    return seen;
  }

  private List<?> spinLock() throws Exception {
    RLock lock = first.getSpinLock("spin");
    lock.lock();
    boolean isDenied = !second.getSpinLock("spin").tryLock(100, TimeUnit.MILLISECONDS);
    lock.unlock();
    boolean isTaken = second.getSpinLock("spin").tryLock(5, TimeUnit.SECONDS);
    second.getSpinLock("spin").unlock();
    return List.of(isDenied, isTaken);
  }

  private List<?> multiLock() throws Exception {
    RLock all = first.getMultiLock(first.getLock("m1"), first.getLock("m2"), first.getLock("m3"));
    all.lock();
    boolean isDenied = !second.getLock("m2").tryLock(50, TimeUnit.MILLISECONDS);
    all.unlock();
    boolean isTaken = second.getLock("m2").tryLock();
    boolean isDeniedNow = !all.tryLock(100, TimeUnit.MILLISECONDS);
    second.getLock("m2").unlock();
    return List.of(isDenied, isTaken, isDeniedNow, first.getKeys().countExists("m1", "m2", "m3"));
  }

  private List<?> semaphore() throws Exception {
    RSemaphore semaphore = first.getSemaphore("semaphore");
    List<Object> seen = new ArrayList<>();
    seen.add(semaphore.trySetPermits(3));
    seen.add(semaphore.tryAcquire(2));
    seen.add(second.getSemaphore("semaphore").tryAcquire(2));
    Future<?> waiter = threads.submit(() -> {
      second.getSemaphore("semaphore").acquire(2);
      return null;
    });
    Thread.sleep(100);
    semaphore.release();
    waiter.get(30, TimeUnit.SECONDS);
    seen.add(semaphore.availablePermits());
    seen.add(semaphore.drainPermits());
    semaphore.addPermits(5);
    seen.add(semaphore.availablePermits());
    return seen;
  }

  /** All permits are acquired in portions, some are renewed, all are released: none may be lost. */
  private List<?> permits() throws Exception {
    RPermitExpirableSemaphore semaphore = first.getPermitExpirableSemaphore("permits");
    List<Object> seen = new ArrayList<>();
    seen.add(semaphore.trySetPermits(permits));
    List<String> ids = new ArrayList<>();
    while (ids.size() < permits) {
      int portion = Math.min(500, permits - ids.size());
      ids.addAll(semaphore.tryAcquire(portion, 1_000, 3_600_000, TimeUnit.MILLISECONDS));
    }
    seen.add(ids.stream().distinct().count());
    seen.add(semaphore.availablePermits());
    seen.add(semaphore.acquiredPermits());
    seen.add(second.getPermitExpirableSemaphore("permits").tryAcquire(50, TimeUnit.MILLISECONDS) == null);
    for (int i = 0; i < 50; i++) {
      if (!semaphore.updateLeaseTime(ids.get(i), 7_200, TimeUnit.SECONDS)) {
        seen.add("not renewed");
      }
    }
    int released = 0;
    for (int i = 0; i < permits; i += 500) {
      released += semaphore.tryRelease(ids.subList(i, Math.min(i + 500, permits)));
    }
    seen.add(released);
    seen.add(semaphore.availablePermits());
    seen.add(semaphore.acquiredPermits());
    return seen;
  }

  private List<?> latch() throws Exception {
    RCountDownLatch latch = first.getCountDownLatch("latch");
    List<Object> seen = new ArrayList<>();
    seen.add(latch.trySetCount(2));
    Future<Boolean> waiter =
        threads.submit(() -> second.getCountDownLatch("latch").await(30, TimeUnit.SECONDS));
    latch.countDown();
    seen.add(latch.getCount());
    second.getCountDownLatch("latch").countDown();
    seen.add(waiter.get(60, TimeUnit.SECONDS));
    return seen;
  }
}
