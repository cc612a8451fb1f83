// The function that takes locks.

import { Acquisition } from "./acquisition";
import { namesOf } from "./channel";
import type { RedisClient } from "./clients";
import { Denied } from "./errors";
import { Hold } from "./hold";
import { HoldState } from "./hold_state";
import { carrying, reentered, refuseNested } from "./nesting";
import type { LockOptions } from "./options";
import { Ports } from "./port";
import { checkWait, makeOwner, type Name, Terms } from "./terms";

/** What is done while a lock is held. The signal aborts when the lock is lost. */
export type Work<T> = (hold: Hold, signal: AbortSignal) => T | PromiseLike<T>;

type Keys = Name | readonly Name[];

/** Takes locks of one key, or of several keys that are taken together or not at all. */
export interface Lock {
  /** Takes the lock; rejected with Denied if that takes longer than `wait`. */
  (keys: Keys, options?: LockOptions): Promise<Hold>;
  /** Takes the lock if that is possible without waiting; otherwise the result is null. */
  try(keys: Keys, options?: LockOptions): Promise<Hold | null>;
  /**
   * Does some work while the lock is held, then releases it. If the work succeeds although the
   * lock was lost, the promise is rejected with LostHold. Work that waits for the same lock would
   * wait for itself: it gets Deadlock, unless it is `reentrant` or names an owner.
   */
  using<T>(keys: Keys, options: LockOptions, work: Work<T>): Promise<T>;
  using<T>(keys: Keys, work: Work<T>): Promise<T>;
}

/** Makes the function that takes locks over a Redis client. `defaults` apply to all its locks. */
export function createLock(client: RedisClient, defaults: LockOptions = {}): Lock {
  const ports = Ports.of(client);
  const lock = (keys: Keys, options?: LockOptions): Promise<Hold> =>
    take(ports, keys, { ...defaults, ...options });

  const tryLock = async (keys: Keys, options?: LockOptions): Promise<Hold | null> => {
    try {
      return await lock(keys, { ...options, wait: 0 });
    } catch (error) {
      if (error instanceof Denied) return null;
      throw error;
    }
  };

  const using = async <T>(
    keys: Keys,
    optionsOrWork: LockOptions | Work<T>,
    work?: Work<T>,
  ): Promise<T> =>
    typeof optionsOrWork === "function"
      ? during(ports, await lock(keys), optionsOrWork)
      : during(ports, await lock(keys, optionsOrWork), work!);

  return Object.assign(lock, { try: tryLock, using });
}

async function during<T>(ports: Ports, hold: Hold, work: Work<T>): Promise<T> {
  let result: T;
  try {
    result = await carrying(ports, hold, () => work(hold, hold.signal));
  } catch (error) {
    await hold.release(); // the error of the work is more important than a lost hold
    throw error;
  }
  await hold[Symbol.asyncDispose]();
  return result;
}

async function take(ports: Ports, keys: Keys, options: LockOptions): Promise<Hold> {
  const { owner = makeOwner(), signal } = options;
  const wait = checkWait(options.wait ?? Infinity);
  signal?.throwIfAborted();
  const terms = new Terms(isName(keys) ? [keys] : keys, options, ports.prefix);
  const outer = options.reentrant === true ? reentered(ports, terms, options.owner) : null;
  if (outer !== null) return outer;
  const isNamed = options.owner !== undefined;
  if (wait > 0 && !isNamed) refuseNested(ports, terms);
  const port = ports.at(terms.firstKey);
  const acquisition = new Acquisition(port, terms, owner, wait, signal, isNamed);
  const { mailbox } = acquisition;
  const names = namesOf(terms, owner);
  port.channel.follow(names, mailbox.put);
  try {
    const state = new HoldState(terms, owner, names, await acquisition.run());
    const hold = Hold.of(port, state, options);
    mailbox.takeAll().forEach(state.hear);
    return hold;
  } catch (error) {
    await acquisition.giveUp(error);
    port.channel.unfollow(names, mailbox.put);
    throw error;
  }
}

function isName(keys: Keys): keys is Name {
  return typeof keys === "string" || keys instanceof Uint8Array;
}
