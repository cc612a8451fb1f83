// The NOTIFY channel on which all waits over a connection are answered.

import type { Connection, Subscription } from "./connection";
import { warn } from "./failures";
import { type Message, messageOf, SUBSCRIBED } from "./replies";
import { makeOwner, type Name, type Terms } from "./terms";
import { within } from "./waiting";

type Reader = (message: Message) => void;

/** Its connection is opened for a wait, and closed when no lock needs it or the client ends. */
export class Channel {
  readonly name: string;
  readonly #readers = new Map<string, Reader>();
  #subscription: Subscription | undefined;
  #stopChecks = (): void => undefined;
  #isSilent = false;
  #isOpen = false;

  constructor(private readonly connection: Connection) {
    this.name = `fairlock:${makeOwner()}${connection.channelSuffix}`;
    connection.onEnd(() => {
      this.#close();
      this.#askAgain();
    });
  }

  /** Whether open() would return at once. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Waits until the channel is subscribed. */
  async open(): Promise<void> {
    const subscription = (this.#subscription ??= this.#subscribe());
    try {
      await subscription.opened;
      if (this.#subscription === subscription) this.#isOpen = true;
    } catch (error) {
      if (this.#subscription === subscription) this.#close();
      throw error;
    }
  }

  /** Delivers the messages with these names instead of an earlier reader. */
  follow(names: readonly string[], reader: Reader): void {
    for (const name of names) this.#readers.set(name, reader);
  }

  /** The opposite of follow(). */
  unfollow(names: readonly string[], reader: Reader): void {
    for (const name of names) {
      if (this.#readers.get(name) === reader) this.#readers.delete(name);
    }
  }

  #subscribe(): Subscription {
    const subscription = this.connection.subscribe(this.name, {
      hear: (text) => {
        this.#isSilent = false;
        const message = messageOf(text);
        const name = nameOf(message.key.toString("latin1"), message.owner.toString("latin1"));
        this.#readers.get(name)?.(message);
      },
      resubscribed: () => {
        this.#askAgain();
      },
    });
    subscription.opened.catch(() => undefined); // open() reports the error
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
    this.#isOpen = false;
  }
}

function nameOf(key: string, owner: string): string {
  return `${key.length}:${key}${owner}`;
}

/** One character for each byte: text in ASCII needs no encoding. */
function latin1Of(name: Name): string {
  if (typeof name === "string" && /^[\x00-\x7f]*$/.test(name)) return name;
  return Buffer.from(name as string).toString("latin1");
}

/** The names of the messages about these keys of this owner. */
export function namesOf(terms: Terms, owner: Name): string[] {
  const ofOwner = latin1Of(owner);
  return terms.keysOnServer.map((key) => nameOf(latin1Of(key), ofOwner));
}
