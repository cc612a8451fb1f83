// Jobs that wait for their mutex on one shared connection.

import assert from "node:assert/strict";
import test from "node:test";

import { OwnQueue, connectTo, eventually } from "./own_queue.js";
import { SharedLocks, sharedMutex } from "./shared_mutex.js";

const fairlockPort = Number(process.env.FAIRLOCK_PORT);
const redisPort = Number(process.env.REDIS_PORT);

async function withQueue(action) {
  const clients = [0, 1, 2].map(() => connectTo(fairlockPort));
  const [commands, subscriber, observer] = clients;
  const locks = await new SharedLocks(commands, subscriber).open();
  const own = new OwnQueue({ redisPort, steps: [sharedMutex(locks)], concurrency: 10 });
  const inLine = async (key) => (await observer.call("QUEUE", key)).length;
  try {
    await action({ own, observer, subscriber, inLine });
  } finally {
    await own.close();
    for (const client of clients) client.disconnect();
  }
}

test("many wait in order on one connection, and others go on beside them", () =>
  withQueue(async ({ own, observer, inLine }) => {
    const names = Array.from({ length: 8 }, (_, n) => `job ${n}`);
    for (const [n, name] of names.entries()) {
      await own.add(name, { mutex: "shared:1" });
      await eventually(`${name} holds or is in line`, async () =>
        n === 0 ? own.begun.length === 1 : (await inLine("jobs:mutex:shared:1")) === n);
    }
    own.finish("beside");
    const beside = await own.add("beside", { mutex: "shared:2" });
    assert.equal((await own.end(beside)).state, "completed");
    assert.equal(await observer.call("LOCKED", "jobs:mutex:shared:1"), 1);
    for (const name of names) own.finish(name);
    await eventually("all are done", () => own.ended.length === names.length + 1);
    assert.deepEqual(own.begun.filter((name) => name !== "beside"), names);
  }));

test("a job that waits for too long is cancelled", () =>
  withQueue(async ({ own }) => {
    await own.add("first", { mutex: "shared:3" });
    await eventually("it begins", () => own.begun.includes("first"));
    const second = await own.add("second", { mutex: "shared:3", waitMs: 50 });
    assert.match((await own.end(second)).log, /^Cancelled: mutex 'shared:3'/);
    own.finish("first");
  }));

test("the locks of a process that is gone are free", () =>
  withQueue(async ({ own, observer, subscriber }) => {
    await own.add("first", { mutex: "shared:4" });
    await eventually("it begins", () => own.begun.includes("first"));
    subscriber.disconnect();
    assert.ok(await observer.call("LOCK", "jobs:mutex:shared:4", "next", "WAIT", "60s"));
    own.finish("first");
  }));
