// Takes a lock, and gives up one that was not taken.

import { now } from "./clock";
import { Deadlock, Denied, NoReply, WaitEnded } from "./errors";
import { isTemporary, pause, translated, warn } from "./failures";
import type { Answer, Port } from "./port";
import { Explanation } from "./replies";
import type { Command, Name, Terms } from "./terms";
import { Mailbox, sleep, within } from "./waiting";

// The server ends a wait itself. The client waits this much longer before it suspects that the
// outcome was lost.
const GRACE_MS = 5000;
const WAIT_MS_MIN = 1;
// The server counts milliseconds, so its message may arrive earlier than the wait is over here.
const EARLY_MS = 5;
// A grant that arrives later than this part of the lease after its request is confirmed by RENEW,
// from which the lease then counts: the time of the grant itself is not known here.
const LATE_PART = 0.1;
const GIVE_UP_MS = 5000;
// A server that has answered the release has long answered the request before it, unless the client
// of a cluster has sent that to another node.
const ANSWER_MS = 2000;

/** A token, and a time from which at least one whole lease counts. */
export interface Grant {
  readonly token: number;
  readonly sentAt: number;
}

/** Asks for a lock until it is granted or denied, or the wait is over. */
export class Acquisition {
  readonly mailbox = new Mailbox();
  readonly #begunAt = now();
  readonly #giveUpAt: number;
  #isAsked = false;
  readonly #unanswered = new Set<Promise<unknown>>();

  constructor(
    private readonly port: Port,
    private readonly terms: Terms,
    private readonly owner: Name,
    private readonly wait: number,
    private readonly signal: AbortSignal | undefined,
    /** A message may still be about an earlier wait of an owner that the program named. */
    private readonly isNamed: boolean,
  ) {
    this.#giveUpAt = this.#begunAt + wait;
  }

  /** Asks again while the server cannot be reached. The same owner keeps its place. */
  async run(): Promise<Grant> {
    for (let attempt = 0; ; ++attempt) {
      try {
        return await this.#ask();
      } catch (error) {
        if (this.#isAborted || !isTemporary(error) || this.#isOfClosedClient(error)) {
          throw translated(error, this.terms.names);
        }
        const left = this.#left();
        if (left === 0) throw translated(error, this.terms.names);
        await sleep(Math.min(pause(attempt), left), this.signal);
      }
    }
  }

  /**
   * Releases what a failed acquisition may have got: a place in the queue, or a hold. If the server
   * could not be reached until the end of the wait, a single attempt must do.
   */
  async giveUp(error: unknown): Promise<void> {
    if (!this.#isAsked || !(this.#isAborted || isTemporary(error))) return;
    const giveUpAt = now() + (this.#isAborted ? GIVE_UP_MS : 0);
    for (let attempt = 0; ; ++attempt) {
      try {
        await this.#release();
        return;
      } catch (failure) {
        if (!isTemporary(failure) || this.port.connection.isClosed || now() >= giveUpAt) {
          warn(`giving up ${this.terms.names}`, failure);
          return;
        }
        await sleep(pause(attempt));
      }
    }
  }

  get #isAborted(): boolean {
    return this.signal?.aborted === true;
  }

  /** This differs from NoReply, after which the client is asked for its own error. */
  #isOfClosedClient(error: unknown): boolean {
    return this.port.connection.isClosed && !(error instanceof NoReply);
  }

  #left(): number {
    return Math.max(0, this.#giveUpAt - now());
  }

  #patience(): number {
    return this.#left() + GRACE_MS;
  }

  async #send(command: Command): Promise<Answer> {
    const { connection } = this.port;
    const sentAt = now();
    this.#isAsked = true;
    const request = connection.send(command);
    try {
      return { reply: await within(request, this.#patience(), this.signal), sentAt };
    } catch (error) {
      const done = (): boolean => this.#unanswered.delete(request);
      this.#unanswered.add(request);
      connection.revoke?.(request);
      request.then(done, done);
      throw error;
    }
  }

  async #ask(): Promise<Grant> {
    const { channel, connection } = this.port;
    // With NOTIFY, the server would let a request without WAIT wait. A closed client reports that
    // it is closed.
    if (this.wait <= 0 || connection.isClosed) {
      const answer = await this.#send(this.terms.lock(this.owner, 0, undefined, false));
      // A token is parsed in less time than a map; only a denial needs the map.
      if (answer.reply === null) return this.#askWhy();
      return this.#confirm(Number(answer.reply), answer.sentAt);
    }
    if (!channel.isOpen) await within(channel.open(), this.#patience(), this.signal);
    // A message about an earlier request must not be taken for the answer to this one.
    this.mailbox.takeAll();
    const wait = Math.max(this.#left(), WAIT_MS_MIN);
    // nil means a place in the queue, unless maxWaiters denies it.
    const explains = this.terms.hasMaxWaiters;
    const answer = await this.#send(this.terms.lock(this.owner, wait, channel.name, explains));
    if (!explains) {
      if (answer.reply === null) return this.#listen(answer.sentAt);
      return this.#confirm(Number(answer.reply), answer.sentAt);
    }
    const explanation = new Explanation(answer.reply, this.terms.prefix);
    return explanation.status === "queued" ? this.#listen(answer.sentAt) : this.#decide(answer);
  }

  async #decide({ reply, sentAt }: Answer, status?: string): Promise<Grant> {
    const explanation = new Explanation(reply, this.terms.prefix, status);
    if (explanation.token === null) {
      throw new Denied(explanation, this.terms.names, this.wait > 0 ? now() - this.#begunAt : 0);
    }
    return this.#confirm(explanation.token, sentAt);
  }

  async #confirm(token: number, sentAt: number, always = false): Promise<Grant> {
    const { lease } = this.terms;
    if (!always && now() - sentAt <= lease * LATE_PART) return { token, sentAt };
    const answer = await this.#send(this.terms.renew(this.owner, token, lease));
    if (Number(answer.reply) !== 1) {
      throw new NoReply("the lease ended before its grant was confirmed");
    }
    return { token, sentAt: answer.sentAt };
  }

  async #listen(sentAt: number): Promise<Grant> {
    for (;;) {
      const { event, token, reason } = await this.mailbox.next(this.#patience(), this.signal);
      if (event === "subscribed") throw new NoReply("the connection of the channel was lost");
      if (event === "granted" && token !== null) {
        return this.#confirm(token, sentAt, this.isNamed);
      }
      if (event === "timeout" && this.#left() <= EARLY_MS) return this.#askWhy("timeout");
      if (event === "cancelled" && this.isNamed && (await this.#stillWaits())) continue;
      if (event === "cancelled" && reason === "deadlock") {
        throw new Deadlock(`${this.terms.names}: the wait would never end`);
      }
      if (event === "cancelled" || event === "superseded") {
        throw new WaitEnded(`${this.terms.names}: ${event}: another request ended this wait`);
      }
    }
  }

  async #stillWaits(): Promise<boolean> {
    return (await this.#send(this.terms.position(this.owner))).reply !== null;
  }

  /** Asks once more, without waiting, because neither nil nor a time-out names the holders. */
  async #askWhy(status?: string): Promise<Grant> {
    return this.#decide(await this.#send(this.terms.lock(this.owner, 0)), status);
  }

  /**
   * A client may send the release before an earlier request that is still unanswered. So it is
   * repeated once that request has been answered.
   */
  async #release(): Promise<void> {
    const command = this.terms.unlock(this.owner);
    await this.port.ask(command, GIVE_UP_MS);
    if (this.#unanswered.size === 0) return;
    await Promise.race([Promise.allSettled(this.#unanswered), sleep(ANSWER_MS)]);
    await this.port.ask(command, GIVE_UP_MS);
  }
}
