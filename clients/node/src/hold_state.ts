// What is known about a hold.

import type { Grant } from "./acquisition";
import { now } from "./clock";
import { LostHold } from "./errors";
import type { Message } from "./replies";
import type { Name, Terms } from "./terms";

export class HoldState {
  readonly token: number;
  lease: number;
  /** Its owner releases it, or has transferred it. */
  isOver = false;
  /** A transfer has been sent. */
  isLeaving = false;
  /** Called once when the hold is lost, before the listeners of the signal. */
  onLoss = (): void => undefined;
  #sentAt: number;
  #reason: LostHold | undefined;
  #controller: AbortController | undefined;

  constructor(
    readonly terms: Terms,
    readonly owner: Name,
    /** Its names on the channel. */
    readonly names: readonly string[],
    grant: Grant,
  ) {
    this.token = grant.token;
    this.lease = terms.lease;
    this.#sentAt = grant.sentAt;
  }

  /** Aborts when the hold is lost. Made when it is asked for, as it takes long to make. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
      this.#controller.signal.addEventListener("abort", this.onLoss);
    }
    return this.#controller.signal;
  }

  /** The lease ends no earlier than this, because it counts from a time after the request. */
  get deadline(): number {
    return this.#sentAt + this.lease;
  }

  /** The time at which this part of the lease is over. */
  after(part: number): number {
    return this.#sentAt + this.lease * part;
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
    if (this.#reason === undefined && !this.isOver && !this.isLeaving) this.#end(reason);
  }

  /** Takes note of a renewal. */
  extend(lease: number, sentAt: number): void {
    if (this.#reason !== undefined) return;
    this.lease = lease;
    this.#sentAt = sentAt;
  }

  /** Takes note of a renewal whose outcome is not known. */
  shorten(lease: number, begunAt: number): void {
    if (begunAt + lease < this.deadline) this.extend(lease, begunAt);
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
    if (this.isLost) throw this.#reason!;
  }

  #end(reason: string): void {
    this.#reason = new LostHold(`${this.terms.names} is lost: ${reason}`);
    if (this.#controller === undefined) this.onLoss();
    else this.#controller.abort(this.#reason);
  }
}
