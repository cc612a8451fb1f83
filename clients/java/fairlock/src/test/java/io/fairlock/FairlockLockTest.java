package io.fairlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The view of a lock that belongs to a thread. */
class FairlockLockTest extends Bench {

  private static boolean isTrue(CompletableFuture<Boolean> future) throws Exception {
    return get(future);
  }

  @Test
  void aThreadReleasesAsOftenAsItTakes() throws Exception {
    FairlockLock lock = fairlock.asLock("k");
    FairlockLock same = fairlock.asLock("k");
    lock.lock();
    long token = lock.hold().token();
    same.lockInterruptibly();
    assertTrue(lock.tryLock());
    assertTrue(same.tryLock(1, TimeUnit.HOURS));
    assertEquals(token, same.hold().token());
    for (int left = 3; left > 0; left--) {
      lock.unlock();
      assertTrue(lock.isHeldByCurrentThread());
      assertTrue(isHeld("k"));
    }
    same.unlock();
    assertFalse(lock.isHeldByCurrentThread());
    assertFree("k");
    assertThrows(IllegalMonitorStateException.class, lock::unlock);
    assertThrows(IllegalMonitorStateException.class, lock::hold);
  }

  @Test
  void anotherThreadWaitsInTheQueue() throws Exception {
    FairlockLock lock = fairlock.asLock("k");
    lock.lock();
    assertFalse(isTrue(inThread(lock::tryLock)));
    assertFalse(isTrue(inThread(() -> lock.tryLock(50, TimeUnit.MILLISECONDS))));
    assertFalse(isTrue(inThread(() -> lock.tryLock(-1, TimeUnit.DAYS))));
    assertThrows(IllegalMonitorStateException.class, () -> {
      try {
        get(inThread(() -> {
          lock.unlock();
          return null;
        }));
      } catch (ExecutionException e) {
        throw e.getCause();
      }
    });
    CompletableFuture<Boolean> next = inThread(() -> {
      lock.lock();
      boolean isHeld = lock.isHeldByCurrentThread();
      lock.unlock();
      return isHeld;
    });
    until("waits", () -> waiters("k") == 1);
    lock.unlock();
    assertTrue(isTrue(next));
    assertFree("k");
  }

  @Test
  void anInterruptEndsOnlyTheWaitsThatTakeIt() throws Exception {
    FairlockLock lock = fairlock.asLock("k");
    lock.lock();
    CompletableFuture<Boolean> ends = new CompletableFuture<>();
    Thread ending = startThread(ends, () -> {
      lock.lockInterruptibly();
      return true;
    });
    until("waits", () -> waiters("k") == 1);
    CompletableFuture<Boolean> stays = new CompletableFuture<>();
    Thread staying = startThread(stays, () -> {
      lock.lock();
      lock.unlock();
      return Thread.interrupted();
    });
    until("waits", () -> waiters("k") == 2);
    ending.interrupt();
    staying.interrupt();
    var e = assertThrows(ExecutionException.class, () -> get(ends));
    assertEquals(InterruptedException.class, e.getCause().getClass());
    assertEquals(1, waiters("k"));
    lock.unlock();
    assertTrue(isTrue(stays));
    assertFree("k");
  }

  @Test
  void aLostLockIsReported() throws Exception {
    FairlockLock lock = fairlock.asLock("k", LockOptions.defaults().hearLossAtOnce());
    lock.lock();
    lock.lock();
    ask("BREAK", "k");
    until("lost", () -> !lock.isHeldByCurrentThread());
    assertThrows(FairlockException.LostHold.class, lock::lock);
    assertThrows(FairlockException.LostHold.class, lock::tryLock);
    lock.unlock();
    assertThrows(FairlockException.LostHold.class, lock::unlock);
    lock.lock();
    lock.unlock();
    assertFree("k");
  }

  @Test
  void itRefusesWhatItCannotDo() throws Exception {
    FairlockLock lock = fairlock.asLock("k");
    assertThrows(UnsupportedOperationException.class, lock::newCondition);
    try (Hold hold = fairlock.lock("k")) {
      assertFalse(lock.tryLock());
      assertThrows(FairlockException.Deadlock.class, lock::lock);
      hold.check();
    }
  }
}
