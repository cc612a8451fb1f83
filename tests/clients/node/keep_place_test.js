// compat.keep_place: clients that poll with the same value are served in the order of their first
// requests. For each library, the same fleet also runs without the option, where clients overtake
// one another.

import assert from "node:assert/strict";
import test from "node:test";

import Redis from "ioredis";
import Redlock from "redlock";
import { default as Redlock5 } from "redlock5";
import { Mutex } from "redis-semaphore";

const port = Number(process.env.FAIRLOCK_PORT);
const CLIENTS = 8;
const HOLDS = 10;
const PAUSE_MS = 20;
const LEASE_MS = 30_000;

const sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));
const pause = () => sleep(PAUSE_MS / 2 + Math.random() * PAUSE_MS);

// For each library, a function that takes a connection. It returns a function that takes a key,
// acquires its lock, and returns the function that releases it.
const libraries = {
  "redlock 4": (client) => {
    const redlock = new Redlock([client], { retryCount: -1, retryDelay: PAUSE_MS / 2,
                                            retryJitter: PAUSE_MS });
    return async (key) => {
      const lock = await redlock.lock(key, LEASE_MS);
      return () => lock.unlock();
    };
  },
  "redlock 5": (client) => {
    const redlock = new Redlock5([client], { retryCount: -1, retryDelay: PAUSE_MS,
                                             retryJitter: PAUSE_MS / 2 });
    return async (key) => {
      const lock = await redlock.acquire([key], LEASE_MS);
      return () => lock.release();
    };
  },
  "redis-semaphore": (client) => async (key) => {
    const mutex = new Mutex(client, key, { lockTimeout: LEASE_MS, acquireTimeout: 60_000,
                                           retryInterval: PAUSE_MS, refreshInterval: 0 });
    await mutex.acquire();
    return () => mutex.release();
  },
  // As redsync, Lettuce recipes and many hand-written loops do it.
  "SET NX in a loop": (client) => async (key) => {
    const value = `loop-${Math.random()}`;
    while ((await client.set(key, value, "PX", LEASE_MS, "NX")) === null) await pause();
    const compareAndDelete =
      "return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1])";
    return () => client.eval(compareAndDelete, 1, key, value);
  },
};

// redis-semaphore adds a prefix to keys, so this listens to all locks and leaves out those of other
// libraries.
async function listen(events) {
  const subscriber = new Redis({ port });
  subscriber.on("pmessage", (pattern, channel, text) => events.push(JSON.parse(text)));
  await subscriber.psubscribe("__lock@0__:*");
  return subscriber;
}

async function work(take, client, key, index) {
  // All clients request the lock while the first one holds it.
  await sleep(index * 2);
  const turns = [];
  for (let i = 0; i < HOLDS; ++i) {
    const asked = performance.now();
    const release = await take(key);
    turns.push({ asked, got: performance.now() });
    await sleep(3);
    await release();
  }
  return turns;
}

// Counts how many times a client was overtaken by one whose first request came long after its own.
function countPassed(turns) {
  const LONG_MS = 5 * PAUSE_MS;
  return turns.reduce((count, turn) => count + turns.filter(
    (other) => other.asked + LONG_MS < turn.asked && other.got > turn.got).length, 0);
}

// Counts overtaking in the server's events: grants although another client had sent its first
// request earlier, and more than one request.
function countInversions(events) {
  const asked = new Map(); // owner -> number of denials, in the order of the first denial
  let inversions = 0;
  for (const { event, owner } of events) {
    if (event === "denied") asked.set(owner, (asked.get(owner) ?? 0) + 1);
    if (event !== "granted") continue;
    for (const [other, times] of asked) {
      if (other === owner) break;
      if (times > 1) ++inversions;
    }
    asked.delete(owner);
  }
  return inversions;
}

async function runFleet(library, keep) {
  const events = [];
  const admin = new Redis({ port });
  await admin.config("SET", "compat.keep_place", keep);
  const subscriber = await listen(events);
  const clients = [...Array(CLIENTS)].map(() => new Redis({ port }));
  const key = `fleet:${library.replaceAll(" ", "-")}:${keep}`;
  const turns = await Promise.all(
    clients.map((client, i) => work(libraries[library](client), client, key, i)));
  await sleep(100);
  const left = await admin.call("LOCKS", "0", "COUNT", "1000");
  await Promise.all([admin, subscriber, ...clients].map((client) => client.quit()));
  assert.equal(events.filter(({ event }) => event === "granted").length, CLIENTS * HOLDS);
  assert.deepEqual(left[1], [], "nothing is left when the last one has released");
  return {
    passed: countPassed(turns.flat()),
    inversions: countInversions(events),
    queued: events.filter(({ event }) => event === "queued").length,
  };
}

for (const library of Object.keys(libraries)) {
  test(`${library} is served in order`, async () => {
    const without = await runFleet(library, "0");
    const kept = await runFleet(library, "5s");
    console.log(`${library}: ${without.passed} are passed without compat.keep_place, ` +
                `${kept.passed} with it, ${kept.queued} places, ${kept.inversions} inversions`);
    assert.ok(without.passed > 0, "without places pollers pass one another");
    assert.equal(without.queued, 0);
    assert.ok(kept.queued > CLIENTS, "those who poll have places");
    assert.equal(kept.inversions, 0);
  });
}

test("values that are used once leave no ghosts", async () => {
  const client = new Redis({ port });
  await client.config("SET", "compat.keep_place", "5s");
  await client.set("ghosts", "holder");
  for (let i = 0; i < 100; ++i) {
    assert.equal(await client.set("ghosts", `value-${i}`, "PX", LEASE_MS, "NX"), null);
  }
  assert.deepEqual(await client.call("QUEUE", "ghosts"), []);
  await client.del("ghosts");
  assert.equal(await client.set("ghosts", "next", "PX", LEASE_MS, "NX"), "OK");
  await client.flushall();
  await client.quit();
});

test("redlock takes several resources at once, and waits for none", async () => {
  const client = new Redis({ port });
  await client.config("SET", "compat.keep_place", "5s");
  const redlock = new Redlock5([client], { retryCount: 3, retryDelay: PAUSE_MS });
  await client.set("b", "holder");
  await assert.rejects(redlock.acquire(["a", "b"], LEASE_MS));
  assert.equal(await client.exists("a"), 0);
  assert.deepEqual(await client.call("QUEUE", "b"), []);
  await client.del("b");
  const lock = await redlock.acquire(["a", "b"], LEASE_MS);
  assert.equal(await client.exists("a", "b"), 2);
  await lock.release();
  await client.quit();
});
