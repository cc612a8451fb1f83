// Locks over a createCluster() of node-redis.

import type { NodeRedisClient, NodeRedisCluster } from "./clients";
import type { ClusterClient, Slot } from "./cluster";
import { SILENCE_MS } from "./connection";
import { pause } from "./failures";
import type { LeaderNode, Subscriber, SubscriberEvents } from "./leader";
import { forSubscriptions, REPLIES } from "./node_redis";
import type { Command } from "./terms";
import { sleep } from "./waiting";

export class NodeRedisClusterClient implements ClusterClient {
  losses = 0;
  readonly fault = undefined; // connect() reports it
  readonly silence: number;
  #isRestoring = false;

  constructor(private readonly client: NodeRedisCluster) {
    this.silence = client._options.defaults?.socket?.socketTimeout ?? SILENCE_MS;
    client.on("node-reconnecting", () => {
      ++this.losses;
      if (!this.#isRestoring) void this.#restore();
    });
  }

  get isClosed(): boolean {
    return !this.client.isOpen;
  }

  async send(command: Command, slot: Slot): Promise<unknown> {
    if (this.isClosed) throw new Error("the client is closed");
    try {
      return await this.client.sendCommand(`{${slot.tag}}`, false, command, REPLIES);
    } catch (error) {
      // The client finds no node in its table, or too many nodes have redirected it.
      if (error instanceof TypeError || (error as Error).message.startsWith("MOVED ")) {
        throw new Error(`no node is known to lead slot ${slot.number}`, { cause: error });
      }
      throw error;
    }
  }

  leaderOf(slot: Slot): LeaderNode | undefined {
    const node = this.client.slots[slot.number]?.master;
    if (node === undefined) return undefined;
    const client = node.client ?? this.client.nodeClient(node as never);
    return {
      address: node.address,
      connect: (events) => new NodeRedisSubscriber(client, events),
    };
  }

  async refresh(suspect?: string): Promise<void> {
    const node = this.client.masters.find(({ address, client }) => {
      return address !== suspect && client?.isReady === true;
    });
    // It uses only the options of the client.
    const other = node?.client ?? { options: this.client._options.rootNodes[0] };
    await this.client._slots.rediscover(other as never);
  }

  onEnd(call: () => void): void {
    this.client.on("disconnect", call);
  }

  /**
   * Requests stay in the queue of a node that cannot be reached until another one is known to lead.
   */
  async #restore(): Promise<void> {
    this.#isRestoring = true;
    const isAway = (): boolean =>
      !this.isClosed && this.client.masters.some(({ client }) => client?.isReady === false);
    for (let attempt = 0; isAway(); ++attempt) {
      await this.refresh().catch(() => undefined); // the client has emitted the error
      await sleep(pause(attempt));
    }
    this.#isRestoring = false;
  }
}

class NodeRedisSubscriber implements Subscriber {
  readonly #connected: Promise<NodeRedisClient>;
  readonly #hear: (text: string, channel: string) => void;
  #isClosed = false;

  constructor(node: NodeRedisClient | Promise<NodeRedisClient>, events: SubscriberEvents) {
    this.#hear = (text, channel): void => {
      events.hear(channel, text);
    };
    this.#connected = this.#connect(node, events);
    this.#connected.catch(events.ended);
  }

  async subscribe(channel: string): Promise<void> {
    await (await this.#connected).subscribe(channel, this.#hear);
  }

  unsubscribe(channel: string): void {
    const unsubscribed = this.#connected.then((client) => client.unsubscribe(channel, this.#hear));
    unsubscribed.catch(() => undefined); // only at its end
  }

  async ping(): Promise<unknown> {
    return (await this.#connected).ping();
  }

  close(): void {
    this.#isClosed = true;
    this.#connected.then(destroy).catch(() => undefined); // the client is not open
  }

  async #connect(
    node: NodeRedisClient | Promise<NodeRedisClient>,
    { ended }: SubscriberEvents,
  ): Promise<NodeRedisClient> {
    const client = forSubscriptions(await node, false);
    client.on("error", ended);
    if (this.#isClosed) throw new Error("the subscriber was closed");
    await client.connect();
    return client;
  }
}

function destroy(client: NodeRedisClient): void {
  if (client.isOpen) client.destroy();
}
