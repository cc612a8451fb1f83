package io.fairlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fairlock.FairlockClient;
import io.fairlock.Hold;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import net.javacrumbs.shedlock.support.LockException;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.autoconfigure.health.HealthContributorAutoConfiguration;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.actuate.health.Status;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.integration.support.locks.LockRegistry;

/** The starter with a server, whose port the environment names. */
class SpringTest {

  private ApplicationContextRunner application;

  @BeforeEach
  void configure() {
    String port = System.getenv("FAIRLOCK_PORT");
    Assumptions.assumeTrue(port != null, "tests/run.py starts a server");
    application = new ApplicationContextRunner()
        .withConfiguration(AutoConfigurations.of(FairlockAutoConfiguration.class))
        .withPropertyValues("fairlock.url=redis://127.0.0.1:" + port, "fairlock.prefix=shop:");
  }

  private static Optional<Hold> taken(FairlockClient client, String key) {
    return client.tryLock(key);
  }

  @Test
  void theRegistryHasReentrantLocksOfThreads() {
    application.run(context -> {
      FairlockClient client = context.getBean(FairlockClient.class);
      LockRegistry registry = context.getBean(LockRegistry.class);
      Lock lock = registry.obtain("order:42");
      lock.lock();
      assertThat(registry.obtain("order:42").tryLock()).isTrue();
      assertThat(taken(client, "shop:order:42")).isEmpty();
      boolean elsewhere = CompletableFuture.supplyAsync(() -> registry.obtain("order:42").tryLock())
          .get(30, TimeUnit.SECONDS);
      assertThat(elsewhere).isFalse();
      lock.unlock();
      lock.unlock();
      assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
      assertThat(registry.executeLocked("order:42", () -> 7)).isEqualTo(7);
      Hold free = taken(client, "shop:order:42").orElseThrow();
      free.unlock();
    });
  }

  private static LockConfiguration task(String name, Duration atMost, Duration atLeast) {
    return new LockConfiguration(Instant.now(), name, atMost, atLeast);
  }

  @Test
  void aTaskOfShedLockRunsOnce() {
    application.run(context -> {
      LockProvider provider = context.getBean(LockProvider.class);
      LockConfiguration once = task("once", Duration.ofMinutes(1), Duration.ZERO);
      SimpleLock lock = provider.lock(once).orElseThrow();
      assertThat(provider.lock(once)).isEmpty();
      SimpleLock longer = lock.extend(Duration.ofMinutes(2), Duration.ZERO).orElseThrow();
      assertThat(provider.lock(once)).isEmpty();
      longer.unlock();
      LockingTaskExecutor executor = new DefaultLockingTaskExecutor(provider);
      int[] runs = {0};
      executor.executeWithLock((Runnable) () -> {
        runs[0]++;
        executor.executeWithLock((Runnable) () -> runs[0]++, once);
      }, once);
      assertThat(runs[0]).isGreaterThanOrEqualTo(1);
      provider.lock(once).orElseThrow().unlock();
    });
  }

  @Test
  void shedLocksTimesAreKept() {
    application.run(context -> {
      LockProvider provider = context.getBean(LockProvider.class);
      LockConfiguration least = task("least", Duration.ofHours(1), Duration.ofMinutes(1));
      provider.lock(least).orElseThrow().unlock();
      assertThat(provider.lock(least)).isEmpty();
      LockConfiguration most = task("most", Duration.ofMillis(300), Duration.ZERO);
      SimpleLock late = provider.lock(most).orElseThrow();
      SimpleLock next = null;
      for (Instant end = Instant.now().plusSeconds(30); next == null
          && Instant.now().isBefore(end);) {
        next = provider.lock(task("most", Duration.ofMinutes(1), Duration.ZERO)).orElse(null);
      }
      late.unlock(); // is over
      assertThat(provider.lock(most)).isEmpty();
      next.unlock();
      provider.lock(most).orElseThrow().unlock();
    });
  }

  @Test
  void shedLockKeepsAliveByExtending() {
    application.run(context -> {
      var scheduler = java.util.concurrent.Executors.newSingleThreadScheduledExecutor();
      LockProvider provider = new KeepAliveLockProvider(
          context.getBean(FairlockLockProvider.class), scheduler);
      SimpleLock lock =
          provider.lock(task("alive", Duration.ofSeconds(31), Duration.ZERO)).orElseThrow();
      assertThat(taken(context.getBean(FairlockClient.class), "shop:alive")).isEmpty();
      lock.unlock();
      scheduler.shutdownNow();
    });
  }

  @Test
  void aServerThatIsNotThereIsAnError() {
    application.withPropertyValues("fairlock.url=redis://127.0.0.1:1").run(context -> {
      LockProvider provider = context.getBean(LockProvider.class);
      assertThatThrownBy(() -> provider.lock(task("x", Duration.ofMinutes(1), Duration.ZERO)))
          .isInstanceOf(LockException.class);
      HealthIndicator health = context.getBean(HealthIndicator.class);
      assertThat(health.health().getStatus()).isEqualTo(Status.DOWN);
    });
  }

  @Test
  void healthIsThatOfTheServer() {
    application.withConfiguration(AutoConfigurations.of(HealthContributorAutoConfiguration.class))
        .run(context -> assertThat(context.getBean("fairlockHealthIndicator",
            HealthIndicator.class).health().getStatus()).isEqualTo(Status.UP));
    application.withPropertyValues("management.health.fairlock.enabled=false").run(context ->
        assertThat(context).doesNotHaveBean("fairlockHealthIndicator"));
  }

  @Test
  void eachPartNeedsItsLibrary() {
    application.withClassLoader(new FilteredClassLoader(LockRegistry.class, LockProvider.class,
        HealthIndicator.class)).run(context -> {
          assertThat(context).hasSingleBean(FairlockClient.class);
          assertThat(context).doesNotHaveBean("fairlockLockRegistry");
          assertThat(context).doesNotHaveBean("fairlockLockProvider");
          assertThat(context).doesNotHaveBean("fairlockHealthIndicator");
        });
  }
}
