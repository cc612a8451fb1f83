// A Redis client as the rest of the library sees it.

import type { Command, Name } from "./terms";

export interface Listener {
  hear(text: string): void;
  /** The subscription has a connection again. What was published in between is lost. */
  resubscribed(): void;
}

/** A subscription to one channel, which is renewed when its connection was lost. */
export interface Subscription {
  /** When it is subscribed for the first time. Rejected with an error that is not temporary. */
  readonly opened: Promise<void>;
  ping(): Promise<unknown>;
  close(): void;
}

/** Leads to the server that serves some keys. */
export interface Connection {
  /** The program has closed it, or the client has given up. */
  readonly isClosed: boolean;
  /** How many times it was lost. ioredis then sends requests again without saying so. */
  readonly losses: number;
  /** After this time without a message, a subscription is checked. */
  readonly silence: number;
  /** The end of the names of channels for these keys. */
  readonly channelSuffix: string;
  send(command: Command): Promise<unknown>;
  /** Keeps a request from being sent after later ones, which a client of a cluster may do. */
  revoke?(reply: Promise<unknown>): void;
  subscribe(channel: string, listener: Listener): Subscription;
  onEnd(call: () => void): void;
}

/** Picks the connection for a key. A client that knows only one server has only one. */
export type Connections = (key: Name) => Connection;

/** Applies if the client has no read time-out. */
export const SILENCE_MS = 15_000;
