// What this library uses of the clients ioredis and node-redis.

import type { Connection } from "./connection";
import { IoredisConnection } from "./ioredis";
import { NodeRedisConnection, NodeRedisSentinelConnection } from "./node_redis";

/* eslint-disable @typescript-eslint/no-explicit-any -- the listeners of any event */
interface Emitter {
  on(event: string, listener: (...values: any[]) => void): unknown;
}
/* eslint-enable @typescript-eslint/no-explicit-any */

/** A `Redis` of ioredis. */
export interface IoredisClient extends Emitter {
  readonly status: string;
  readonly options: { readonly commandTimeout?: number; readonly socketTimeout?: number };
  call(command: string, ...words: (string | Buffer)[]): Promise<unknown>;
  connect(): Promise<void>;
  disconnect(): void;
  duplicate(options: object): IoredisClient;
  ping(): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
}

interface NodeRedis extends Emitter {
  readonly isOpen: boolean;
  destroy(): unknown;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
}

/** What `createClient()` of node-redis returns. */
export interface NodeRedisClient extends NodeRedis {
  readonly options?: { readonly socket?: { readonly socketTimeout?: number } } | undefined;
  connect(): Promise<unknown>;
  duplicate(options: object): NodeRedisClient;
  ping(): Promise<unknown>;
  sendCommand(words: readonly (string | Buffer)[], options?: object): Promise<unknown>;
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

/** A client that is connected to a fairlock server, or will be. */
export type RedisClient = IoredisClient | NodeRedisClient | NodeRedisSentinel;

export function connectionOf(client: RedisClient): Connection {
  const has = (name: string): boolean =>
    typeof (client as unknown as Record<string, unknown>)[name] === "function";
  // Only clients of Redis Cluster have nodes() (ioredis) or nodeClient() (node-redis).
  const isCluster = has("nodes") || has("nodeClient");
  if (!isCluster && has("call") && has("duplicate")) {
    return new IoredisConnection(client as IoredisClient);
  }
  if (!isCluster && has("sendCommand") && has("getSentinelNode")) {
    return new NodeRedisSentinelConnection(client as NodeRedisSentinel);
  }
  if (!isCluster && has("sendCommand") && has("duplicate") && has("ping")) {
    return new NodeRedisConnection(client as NodeRedisClient);
  }
  throw new TypeError("expected a Redis of ioredis, or a client or Sentinel of node-redis");
}
