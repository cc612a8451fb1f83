// A lock that is held.

import { now } from "./clock";
import { LostHold } from "./errors";
import { isTemporary, pause, translated, warn } from "./failures";
import type { HoldState } from "./hold_state";
import type { LockOptions } from "./options";
import type { Port } from "./port";
import { Renewal, renewOnce, UNKNOWN } from "./renewal";
import { newerToken } from "./replies";
import { checkTime, type Command, LEASE_MS_MIN, type Name } from "./terms";
import { sleep } from "./waiting";

// A release, or a transfer, is repeated for this time.
const REPEAT_MS = 5000;

/** A lock that is held. `await using` releases it at the end of the block. */
export class Hold implements AsyncDisposable {
  readonly #port: Port;
  readonly #state: HoldState;
  readonly #renewal: Renewal;
  #release: Promise<boolean> | undefined;

  /** @internal */
  constructor(port: Port, state: HoldState, options: LockOptions) {
    this.#port = port;
    this.#state = state;
    port.channel.follow(state.names, state.hear);
    this.#renewal = new Renewal(port, this.#state, options.renew ?? true);
    state.onLoss = (): void => {
      this.#renewal.stop();
      void this.#report(options.onLost);
    };
  }

  /** The keys that are held. */
  get keys(): readonly Name[] {
    return this.#state.terms.keys;
  }

  /** The owner, as the server knows it. */
  get owner(): Name {
    return this.#state.owner;
  }

  /** The fencing token, to be sent with every write. Throws LostHold like check(). */
  get token(): number {
    this.#state.check();
    return this.#state.token;
  }

  /** The lease lasts at least until this time of now(), unless it is renewed. */
  get deadline(): number {
    return this.#state.deadline;
  }

  /** Aborts when the lock is lost; its reason is the LostHold. */
  get signal(): AbortSignal {
    return this.#state.signal;
  }

  /** Throws LostHold if the lock is lost, or if its lease may have ended. Sends nothing. */
  check(): void {
    this.#state.check();
  }

  /**
   * Renews the lease now; with `lease`, this is its length from now on. A renewal never makes a
   * lease end earlier than before.
   */
  async renew(lease?: number): Promise<void> {
    if (lease !== undefined) checkTime("lease", lease, LEASE_MS_MIN);
    this.#state.check();
    try {
      await renewOnce(this.#port, this.#state, lease);
      this.#state.lease = lease ?? this.#state.lease;
    } catch (error) {
      throw translated(error);
    } finally {
      this.#renewal.schedule();
    }
    this.#state.check();
  }

  /** Releases the lock; the result is whether it was held until now. */
  async release(): Promise<boolean> {
    return (this.#release ??= this.#state.isOver ? Promise.resolve(false) : this.#releaseOnce());
  }

  /**
   * Gives the lock to another owner, and returns its token. The new owner gets its own hold by
   * asking for the lock. From the request on, this hold is not held any more, unless the server
   * refuses the transfer.
   */
  async transfer(newOwner: Name, lease?: number): Promise<number> {
    if (lease !== undefined) checkTime("lease", lease, LEASE_MS_MIN);
    const state = this.#state;
    state.check();
    const { terms, owner, token } = state;
    const command = terms.transfer(owner, token, newOwner, lease ?? state.lease);
    state.beginTransfer(newOwner);
    try {
      const newToken = await this.#askTransfer(command, newOwner);
      if (newToken !== null) {
        this.#leave();
        return newToken;
      }
      state.lose(UNKNOWN);
    } catch (error) {
      throw translated(error);
    } finally {
      state.endTransfer();
    }
    throw this.signal.reason;
  }

  /** Releases the lock, and throws LostHold if it was lost, unless its owner has ended the hold. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state.isOver) {
      await this.#release;
      return;
    }
    if (await this.release()) return;
    throw new LostHold(`${this.#state.terms.names} was lost before it was released`);
  }

  /**
   * Asks again while the server cannot be reached: the token in the command lets only one of the
   * requests succeed. The result is null if none did.
   */
  async #askTransfer(command: Command, newOwner: Name): Promise<number | null> {
    const state = this.#state;
    const { connection } = this.#port;
    const { losses } = connection;
    const giveUpAt = now() + REPEAT_MS;
    for (let attempt = 0; ; ++attempt) {
      // A client may have sent the request twice.
      const isRepeated = (): boolean => attempt > 0 || connection.losses > losses;
      try {
        const { reply } = await this.#port.ask(command, REPEAT_MS);
        if (reply !== null) return Number(reply);
        if (!isRepeated()) return null;
        const info = await this.#port.ask(state.terms.info(), REPEAT_MS);
        return state.isLost ? null : newerToken(newOwner, state.token, info.reply);
      } catch (error) {
        const isFinal = !isTemporary(error);
        if (isFinal && !isRepeated()) state.refuseTransfer();
        if (isFinal || connection.isClosed || now() >= giveUpAt || state.isLost) throw error;
        await sleep(pause(attempt));
      }
    }
  }

  #leave(): void {
    const { names, hear } = this.#state;
    this.#state.isOver = true;
    this.#renewal.stop();
    this.#port.channel.unfollow(names, hear);
  }

  /**
   * If the server cannot be reached, the lease ends the hold later, and the result is what this
   * process knew.
   */
  async #releaseOnce(): Promise<boolean> {
    const { terms, owner, token, isLost } = this.#state;
    const { connection } = this.#port;
    const { losses } = connection;
    const giveUpAt = now() + REPEAT_MS;
    this.#leave();
    for (let attempt = 0; ; ++attempt) {
      try {
        const { reply } = await this.#port.ask(terms.unlock(owner, token), REPEAT_MS);
        // The first of two requests may have been executed although its reply was lost.
        const isRepeated = attempt > 0 || connection.losses > losses;
        return !isLost && (isRepeated || Number(reply) === terms.keys.length);
      } catch (error) {
        if (!isTemporary(error) || connection.isClosed || now() >= giveUpAt) {
          warn(`releasing ${terms.names}`, translated(error));
          return !isLost;
        }
        await sleep(pause(attempt));
      }
    }
  }

  async #report(onLost: LockOptions["onLost"]): Promise<void> {
    try {
      await onLost?.(this);
    } catch (error) {
      warn(`onLost of ${this.#state.terms.names} failed`, error);
    }
  }
}
