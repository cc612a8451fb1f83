package io.fairlock.spring;

import io.fairlock.FairlockClient;
import io.fairlock.FairlockLock;
import io.fairlock.LockOptions;
import java.time.Duration;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * Locks for Spring Integration: fair, reentrant by thread, renewed until they are released. All
 * threads may use it.
 */
public class FairlockLockRegistry implements LockRegistry {

  private final FairlockClient client;
  private final String prefix;
  private final LockOptions options;

  /**
   * A registry on a client, which it does not close.
   *
   * @param prefix begins each key
   * @param lease 1 ms to 365 days; the time after which a lock is passed on if this process dies
   */
  public FairlockLockRegistry(FairlockClient client, String prefix, Duration lease) {
    this.client = client;
    this.prefix = prefix;
    this.options = LockOptions.defaults().lease(lease);
  }

  /** The lock of this key: the text of the object, after the prefix. Sends nothing. */
  @Override
  public FairlockLock obtain(Object lockKey) {
    return client.asLock(prefix + lockKey, options);
  }
}
