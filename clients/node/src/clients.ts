// What this library uses of the clients ioredis and node-redis.

import { clusterConnections } from "./cluster";
import type { Connection, Connections } from "./connection";
import { IoredisConnection } from "./ioredis";
import { IoredisClusterClient } from "./ioredis_cluster";
import { NodeRedisConnection, NodeRedisSentinelConnection } from "./node_redis";
import { NodeRedisClusterClient } from "./node_redis_cluster";
import type { Name } from "./terms";

/* eslint-disable @typescript-eslint/no-explicit-any -- the listeners of any event */
interface Emitter {
  on(event: string, listener: (...values: any[]) => void): unknown;
}
/* eslint-enable @typescript-eslint/no-explicit-any */

interface TimeLimits {
  readonly commandTimeout?: number;
  readonly socketTimeout?: number;
}

interface Prefix {
  readonly keyPrefix?: Name | undefined;
}

/** A `Redis` of ioredis. */
export interface IoredisClient extends Emitter {
  readonly status: string;
  readonly options: TimeLimits & Prefix & { readonly host?: string; readonly port?: number };
  call(command: string, ...words: (string | Buffer)[]): Promise<unknown>;
  connect(): Promise<void>;
  disconnect(): void;
  duplicate(options: object): IoredisClient;
  ping(): Promise<unknown>;
  sendCommand(command: never): unknown;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

/** A `Cluster` of ioredis. */
export interface IoredisCluster extends Emitter {
  readonly status: string;
  readonly options: Prefix & { readonly redisOptions?: TimeLimits | undefined };
  readonly slots: readonly (readonly string[])[];
  call(command: string, ...words: (string | Buffer)[]): Promise<unknown>;
  nodes(role: "all" | "master"): IoredisClient[];
  refreshSlotsCache(callback: (error?: Error | null) => void): void;
  sendCommand(command: never): unknown;
}

type Hear = (message: string, channel: string) => void;

/** Version 5 ignores the option. */
interface NodeRedisPrefix {
  readonly _keyPrefix?: Name | undefined;
}

interface NodeRedis extends Emitter, NodeRedisPrefix {
  readonly isOpen: boolean;
  destroy(): unknown;
  subscribe(channel: string, listener: Hear): Promise<unknown>;
}

interface SocketLimits {
  readonly socket?: { readonly socketTimeout?: number };
}

/** What `createClient()` of node-redis returns. */
export interface NodeRedisClient extends NodeRedis {
  readonly isReady: boolean;
  readonly options?: SocketLimits | undefined;
  connect(): Promise<unknown>;
  duplicate(options: object): NodeRedisClient;
  ping(): Promise<unknown>;
  sendCommand(words: readonly (string | Buffer)[], options?: object): Promise<unknown>;
  unsubscribe(channel: string, listener: Hear): Promise<unknown>;
}

/** What `createSentinel()` of node-redis returns. */
export interface NodeRedisSentinel extends NodeRedis {
  getSentinelNode(): unknown;
  sendCommand(
    isReadonly: boolean,
    words: readonly (string | Buffer)[],
    options?: object,
  ): Promise<unknown>;
}

interface NodeRedisNode {
  readonly address: string;
  readonly client?: NodeRedisClient | undefined;
}

/** What `createCluster()` of node-redis returns. */
export interface NodeRedisCluster extends Emitter, NodeRedisPrefix {
  readonly isOpen: boolean;
  readonly masters: readonly NodeRedisNode[];
  readonly slots: readonly { readonly master: NodeRedisNode }[];
  readonly _options: {
    readonly rootNodes: readonly object[];
    readonly defaults?: SocketLimits | undefined;
  };
  readonly _slots: { rediscover(startWith: never): Promise<unknown> };
  nodeClient(node: never): Promise<NodeRedisClient>;
  sendCommand(
    firstKey: string,
    isReadonly: boolean,
    words: readonly (string | Buffer)[],
    options?: object,
  ): Promise<unknown>;
}

/** A client that is connected to a fairlock server, or will be. */
export type RedisClient =
  | IoredisClient
  | IoredisCluster
  | NodeRedisClient
  | NodeRedisCluster
  | NodeRedisSentinel;

/** What the client puts before the keys of the commands that it knows. It does not know ours. */
export function prefixOf(client: RedisClient): Name {
  return ("call" in client ? client.options.keyPrefix : client._keyPrefix) ?? "";
}

export function connectionsOf(client: RedisClient): Connections {
  const has = (name: string): boolean =>
    typeof (client as unknown as Record<string, unknown>)[name] === "function";
  if (has("call") && has("nodes")) {
    return clusterConnections(new IoredisClusterClient(client as IoredisCluster));
  }
  if (has("sendCommand") && has("nodeClient")) {
    return clusterConnections(new NodeRedisClusterClient(client as NodeRedisCluster));
  }
  const connection = singleConnection(client, has);
  return () => connection;
}

function singleConnection(client: RedisClient, has: (name: string) => boolean): Connection {
  if (has("call") && has("duplicate")) return new IoredisConnection(client as IoredisClient);
  if (has("sendCommand") && has("getSentinelNode")) {
    return new NodeRedisSentinelConnection(client as NodeRedisSentinel);
  }
  if (has("sendCommand") && has("duplicate") && has("ping")) {
    return new NodeRedisConnection(client as NodeRedisClient);
  }
  throw new TypeError("expected a client of ioredis or node-redis");
}
