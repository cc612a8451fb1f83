// LOCKS and BREAK on locks of the npm package redis-semaphore. Prints what each returns.
//
//   node redis_semaphore_break.mjs PORT PACKAGES        PACKAGES: the folder that has node_modules

import { createRequire } from "node:module";

const [, , port, packages] = process.argv;
const require = createRequire(`${packages}/package.json`);
const { Redis } = require("ioredis");
const { Mutex, MultiSemaphore, Semaphore } = require("redis-semaphore");

const redis = new Redis({ host: "127.0.0.1", port: Number(port) });
const options = { lockTimeout: 30000, acquireTimeout: 150, retryInterval: 20, refreshInterval: 0 };

const show = (name, value) => console.log(name, JSON.stringify(value));

// The holders of the only lock, and its library.
async function row() {
  const [, [only]] = await redis.call("LOCKS");
  return [only[1], only[9] ?? null];
}

const [first, second, third] = [1, 2, 3].map(() => new Semaphore(redis, "seats", 2, options));
await first.acquire();
await second.acquire();
show("semaphore shown", await row());
show("one broken", await redis.call("BREAK", "semaphore:seats", first.identifier));
show("acquire of another", await third.tryAcquire());
await second.release();
await third.release();

const many = new MultiSemaphore(redis, "many", 5, 3, options);
await many.acquire();
show("multi-semaphore shown", await row());
show("all broken", await redis.call("BREAK", "semaphore:many"));
show("keys left", await redis.exists("semaphore:many"));

const [mutex, other] = [1, 2].map(() => new Mutex(redis, "report", options));
await mutex.acquire();
show("mutex shown", await row());
show("mutex broken", await redis.call("BREAK", "mutex:report"));
show("mutex of another", await other.tryAcquire());
process.exit(0);
