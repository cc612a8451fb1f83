// A connection and its channel. All locks of a client share them or, with a cluster client, all
// locks in one hash slot.

import { Channel } from "./channel";
import { connectionsOf, prefixOf, type RedisClient } from "./clients";
import { now } from "./clock";
import type { Connection, Connections } from "./connection";
import type { Command, Name } from "./terms";
import { within } from "./waiting";

/** A reply, and the time just before its command was sent. */
export interface Answer {
  readonly reply: unknown;
  readonly sentAt: number;
}

export class Port {
  readonly channel: Channel;

  constructor(readonly connection: Connection) {
    this.channel = new Channel(connection);
  }

  /** Waits for the reply, at most for this time. */
  async ask(command: Command, time: number): Promise<Answer> {
    const sentAt = now();
    return { reply: await within(this.connection.send(command), time), sentAt };
  }
}

/** The ports of a client. */
export class Ports {
  static readonly #ofClients = new WeakMap<RedisClient, Ports>();
  readonly #connectionOf: Connections;
  readonly #ports = new Map<Connection, Port>();

  private constructor(private readonly client: RedisClient) {
    this.#connectionOf = connectionsOf(client);
  }

  static of(client: RedisClient): Ports {
    const ports = Ports.#ofClients.get(client) ?? new Ports(client);
    Ports.#ofClients.set(client, ports);
    return ports;
  }

  /** What the client puts before keys. */
  get prefix(): Name {
    return prefixOf(this.client);
  }

  /** The port for requests whose first key this is, with the prefix. */
  at(key: Name): Port {
    const connection = this.#connectionOf(key);
    let port = this.#ports.get(connection);
    if (port === undefined) this.#ports.set(connection, (port = new Port(connection)));
    return port;
  }
}
