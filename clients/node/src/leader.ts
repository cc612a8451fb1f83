// The connection to a leader on which all channels of its slots are subscribed.

import { now } from "./clock";
import { NoReply } from "./errors";
import { within } from "./waiting";

/** A connection that is only used for subscriptions. It does not connect again. */
export interface Subscriber {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): void;
  ping(): Promise<unknown>;
  close(): void;
}

export interface SubscriberEvents {
  readonly hear: (channel: string, text: string) => void;
  readonly ended: () => void;
}

export interface LeaderNode {
  readonly address: string;
  connect(events: SubscriberEvents): Subscriber;
}

/** A subscription to one channel. */
interface Member {
  readonly channel: string;
  hear(text: string): void;
  lost(leader: Leader): void;
}

/** Connects for its first member. Ends with its last one, or when the connection is lost. */
export class Leader {
  readonly address: string;
  hasEnded = false;
  readonly #subscriber: Subscriber;
  readonly #members = new Map<string, Member>();
  #heardAt = now();
  #isChecking = false;

  constructor(
    node: LeaderNode,
    private readonly silence: number,
    /** Called once. */
    private readonly ended: (isSilent: boolean) => void,
  ) {
    this.address = node.address;
    this.#subscriber = node.connect({
      hear: (channel, text): void => {
        this.#heardAt = now();
        this.#members.get(channel)?.hear(text);
      },
      ended: (): void => {
        this.#end();
      },
    });
  }

  /** Subscribes to the member's channel. */
  async join(member: Member): Promise<void> {
    this.#members.set(member.channel, member);
    try {
      await within(this.#subscriber.subscribe(member.channel), this.silence);
      this.#heardAt = now();
    } catch (error) {
      if (error instanceof NoReply) this.#end(true);
      this.leave(member);
      throw error;
    }
  }

  leave(member: Member): void {
    if (this.#members.get(member.channel) !== member) return;
    this.#members.delete(member.channel);
    if (this.#members.size === 0) this.#end();
    else if (!this.hasEnded) this.#subscriber.unsubscribe(member.channel);
  }

  /** Ends unless the server answers. The members may all ask for it at about the same time. */
  check(): void {
    if (this.#isChecking || now() - this.#heardAt < this.silence / 2) return;
    this.#isChecking = true;
    within(this.#subscriber.ping(), this.silence).then(
      () => {
        this.#heardAt = now();
        this.#isChecking = false;
      },
      () => {
        this.#end(true);
      },
    );
  }

  #end(isSilent = false): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.ended(isSilent);
    this.#subscriber.close();
    for (const member of this.#members.values()) member.lost(this);
  }
}
