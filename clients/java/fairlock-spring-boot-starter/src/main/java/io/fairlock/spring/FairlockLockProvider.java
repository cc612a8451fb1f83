package io.fairlock.spring;

import io.fairlock.FairlockClient;
import io.fairlock.FairlockException;
import io.fairlock.Hold;
import io.fairlock.LockOptions;
import java.time.Duration;
import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/**
 * Locks for ShedLock: {@code lockAtMostFor} is the lease, which is not renewed, and
 * {@code lockAtLeastFor} the minimal hold. {@link SimpleLock#extend} renews the lease and does not
 * change the minimal hold; so {@code KeepAliveLockProvider} works, too. All threads may use it.
 */
public class FairlockLockProvider implements ExtensibleLockProvider {

  private final FairlockClient client;
  private final String prefix;

  /** A provider on a client, which it does not close; the prefix begins each key. */
  public FairlockLockProvider(FairlockClient client, String prefix) {
    this.client = client;
    this.prefix = prefix;
  }

  @Override
  public Optional<SimpleLock> lock(LockConfiguration configuration) {
    LockOptions options = LockOptions.defaults().withoutRenewal()
        .lease(atLeastOneMillisecond(configuration.getLockAtMostFor()))
        .minHold(configuration.getLockAtLeastFor()).label("shedlock");
    try {
      return client.tryLock(prefix + configuration.getName(), options)
          .map(hold -> new HeldLock(configuration, hold));
    } catch (FairlockException e) {
      throw new LockException("Can not take the lock", e);
    }
  }

  private static Duration atLeastOneMillisecond(Duration time) {
    return time.compareTo(Duration.ofMillis(1)) < 0 ? Duration.ofMillis(1) : time;
  }

  private static final class HeldLock extends AbstractSimpleLock {

    private final Hold hold;

    HeldLock(LockConfiguration configuration, Hold hold) {
      super(configuration);
      this.hold = hold;
    }

    @Override
    protected void doUnlock() {
      try {
        hold.unlock();
      } catch (FairlockException.LostHold e) {
        // The task took longer than lockAtMostFor, after which another one may run: as ShedLock
        // says.
        System.getLogger("io.fairlock").log(System.Logger.Level.WARNING, e.getMessage());
      }
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration newConfiguration) {
      try {
        hold.renew(atLeastOneMillisecond(newConfiguration.getLockAtMostFor()));
        return Optional.of(new HeldLock(newConfiguration, hold));
      } catch (FairlockException.LostHold e) {
        return Optional.empty();
      }
    }
  }
}
