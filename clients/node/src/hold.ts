// A lock that is held.

import { LostHold } from "./errors";
import { warn } from "./failures";
import type { HoldState } from "./hold_state";
import { Holding } from "./holding";
import type { LockOptions } from "./options";
import type { Port } from "./port";
import { checkTime, LEASE_MS_MIN, type Name, type Terms } from "./terms";

/** A signal that the program keeps is a use of its hold. */
const OF_SIGNALS = new WeakMap<AbortSignal, Hold>();

const dropped = new FinalizationRegistry<[Holding, symbol]>(([holding, sharer]) => {
  holding.drop(sharer);
});

/**
 * A lock that is held. `await using` releases it at the end of the block. One that is dropped
 * without a release is not renewed any more, and ends with its lease.
 */
export class Hold implements AsyncDisposable {
  readonly #holding: Holding;
  readonly #state: HoldState;
  readonly #sharer: symbol;
  /** The first acquisition of the same hold, unless this is it. */
  readonly #outer: Hold | undefined;
  readonly #onLost: LockOptions["onLost"];
  #controller: AbortController | undefined;

  private constructor(holding: Holding, onLost: LockOptions["onLost"], outer?: Hold) {
    this.#holding = holding;
    this.#state = holding.state;
    this.#onLost = onLost;
    this.#outer = outer;
    this.#sharer = holding.join();
    dropped.register(this, [holding, this.#sharer], this);
  }

  /** @internal */
  static of(port: Port, state: HoldState, options: LockOptions): Hold {
    const hold = new Hold(new Holding(port, state, options.renew ?? true), options.onLost);
    Hold.#tellOfLoss(hold);
    return hold;
  }

  /** The same hold for an acquisition in its work. @internal */
  nested(): Hold {
    return new Hold(this.#holding, undefined, this.#outer ?? this);
  }

  /** The terms, unless this acquisition is over or the lock is not certainly held. @internal */
  get heldTerms(): Terms | null {
    return !this.#hasLeft && this.#state.isCertain ? this.#state.terms : null;
  }

  /** Equal for all acquisitions of the same hold. @internal */
  get identity(): object {
    return this.#holding;
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
    this.check();
    return this.#state.token;
  }

  /** The lease lasts at least until this time of now(), unless it is renewed. */
  get deadline(): number {
    return this.#state.deadline;
  }

  /** Aborts when the lock is lost; its reason is the LostHold. */
  get signal(): AbortSignal {
    if (this.#outer !== undefined) return this.#outer.signal;
    // It is made when it is asked for, as it takes long to make.
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#state.reason !== undefined) this.#controller.abort(this.#state.reason);
      OF_SIGNALS.set(this.#controller.signal, this);
    }
    return this.#controller.signal;
  }

  /** Throws LostHold if the lock is lost, or if its lease may have ended. Sends nothing. */
  check(): void {
    this.#state.check();
    if (this.#hasLeft) throw new LostHold(`${this.#state.terms.names} was released`);
  }

  /**
   * Renews the lease now; with `lease`, this is its length from now on. A renewal never makes a
   * lease end earlier than before.
   */
  async renew(lease?: number): Promise<void> {
    if (lease !== undefined) checkTime("lease", lease, LEASE_MS_MIN);
    this.check();
    await this.#holding.renew(lease);
    this.#state.check();
  }

  /** Releases the lock; the result is whether it was held until now, so a second one says false. */
  async release(): Promise<boolean> {
    dropped.unregister(this);
    return this.#holding.release(this.#sharer);
  }

  /**
   * Gives the lock to another owner, and returns its token. The new owner gets its own hold by
   * asking for the lock. From the request on, this hold is not held any more, unless the server
   * refuses the transfer.
   */
  async transfer(newOwner: Name, lease?: number): Promise<number> {
    if (lease !== undefined) checkTime("lease", lease, LEASE_MS_MIN);
    this.check();
    const token = await this.#holding.transfer(newOwner, lease ?? this.#state.lease);
    if (token === null) throw this.#state.reason!;
    return token;
  }

  /** Releases the lock, and throws LostHold if it was lost, unless its owner has ended the hold. */
  async [Symbol.asyncDispose](): Promise<void> {
    const isEnded = this.#state.isOver || this.#hasLeft;
    if ((await this.release()) || isEnded) return;
    throw new LostHold(`${this.#state.terms.names} was lost before it was released`);
  }

  get #hasLeft(): boolean {
    return this.#holding.hasLeft(this.#sharer);
  }

  /** The state must not keep the hold alive. */
  static #tellOfLoss(hold: Hold): void {
    const holding = hold.#holding;
    const it = new WeakRef(hold);
    holding.state.onLoss = (reason): void => {
      holding.stopRenewal();
      const kept = it.deref();
      if (kept !== undefined) kept.#lose(reason);
    };
  }

  #lose(reason: LostHold): void {
    void this.#report();
    this.#controller?.abort(reason);
  }

  async #report(): Promise<void> {
    try {
      await this.#onLost?.(this);
    } catch (error) {
      warn(`onLost of ${this.#state.terms.names} failed`, error);
    }
  }
}
