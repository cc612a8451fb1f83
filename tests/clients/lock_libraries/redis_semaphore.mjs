// The npm package redis-semaphore. Prints what each call returns.
//
//   node redis_semaphore.mjs PORT PACKAGES        PACKAGES: the folder that has node_modules

import { createRequire } from "node:module";

const [, , port, packages] = process.argv;
const require = createRequire(`${packages}/package.json`);
const { Redis } = require("ioredis");
const { Mutex, MultiSemaphore, RedlockMutex, RedlockSemaphore, Semaphore } =
  require("redis-semaphore");

const connect = (db) => new Redis({ host: "127.0.0.1", port: Number(port), db });
const redis = connect(0);
// Three databases, which are as independent as three servers.
const three = [0, 1, 2].map(connect);
const short = { lockTimeout: 2000, acquireTimeout: 150, retryInterval: 20, refreshInterval: 0 };

const show = (name, value) => console.log(name, JSON.stringify(value));

async function outcome(action) {
  try {
    const value = await action();
    return value === undefined ? "done" : value;
  } catch (error) {
    return error.constructor.name;
  }
}

async function pair(name, make) {
  const [first, second] = [make(), make()];
  show(`${name}: acquire`, await outcome(() => first.acquire()));
  show(`${name}: acquire of another`, await outcome(() => second.acquire()));
  show(`${name}: tryAcquire of another`, await second.tryAcquire());
  show(`${name}: is acquired`, [first.isAcquired, second.isAcquired]);
  await first.release();
  show(`${name}: after release`, await second.tryAcquire());
  await second.release();
}

await pair("mutex", () => new Mutex(redis, "mutex", short));
await pair("redlock mutex", () => new RedlockMutex(three, "redlock", short));

const seats = Array.from({ length: 4 }, () => new Semaphore(redis, "seats", 3, short));
const taken = [];
for (const seat of seats) taken.push(await seat.tryAcquire());
show("semaphore of 3", taken);
show("semaphore: type", await redis.type("semaphore:seats"));
show("semaphore: members", await redis.zcard("semaphore:seats"));
await seats[1].release();
show("semaphore: after release", await seats[3].tryAcquire());
for (const seat of seats) await seat.release();
show("semaphore: members left", await redis.zcard("semaphore:seats"));

const large = new MultiSemaphore(redis, "many", 5, 3, short);
const small = new MultiSemaphore(redis, "many", 5, 2, short);
const more = new MultiSemaphore(redis, "many", 5, 1, short);
show("multi-semaphore", [await large.tryAcquire(), await small.tryAcquire(),
  await more.tryAcquire()]);
await small.release();
show("multi-semaphore: after release", await more.tryAcquire());
await large.release();
await more.release();

await pair("redlock semaphore", () => new RedlockSemaphore(three, "redlock-seats", 1, short));

// It refreshes itself three times as often as its lease needs.
const kept = new Semaphore(redis, "kept", 1, { ...short, lockTimeout: 300, refreshInterval: 60 });
await kept.acquire();
await new Promise((done) => setTimeout(done, 700));
show("semaphore: kept", await new Semaphore(redis, "kept", 1, short).tryAcquire());
await kept.release();

// A lease that nobody refreshes ends.
const lost = new Semaphore(redis, "lost", 1, { ...short, lockTimeout: 100 });
await lost.acquire();
await new Promise((done) => setTimeout(done, 200));
show("semaphore: lost", await new Semaphore(redis, "lost", 1, short).tryAcquire());
process.exit(0);
