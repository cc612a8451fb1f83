/**
 * Fair locks with fencing tokens, from a fairlock server, over ioredis or node-redis.
 *
 * @packageDocumentation
 */

/// <reference lib="esnext.disposable" preserve="true" />

export type {
  IoredisClient,
  IoredisCluster,
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisSentinel,
  RedisClient,
} from "./clients";
export { now } from "./clock";
export {
  Deadlock,
  Denied,
  FairlockError,
  LostHold,
  NoReply,
  NotFairlock,
  WaitEnded,
} from "./errors";
export type { Hold } from "./hold";
export { createLock, type Lock, type Work } from "./lock";
export type { LockOptions } from "./options";
export { Explanation, type Holder } from "./replies";
export type { Name } from "./terms";
