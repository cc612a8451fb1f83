// A pipeline step that uses SET NX on Redis: jobs with the same mutex run one at a time. A denied
// job is cancelled.

import { randomUUID } from "node:crypto";

import { Cancelled } from "./pipeline.js";

const RELEASE = `
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`;

export function setNxMutex(redis, { prefix = "jobs:mutex:", leaseMs = 30_000 } = {}) {
  return async (job, next) => {
    const { mutex } = job.data;
    if (mutex === undefined) return next();
    const value = randomUUID();
    if ((await redis.set(prefix + mutex, value, "PX", leaseMs, "NX")) === null) {
      throw new Cancelled(`Cancelled: mutex '${mutex}' held by another job`);
    }
    try {
      return await next();
    } finally {
      await redis.eval(RELEASE, 1, prefix + mutex, value);
    }
  };
}
