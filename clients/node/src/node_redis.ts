// Locks over node-redis.

import type { NodeRedisClient, NodeRedisSentinel } from "./clients";
import { type Connection, type Listener, SILENCE_MS, type Subscription } from "./connection";
import { isTemporary, pause } from "./failures";
import type { Command } from "./terms";

// The client may be configured to return other types.
export const REPLIES = { typeMapping: {} };

/** A client like this one that is only used for subscriptions. */
export function forSubscriptions(
  client: NodeRedisClient,
  reconnectStrategy: false | ((attempt: number, cause: Error) => number | Error),
): NodeRedisClient {
  return client.duplicate({
    pingInterval: 0,
    commandOptions: REPLIES,
    socket: { ...client.options?.socket, socketTimeout: undefined, reconnectStrategy },
  });
}

export class NodeRedisConnection implements Connection {
  losses = 0;
  readonly silence: number;
  readonly channelSuffix = "";

  constructor(private readonly client: NodeRedisClient) {
    this.silence = client.options?.socket?.socketTimeout ?? SILENCE_MS;
    client.on("reconnecting", () => ++this.losses);
  }

  get isClosed(): boolean {
    return !this.client.isOpen;
  }

  send(command: Command): Promise<unknown> {
    return this.client.sendCommand(command, REPLIES);
  }

  onEnd(call: () => void): void {
    this.client.on("end", call);
  }

  subscribe(channel: string, listener: Listener): Subscription {
    const client = forSubscriptions(this.client, (attempt, cause) =>
      isTemporary(cause) ? pause(attempt) : cause,
    );
    client.on("error", () => undefined); // the client connects again
    return {
      opened: opening(client, channel, listener),
      ping: (): Promise<unknown> => client.ping(),
      close: (): void => {
        if (client.isOpen) client.destroy();
      },
    };
  }
}

async function opening(
  client: NodeRedisClient,
  channel: string,
  listener: Listener,
): Promise<void> {
  try {
    await client.connect();
    await client.subscribe(channel, (text) => {
      listener.hear(text);
    });
  } catch (error) {
    // The reconnect strategy's own error is wrapped.
    throw (error as { originalError?: Error }).originalError ?? error;
  }
  listener.resubscribed();
  client.on("ready", () => {
    listener.resubscribed();
  });
}

/**
 * A Sentinel client opens and renews its subscriptions itself. It does not say when it has done so,
 * but every loss is an error or a change of the topology.
 */
export class NodeRedisSentinelConnection implements Connection {
  losses = 0;
  readonly silence = Infinity;
  readonly channelSuffix = "";
  #listeners = new Set<Listener>();

  constructor(private readonly client: NodeRedisSentinel) {
    const lose = (): void => {
      ++this.losses;
      for (const listener of this.#listeners) listener.resubscribed();
    };
    client.on("topology-change", lose);
    client.on("error", lose);
  }

  get isClosed(): boolean {
    return !this.client.isOpen;
  }

  send(command: Command): Promise<unknown> {
    return this.client.sendCommand(false, command, REPLIES);
  }

  onEnd(): void {
    // The client closes its subscriptions itself.
  }

  subscribe(channel: string, listener: Listener): Subscription {
    this.#listeners.add(listener);
    const opened = this.client.subscribe(channel, (text) => {
      listener.hear(text);
    });
    return {
      opened: opened.then(() => undefined),
      ping: () => Promise.resolve(),
      close: () => this.#listeners.delete(listener),
    };
  }
}
