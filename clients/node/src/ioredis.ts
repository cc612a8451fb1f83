// Locks over ioredis.

import type { IoredisClient } from "./clients";
import { type Connection, type Listener, SILENCE_MS, type Subscription } from "./connection";
import { isTemporary, pause } from "./failures";
import type { Command } from "./terms";

/** What a client for subscriptions has unlike the client that it is made from. */
export const FOR_SUBSCRIPTIONS = {
  lazyConnect: true,
  autoResubscribe: false,
  maxRetriesPerRequest: null,
  commandTimeout: undefined,
  socketTimeout: undefined,
};

export class IoredisConnection implements Connection {
  losses = 0;
  readonly silence: number;
  readonly channelSuffix = "";

  constructor(private readonly client: IoredisClient) {
    this.silence = client.options.socketTimeout ?? client.options.commandTimeout ?? SILENCE_MS;
    client.on("close", () => ++this.losses);
  }

  get isClosed(): boolean {
    return this.client.status === "end";
  }

  send([name, ...words]: Command): Promise<unknown> {
    return this.client.call(name, ...words);
  }

  onEnd(call: () => void): void {
    this.client.on("end", call);
  }

  subscribe(channel: string, listener: Listener): Subscription {
    const client = this.client.duplicate({ ...FOR_SUBSCRIPTIONS, retryStrategy: pause });
    client.on("message", (_, text: string) => {
      listener.hear(text);
    });
    const opened = opening(client, channel, listener);
    client.connect().catch(() => undefined); // it tries again, and emits the error
    return {
      opened,
      ping: (): Promise<unknown> => client.ping(),
      close: (): void => {
        client.disconnect();
      },
    };
  }
}

/** Subscribes each time the client has connected. */
function opening(client: IoredisClient, channel: string, listener: Listener): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      if (!isTemporary(error)) reject(error);
    };
    client.on("error", fail);
    client.on("end", () => {
      reject(new Error("the connection of the channel was closed"));
    });
    client.on("ready", () => {
      client.subscribe(channel).then(() => {
        listener.resubscribed();
        resolve();
      }, fail);
    });
  });
}
