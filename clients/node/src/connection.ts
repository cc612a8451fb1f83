// A Redis client as the rest of the library sees it.

import type { Command } from "./terms";

export interface Listener {
  hear(text: string): void;
  /** It has a connection again. What was published in between is lost. */
  resubscribed(): void;
}

/** A connection that is subscribed to one channel, and subscribes again when it was lost. */
export interface Subscription {
  /** When it is subscribed for the first time. Rejected with an error that is not temporary. */
  readonly opened: Promise<void>;
  ping(): Promise<unknown>;
  close(): void;
}

export interface Connection {
  /** The program has closed it, or the client has given up. */
  readonly isClosed: boolean;
  /** How often it was lost. ioredis then sends requests again without telling. */
  readonly losses: number;
  /** After this time without a message, a subscription is checked. */
  readonly silence: number;
  send(command: Command): Promise<unknown>;
  subscribe(channel: string, listener: Listener): Subscription;
  onEnd(call: () => void): void;
}

/** Without a read time-out of the client. */
export const SILENCE_MS = 15_000;
