// A client and its channel. All locks of a client share them.

import { Channel } from "./channel";
import { connectionOf, type RedisClient } from "./clients";
import { now } from "./clock";
import type { Connection } from "./connection";
import type { Command } from "./terms";
import { within } from "./waiting";

/** A reply, and the time just before its command was sent. */
export interface Answer {
  readonly reply: unknown;
  readonly sentAt: number;
}

export class Port {
  static readonly #ports = new WeakMap<RedisClient, Port>();
  readonly connection: Connection;
  readonly channel: Channel;

  private constructor(client: RedisClient) {
    this.connection = connectionOf(client);
    this.channel = new Channel(this.connection);
  }

  static of(client: RedisClient): Port {
    const port = Port.#ports.get(client) ?? new Port(client);
    Port.#ports.set(client, port);
    return port;
  }

  /** Waits for the reply, at most for this time. */
  async ask(command: Command, time: number): Promise<Answer> {
    const sentAt = now();
    return { reply: await within(this.connection.send(command), time), sentAt };
  }
}
