// The NOTIFY channel on which all waits of a client are answered.

import type { Connection, Subscription } from "./connection";
import { warn } from "./failures";
import { type Message, messageOf, SUBSCRIBED } from "./replies";
import { makeOwner, type Name, type Terms } from "./terms";
import { within } from "./waiting";

type Reader = (message: Message) => void;

/** Its connection is opened for a wait, and closed when no lock needs it or the client ends. */
export class Channel {
  readonly name = `fairlock:${makeOwner()}`;
  readonly #readers = new Map<string, Reader>();
  #subscription: Subscription | undefined;
  #stopChecks = (): void => undefined;
  #isSilent = false;

  constructor(private readonly connection: Connection) {
    connection.onEnd(() => {
      this.#close();
      this.#askAgain();
    });
  }

  /** Waits until the channel is subscribed. */
  async open(): Promise<void> {
    const subscription = (this.#subscription ??= this.#subscribe());
    try {
      await subscription.opened;
    } catch (error) {
      if (this.#subscription === subscription) this.#close();
      throw error;
    }
  }

  /** Delivers the messages about these keys of this owner, instead of an earlier reader. */
  follow(terms: Terms, owner: Name, reader: Reader): void {
    for (const name of namesOf(terms, owner)) this.#readers.set(name, reader);
  }

  /** The opposite of follow(). */
  unfollow(terms: Terms, owner: Name, reader: Reader): void {
    for (const name of namesOf(terms, owner)) {
      if (this.#readers.get(name) === reader) this.#readers.delete(name);
    }
  }

  #subscribe(): Subscription {
    const subscription = this.connection.subscribe(this.name, {
      hear: (text) => {
        this.#isSilent = false;
        const message = messageOf(text);
        this.#readers.get(nameOf(message.key, message.owner))?.(message);
      },
      resubscribed: () => {
        this.#askAgain();
      },
    });
    subscription.opened.catch(() => undefined); // open() reports it
    this.#checkRegularly(subscription);
    return subscription;
  }

  /** What was published without a connection is lost, so all waits ask again. */
  #askAgain(): void {
    for (const reader of new Set(this.#readers.values())) reader(SUBSCRIBED);
  }

  #checkRegularly(subscription: Subscription): void {
    const { silence } = this.connection;
    if (silence === Infinity) return;
    this.#isSilent = false;
    const timer = setInterval(() => {
      if (this.#readers.size === 0) this.#close();
      else if (this.#isSilent) this.#check(subscription, silence);
      this.#isSilent = true;
    }, silence);
    timer.unref();
    this.#stopChecks = (): void => {
      clearInterval(timer);
    };
  }

  #check(subscription: Subscription, silence: number): void {
    within(subscription.ping(), silence).catch((error: unknown) => {
      if (subscription !== this.#subscription) return;
      warn("the channel subscribes again", error);
      this.#close();
      this.#subscription = this.#subscribe();
    });
  }

  #close(): void {
    this.#stopChecks();
    this.#subscription?.close();
    this.#subscription = undefined;
  }
}

function nameOf(key: Buffer, owner: Buffer): string {
  return `${key.length}:${key.toString("latin1")}${owner.toString("latin1")}`;
}

function namesOf(terms: Terms, owner: Name): string[] {
  return terms.keys.map((key) => nameOf(Buffer.from(key as string), Buffer.from(owner as string)));
}
