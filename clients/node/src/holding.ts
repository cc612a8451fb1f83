// What is done for a hold while the program has it.

import { now } from "./clock";
import { isTemporary, pause, translated, warn } from "./failures";
import type { HoldState } from "./hold_state";
import type { Port } from "./port";
import { Renewal, renewOnce, UNKNOWN } from "./renewal";
import { newerToken } from "./replies";
import type { Command, Name } from "./terms";
import { sleep } from "./waiting";

// A release, or a transfer, is repeated for this time.
const REPEAT_MS = 5000;

/**
 * Renews a hold, and ends it. Timers and the channel refer to it, but it does not refer to the Hold
 * that the program has: if the program drops that, the lock ends with its lease.
 */
export class Holding {
  readonly #renewal: Renewal;
  /** One for each acquisition that has not been released. */
  readonly #sharers = new Set<symbol>();
  #releasing: Promise<boolean> | undefined;

  constructor(
    private readonly port: Port,
    readonly state: HoldState,
    renews: boolean,
  ) {
    port.channel.follow(state.names, state.hear);
    this.#renewal = new Renewal(port, state, renews);
  }

  /** The hold is lost. */
  stopRenewal(): void {
    this.#renewal.stop();
  }

  /** Counts an acquisition. */
  join(): symbol {
    const sharer = Symbol();
    this.#sharers.add(sharer);
    return sharer;
  }

  /** Whether this acquisition is over, and others are not. */
  hasLeft(sharer: symbol): boolean {
    return this.#sharers.size > 0 && !this.#sharers.has(sharer);
  }

  /** Renews once, and changes the length of the lease if one is given. */
  async renew(lease?: number): Promise<void> {
    const { state } = this;
    try {
      await renewOnce(this.port, state, lease);
      state.lease = lease ?? state.lease;
    } catch (error) {
      throw translated(error, state.terms.names);
    } finally {
      this.#renewal.schedule();
    }
  }

  /** An acquisition is over. The result is whether the lock was held until now. */
  async release(sharer: symbol): Promise<boolean> {
    const isFirst = this.#sharers.delete(sharer);
    if (this.#releasing !== undefined) {
      await this.#releasing;
      return false;
    }
    if (this.state.isOver) return false;
    if (this.#sharers.size > 0) return isFirst && !this.state.isLost;
    return (this.#releasing = this.#releaseOnce());
  }

  /** The program has lost an acquisition without a release. The lock is not renewed any more. */
  drop(sharer: symbol): void {
    const { state } = this;
    this.#sharers.delete(sharer);
    if (this.#sharers.size > 0 || state.isOver || state.isLost) return;
    this.#leave();
    warn(`a hold of ${state.terms.names} was dropped without a release`, "it ends with its lease");
  }

  /** Returns the new owner's token, or null if the hold is lost. */
  async transfer(newOwner: Name, lease: number): Promise<number | null> {
    const { state } = this;
    const { terms, owner, token } = state;
    const command = terms.transfer(owner, token, newOwner, lease);
    state.beginTransfer(newOwner);
    try {
      const newToken = await this.#askTransfer(command, newOwner);
      if (newToken === null) state.lose(UNKNOWN);
      else this.#leave();
      return newToken;
    } catch (error) {
      throw translated(error, terms.names);
    } finally {
      state.endTransfer();
    }
  }

  /**
   * Asks again while the server cannot be reached: the token in the command lets only one of the
   * requests succeed. The result is null if none did.
   */
  async #askTransfer(command: Command, newOwner: Name): Promise<number | null> {
    const { state } = this;
    const { connection } = this.port;
    const { losses } = connection;
    const giveUpAt = now() + REPEAT_MS;
    for (let attempt = 0; ; ++attempt) {
      // A client may have sent it twice.
      const isRepeated = (): boolean => attempt > 0 || connection.losses > losses;
      try {
        const { reply } = await this.port.ask(command, REPEAT_MS);
        if (reply !== null) return Number(reply);
        if (!isRepeated()) return null;
        const info = await this.port.ask(state.terms.info(), REPEAT_MS);
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
    const { names, hear } = this.state;
    this.state.isOver = true;
    this.#renewal.stop();
    this.port.channel.unfollow(names, hear);
  }

  /**
   * If the server cannot be reached, the lease ends the hold later, and the result is what this
   * process knew.
   */
  async #releaseOnce(): Promise<boolean> {
    const { terms, owner, token, isLost } = this.state;
    const { connection } = this.port;
    const { losses } = connection;
    const giveUpAt = now() + REPEAT_MS;
    this.#leave();
    for (let attempt = 0; ; ++attempt) {
      try {
        const { reply } = await this.port.ask(terms.unlock(owner, token), REPEAT_MS);
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
}
