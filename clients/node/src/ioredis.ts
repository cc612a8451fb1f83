// Locks over ioredis.

import type { IoredisClient, IoredisCluster } from "./clients";
import { type Connection, type Listener, SILENCE_MS, type Subscription } from "./connection";
import { isTemporary, pause } from "./failures";
import type { Command } from "./terms";

/** The options in which a client for subscriptions differs from the client that it is made from. */
export const FOR_SUBSCRIPTIONS = {
  lazyConnect: true,
  autoResubscribe: false,
  maxRetriesPerRequest: null,
  commandTimeout: undefined,
  socketTimeout: undefined,
};

/** A command of ioredis. */
export interface Sent {
  name: string;
  args: readonly (string | Buffer)[];
  slot?: number;
  reject: (error: Error) => void;
}

/** Keeps a command from having an effect if it is sent, or sent again, later than now. */
export function revoke(command: Sent, reject = command.reject): void {
  Object.assign(command, { name: "ping", args: [], reject });
}

/** A client like this one that gives its commands to `send`. */
export function sender<Client extends IoredisClient | IoredisCluster>(
  client: Client,
  send: (command: Sent) => Promise<unknown>,
): Client {
  return Object.create(client, {
    options: { value: { ...client.options, enableAutoPipelining: false } },
    sendCommand: { value: send },
  }) as Client;
}

export class IoredisConnection implements Connection {
  losses = 0;
  readonly silence: number;
  readonly channelSuffix = "";
  readonly #sender: IoredisClient;

  constructor(private readonly client: IoredisClient) {
    // ioredis would send a request again that has failed with a time-out.
    this.#sender = sender(client, (command) => {
      const reply = client.sendCommand(command as never) as Promise<unknown>;
      reply.catch(() => {
        revoke(command);
      });
      return reply;
    });
    this.silence = client.options.socketTimeout ?? client.options.commandTimeout ?? SILENCE_MS;
    client.on("close", () => ++this.losses);
  }

  get isClosed(): boolean {
    return this.client.status === "end";
  }

  send([name, ...words]: Command): Promise<unknown> {
    return this.#sender.call(name, ...words);
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
    client.connect().catch(() => undefined); // the client tries again, and emits the error
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
