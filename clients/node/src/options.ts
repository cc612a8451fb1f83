// What a caller may say about a lock.

import type { Hold } from "./hold";
import type { Name } from "./terms";

/** All times are in milliseconds. */
export interface LockOptions {
  /** How long the lock is held if it is not renewed; 30,000 by default. */
  lease?: number;
  /** How long to wait: 0 does not wait, Infinity (the default) waits without end. */
  wait?: number;
  /** Cancels the wait; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Renews the lease when a third of it is left; true by default. */
  renew?: boolean;
  /** Names one execution; by default, each acquisition has its own owner. */
  owner?: Name;
  /** Any number of owners may share the key, but no exclusive one. */
  shared?: boolean;
  /** How many owners may hold the key at once. */
  limit?: number;
  /** How long the place in the queue is kept for an owner that does not ask. */
  keep?: number;
  /** How long the key stays taken after the grant, even if it is released. */
  minHold?: number;
  /** Do not wait if this many others do. */
  maxWaiters?: number;
  /** Shown to others. */
  meta?: Name;
  /** The kind of lock, shown to others and counted in statistics. */
  label?: string;
  /**
   * In the work of `using()` of a lock of the same keys in the same way, gets the same hold again,
   * without a request; the last release ends it. All other options are then those of the first
   * acquisition. False by default.
   */
  reentrant?: boolean;
  /** Called once with a hold that is lost, in addition to `hold.signal`. */
  onLost?: (hold: Hold) => unknown;
}
