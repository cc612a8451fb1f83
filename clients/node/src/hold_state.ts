// What is known about a hold.

import type { Grant } from "./acquisition";
import { now } from "./clock";
import { LostHold } from "./errors";
import type { Message } from "./replies";
import type { Name, Terms } from "./terms";
import { shown } from "./texts";

// A lease is renewed when this part of it is left.
const RENEW_PART = 1 / 3;

export class HoldState {
  readonly token: number;
  /** What the next renewal asks for. */
  lease: number;
  /** Its owner releases it, or has transferred it. */
  isOver = false;
  /** Called once when the hold is lost. */
  onLoss: (reason: LostHold) => void = () => undefined;
  #deadline: number;
  #reason: LostHold | undefined;
  /** To whom a transfer has been sent, without an answer. */
  #heir: Name | undefined;
  /** Why the hold may be lost, unless that was the transfer itself. */
  #rumour: string | undefined;

  constructor(
    readonly terms: Terms,
    readonly owner: Name,
    /** Its names on the channel. */
    readonly names: readonly string[],
    grant: Grant,
  ) {
    this.token = grant.token;
    this.lease = terms.lease;
    this.#deadline = grant.sentAt + terms.lease;
  }

  /** Why the hold is lost, as far as this has been noticed. */
  get reason(): LostHold | undefined {
    return this.#reason;
  }

  /** Whether check() would not throw. */
  get isCertain(): boolean {
    return !this.isOver && this.#heir === undefined && !this.isLost;
  }

  /** The lease ends no earlier than this, because it counts from a time after the request. */
  get deadline(): number {
    return this.#deadline;
  }

  /** When a third of the lease is left, or when it ends. */
  attentionAt(renews: boolean): number {
    return this.#deadline - (renews ? this.lease * RENEW_PART : 0);
  }

  /** Reads the clock. */
  get isLost(): boolean {
    if (this.#reason === undefined && !this.isOver && now() >= this.deadline) {
      this.#end(`its lease of ${this.lease} ms ended before it was renewed`);
    }
    return this.#reason !== undefined;
  }

  /** Records the end of the hold, unless its owner ended it. */
  lose(reason: string): void {
    if (this.#reason !== undefined || this.isOver) return;
    if (this.#heir === undefined) this.#end(reason);
    else this.#rumour ??= reason;
  }

  /**
   * Takes note of a renewal. None shortens the lease, in whichever order the server executes
   * renewals and replies to them.
   */
  extend(deadline: number): void {
    if (this.#reason === undefined) this.#deadline = Math.max(this.#deadline, deadline);
  }

  /**
   * A transfer is sent. From now on, only a refusal by the server makes the hold certain again: a
   * request that is still on its way may be executed after anything that is asked meanwhile.
   */
  beginTransfer(heir: Name): void {
    this.#heir = heir;
  }

  /** The server did not execute it, so the hold is what it was. */
  refuseTransfer(): void {
    this.#heir = undefined;
    if (this.#rumour !== undefined) this.lose(this.#rumour);
  }

  /** The hold is lost if its transfer was neither confirmed nor refused. */
  endTransfer(): void {
    if (this.#heir === undefined) return;
    const heir = shown(this.#heir);
    this.#heir = undefined;
    this.lose(this.#rumour ?? `the server has not confirmed its transfer to ${heir}`);
  }

  /** Takes note of a message on the channel. */
  readonly hear = (message: Message): void => {
    if (message.event === "lost" && message.token === this.token) {
      this.lose(`the server reported: ${message.reason}`);
    }
  };

  /** Throws LostHold unless the lock is certainly held. */
  check(): void {
    if (this.isOver) throw new LostHold(`${this.terms.names} was released`);
    if (this.#heir !== undefined) {
      const heir = shown(this.#heir);
      const text = `is being transferred to ${heir}, or has been already`;
      throw new LostHold(`${this.terms.names} ${text}`);
    }
    if (this.isLost) throw this.#reason!;
  }

  #end(reason: string): void {
    this.#reason = new LostHold(`${this.terms.names} is lost: ${reason}`);
    this.onLoss(this.#reason);
  }
}
