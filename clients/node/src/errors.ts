// The errors of this library. Errors of the connection are those of the Redis client.

import { type Explanation, seconds } from "./replies";

/** The base class of the errors of this library. */
export class FairlockError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** The lock was not granted: at once, or until the wait was over. */
export class Denied extends FairlockError {
  constructor(
    /** Who holds the lock, and how long the wait may take. */
    readonly explanation: Explanation,
    /** The keys that were asked for, as one text. */
    keys: string,
    /** How long the lock was waited for, in milliseconds. */
    readonly waited: number,
  ) {
    const time = waited > 0 ? ` in ${seconds(waited)}` : "";
    super(`${keys} not granted${time}: ${String(explanation)}`);
  }
}

/** The lock is not held any more, or this process can no longer be sure that it is. */
export class LostHold extends FairlockError {}

/** Another request ended the wait: CANCEL, or a newer request of the same owner. */
export class WaitEnded extends FairlockError {}

/** The wait would never end. The text names the owners that wait for each other. */
export class Deadlock extends FairlockError {}

/** The server does not know the commands of fairlock. It may be a Redis server. */
export class NotFairlock extends FairlockError {}

/** The server did not reply in time. */
export class NoReply extends FairlockError {}
