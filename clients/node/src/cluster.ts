// Connections of a cluster client: one for each hash slot that is used.

import { now } from "./clock";
import type { Connection, Connections, Listener, Subscription } from "./connection";
import { isTemporary, pause, warn } from "./failures";
import { Leader, type LeaderNode } from "./leader";
import { slotOf, tagOf } from "./slots";
import type { Command } from "./terms";
import { sleep, within } from "./waiting";

const REFRESH_PAUSE_MS = 50;
const REFRESH_MS_MAX = 5000;

export interface Slot {
  readonly number: number;
  /** A text that has this slot if it stands between braces. */
  readonly tag: string;
}

/** A cluster client as the rest of the library sees it. */
export interface ClusterClient {
  readonly isClosed: boolean;
  /** How often a connection to any node was lost. */
  readonly losses: number;
  readonly silence: number;
  /** Why the client cannot know any node, if that is not temporary. */
  readonly fault: Error | undefined;
  /** Sends it to the node that leads the slot, and follows redirections. */
  send(command: Command, slot: Slot): Promise<unknown>;
  /** Keeps a request from being sent later than now. */
  revoke?(reply: Promise<unknown>): void;
  /** The node that leads the slot, as far as the client knows. */
  leaderOf(slot: Slot): LeaderNode | undefined;
  /** Reads the table of slots again, if possible not from the node with this address. */
  refresh(suspect?: string): Promise<unknown>;
  onEnd(call: () => void): void;
}

/** What the slots of a cluster client share. */
class Cluster {
  readonly subscriptions = new Set<SlotSubscription>();
  readonly ends = new Set<() => void>();
  readonly #leaders = new Map<string, Leader>();
  #refreshing: Promise<void> | undefined;
  #refreshedAt = -Infinity;

  constructor(readonly client: ClusterClient) {
    client.onEnd(() => {
      for (const call of this.ends) call();
    });
  }

  leaderOf(slot: Slot): Leader {
    const node = this.client.leaderOf(slot);
    if (node === undefined) {
      throw this.client.fault ?? new Error(`no node is known to lead slot ${slot.number}`);
    }
    const { address } = node;
    const { silence } = this.client;
    let leader = this.#leaders.get(address);
    if (leader === undefined) {
      const ended = (isSilent: boolean): void => {
        this.#leaders.delete(address);
        if (isSilent) void this.refresh(address);
      };
      this.#leaders.set(address, (leader = new Leader(node, silence, ended)));
    }
    return leader;
  }

  /** All who need the newest table at the same time share one refresh. */
  refresh(suspect?: string): Promise<void> {
    return (this.#refreshing ??= this.#refreshOnce(suspect).finally(() => {
      this.#refreshing = undefined;
    }));
  }

  async #refreshOnce(suspect?: string): Promise<void> {
    await sleep(this.#refreshedAt + REFRESH_PAUSE_MS - now());
    if (this.client.isClosed) return;
    try {
      await within(this.client.refresh(suspect), REFRESH_MS_MAX);
    } catch {
      // The next failure refreshes the table again.
    }
    this.#refreshedAt = now();
    for (const subscription of this.subscriptions) subscription.follow();
  }
}

/** Sends requests about the keys of one slot, and subscribes to their channel. */
class SlotConnection implements Connection {
  readonly channelSuffix: string;

  constructor(
    private readonly cluster: Cluster,
    private readonly slot: Slot,
  ) {
    this.channelSuffix = `:{${slot.tag}}`;
  }

  get isClosed(): boolean {
    return this.cluster.client.isClosed;
  }

  get losses(): number {
    return this.cluster.client.losses;
  }

  get silence(): number {
    return this.cluster.client.silence;
  }

  send(command: Command): Promise<unknown> {
    const { client } = this.cluster;
    const reply = client.send(command, this.slot);
    reply.catch((error: unknown) => {
      if (isTemporary(error)) void this.cluster.refresh(client.leaderOf(this.slot)?.address);
    });
    return reply;
  }

  revoke(reply: Promise<unknown>): void {
    this.cluster.client.revoke?.(reply);
  }

  subscribe(channel: string, listener: Listener): Subscription {
    return new SlotSubscription(this.cluster, this.slot, channel, listener);
  }

  onEnd(call: () => void): void {
    this.cluster.ends.add(call);
  }
}

/** A subscription at the leader of a slot, whichever node that is. */
class SlotSubscription implements Subscription {
  readonly opened: Promise<void>;
  #leader: Leader | undefined;

  constructor(
    private readonly cluster: Cluster,
    private readonly slot: Slot,
    readonly channel: string,
    private readonly listener: Listener,
  ) {
    cluster.subscriptions.add(this);
    this.opened = this.#join(0);
  }

  hear(text: string): void {
    this.listener.hear(text);
  }

  /** The leader checks itself, and loses its subscriptions if it is silent. */
  ping(): Promise<unknown> {
    this.#leader?.check();
    return Promise.resolve();
  }

  close(): void {
    this.cluster.subscriptions.delete(this);
    this.#leader?.leave(this);
  }

  /** The connection to this leader has ended. */
  lost(leader: Leader): void {
    if (leader === this.#leader) this.#rejoin();
  }

  /** Goes to another leader if the client now knows one. */
  follow(): void {
    const address = this.cluster.client.leaderOf(this.slot)?.address;
    if (this.#leader === undefined || [undefined, this.#leader.address].includes(address)) return;
    this.#leader.leave(this);
    this.#rejoin();
  }

  #isOpen(): boolean {
    return this.cluster.subscriptions.has(this);
  }

  #rejoin(): void {
    this.#leader = undefined;
    this.#join(1).catch((error: unknown) => {
      if (this.#isOpen()) warn("the channel could not subscribe again", error);
    });
  }

  /** Subscribes at the leader; if that fails, asks who leads now, and tries again. */
  async #join(first: number): Promise<void> {
    for (let attempt = first; this.#isOpen(); ++attempt) {
      if (attempt > 1) await sleep(pause(attempt - 2));
      if (attempt > 0) await this.cluster.refresh();
      try {
        const leader = this.cluster.leaderOf(this.slot);
        await leader.join(this);
        if (!this.#isOpen()) leader.leave(this);
        if (!this.#isOpen() || leader.hasEnded) continue;
        this.#leader = leader;
        this.listener.resubscribed();
        return;
      } catch (error) {
        if (!isTemporary(error)) throw error;
      }
    }
    throw new Error("the subscription was closed");
  }
}

export function clusterConnections(client: ClusterClient): Connections {
  const cluster = new Cluster(client);
  const slots = new Map<number, Connection>();
  return (key) => {
    const number = slotOf(key);
    let connection = slots.get(number);
    if (connection === undefined) {
      connection = new SlotConnection(cluster, { number, tag: tagOf(key) });
      slots.set(number, connection);
    }
    return connection;
  };
}
