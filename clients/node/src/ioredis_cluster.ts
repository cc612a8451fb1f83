// Locks over a Cluster of ioredis.

import type { IoredisClient, IoredisCluster } from "./clients";
import type { ClusterClient, Slot } from "./cluster";
import { SILENCE_MS } from "./connection";
import { isTemporary } from "./failures";
import { FOR_SUBSCRIPTIONS, revoke, sender, type Sent } from "./ioredis";
import type { LeaderNode, Subscriber, SubscriberEvents } from "./leader";
import type { Command } from "./terms";

export class IoredisClusterClient implements ClusterClient {
  isClosed: boolean;
  losses = 0;
  fault: Error | undefined;
  readonly silence: number;
  readonly #sender: IoredisCluster;
  readonly #revocations = new WeakMap<Promise<unknown>, () => void>();
  #slot = 0;

  constructor(private readonly client: IoredisCluster) {
    this.isClosed = client.status === "end";
    const { redisOptions = {} } = client.options;
    this.silence = redisOptions.socketTimeout ?? redisOptions.commandTimeout ?? SILENCE_MS;
    // ioredis does not know where the keys of our commands are, so it is told the slot.
    this.#sender = sender(client, (command) => this.#sendOnce(command));
    const watch = (node: IoredisClient): unknown => node.on("close", () => ++this.losses);
    client.nodes("all").forEach(watch);
    client.on("+node", watch);
    client.on("node error", (error: Error) => {
      if (!isTemporary(error)) this.fault = error;
    });
    client.on("refresh", () => (this.fault = undefined));
    // After the end, the status may be a different one.
    client.on("end", () => (this.isClosed = true));
    client.on("connecting", () => (this.isClosed = false));
  }

  send([name, ...words]: Command, slot: Slot): Promise<unknown> {
    if (this.isClosed) return Promise.reject(new Error("the client is closed"));
    this.#slot = slot.number;
    return this.#sender.call(name, ...words);
  }

  revoke(reply: Promise<unknown>): void {
    this.#revocations.get(reply)?.();
  }

  leaderOf(slot: Slot): LeaderNode | undefined {
    const address = this.client.slots[slot.number]?.[0];
    const node = this.client.nodes("master").find(({ options }) => {
      return `${options.host}:${options.port}` === address;
    });
    if (address === undefined || node === undefined) return undefined;
    return { address, connect: (events) => new IoredisSubscriber(node, events) };
  }

  async refresh(): Promise<void> {
    if (this.client.status !== "ready") {
      await this.client.call("PING"); // is answered once the cluster is connected
      return;
    }
    await new Promise<void>((resolve, reject) => {
      this.client.refreshSlotsCache((error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  onEnd(call: () => void): void {
    this.client.on("end", call);
  }

  /**
   * A request that has failed, for example with a time-out, may still be in a queue of ioredis,
   * which would send it to the next leader, later than requests that were made since.
   */
  #sendOnce(command: Sent): Promise<unknown> {
    command.slot = this.#slot;
    const { reject } = command; // the queue of the cluster may send it again
    const reply = this.client.sendCommand(command as never) as Promise<unknown>;
    const revokeIt = (): void => {
      revoke(command, reject);
    };
    reply.catch(revokeIt);
    this.#revocations.set(reply, revokeIt);
    return reply;
  }
}

class IoredisSubscriber implements Subscriber {
  readonly #client: IoredisClient;

  constructor(node: IoredisClient, { hear, ended }: SubscriberEvents) {
    this.#client = node.duplicate({ ...FOR_SUBSCRIPTIONS, retryStrategy: null });
    this.#client.on("message", hear);
    this.#client.on("end", ended);
    this.#client.on("error", () => undefined); // its end follows
  }

  subscribe(channel: string): Promise<unknown> {
    return this.#client.subscribe(channel);
  }

  unsubscribe(channel: string): void {
    this.#client.unsubscribe(channel).catch(() => undefined); // only at its end
  }

  ping(): Promise<unknown> {
    return this.#client.ping();
  }

  close(): void {
    this.#client.disconnect();
  }
}
