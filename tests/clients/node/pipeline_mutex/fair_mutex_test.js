// Jobs that share a mutex on fairlock, as a step in a BullMQ pipeline: shows that it has none of
// the limitations of such a step on Redis.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { Connections, fairMutex } from "./fair_mutex.js";
import { OwnQueue, connectTo, eventually } from "./own_queue.js";

const fairlockPort = Number(process.env.FAIRLOCK_PORT);
const redisPort = Number(process.env.REDIS_PORT);

let mutexes = 0;

async function withQueue(action, options = {}) {
  const connections = new Connections(() => connectTo(fairlockPort));
  const own = new OwnQueue({ redisPort, steps: [fairMutex(connections)], ...options });
  const client = connectTo(fairlockPort);
  const mutex = `payment:${mutexes++}`;
  try {
    await action({ own, client, mutex, key: `jobs:mutex:${mutex}` });
  } finally {
    await own.close();
    connections.close();
    client.disconnect();
  }
}

const begins = (own, name) => eventually(`${name} begins`, () => own.begun.includes(name));

async function waiters(client, key) {
  return (await client.call("QUEUE", key)).length;
}

test("a job whose mutex is held is cancelled, and its log says by whom", () =>
  withQueue(async ({ own, client, mutex, key }) => {
    const first = await own.add("first", { mutex });
    await begins(own, "first");
    const waiting = await own.add("waiting", { mutex, waitMs: 60_000 });
    await eventually("one is in line", async () => (await waiters(client, key)) === 1);
    const second = await own.add("second", { mutex });
    const { state, log } = await own.end(second);
    assert.equal(state, "failed");
    assert.match(log, new RegExp(
      `^Cancelled: mutex '${mutex}' held by job ${first.id} for \\d+ ms; 1 in line$`));
    assert.equal((await own.queue.getJob(second.id)).attemptsMade, 1, "it is not tried again");
    assert.ok(!own.begun.includes("second"));
    own.finish("first");
    own.finish("waiting");
    assert.equal((await own.end(waiting)).state, "completed");
  }));

test("success and failure release it", () =>
  withQueue(async ({ own, client, mutex, key }) => {
    const first = await own.add("first", { mutex });
    own.finish("first", new Error("as the test wants it"));
    assert.equal((await own.end(first)).state, "failed");
    assert.equal(await client.call("LOCKED", key), 0);
    const second = await own.add("second", { mutex });
    own.finish("second");
    assert.equal((await own.end(second)).state, "completed");
    assert.equal(await client.call("LOCKED", key), 0);
  }));

test("a job without a mutex asks for nothing", () =>
  withQueue(async ({ own, client }) => {
    const asked = async () =>
      (await client.info("commandstats")).match(/cmdstat_lock:calls=(\d+)/)?.[1];
    const before = await asked();
    own.finish("free");
    assert.equal((await own.end(await own.add("free"))).state, "completed");
    assert.equal(await asked(), before);
  }));

test("those that wait run in the order in which they came", () =>
  withQueue(async ({ own, client, mutex, key }) => {
    await own.add("job 0", { mutex });
    await begins(own, "job 0");
    const names = ["job 0"];
    for (let n = 1; n <= 6; n++) {
      names.push(`job ${n}`);
      await own.add(`job ${n}`, { mutex, waitMs: 60_000 });
      await eventually(`job ${n} is in line`, async () => (await waiters(client, key)) === n);
    }
    for (const name of names) own.finish(name);
    await eventually("all are done", () => own.ended.length === names.length);
    assert.deepEqual(own.begun, names);
    assert.deepEqual(own.ended, names);
  }, { concurrency: 8 }));

test("an operator overrides a limit while jobs wait", () =>
  withQueue(async ({ own, client, mutex, key }) => {
    const jobs = ["a", "b", "c", "d"];
    for (const name of jobs) await own.add(name, { mutex, limit: 2, waitMs: 60_000 });
    await eventually("two run, two wait", async () =>
      own.begun.length === 2 && (await waiters(client, key)) === 2);
    await client.call("LIMIT", "SET", key, 3, "REASON", "more machines");
    await eventually("three run", () => own.begun.length === 3);
    assert.equal(await waiters(client, key), 1);
    await client.call("LIMIT", "SET", key, 1);
    own.finish(own.begun[0]);
    await eventually("one is done", () => own.ended.length === 1);
    assert.equal(await client.call("LOCKED", key), 2);
    assert.equal(await waiters(client, key), 1, "two still run, and one may");
    await client.call("LIMIT", "DEL", key);
    for (const name of jobs) own.finish(name);
    await eventually("all are done", () => own.ended.length === 4);
  }));

test("a job that waits for too long is cancelled", () =>
  withQueue(async ({ own, mutex }) => {
    await own.add("first", { mutex });
    await begins(own, "first");
    const second = await own.add("second", { mutex, waitMs: 50 });
    assert.match((await own.end(second)).log, /^Cancelled: mutex/);
    own.finish("first");
  }));

test("the mutex of a worker that died is free", () =>
  withQueue(async ({ own, mutex, key }) => {
    const program = fileURLToPath(new URL("held_by_worker.js", import.meta.url));
    const worker = spawn(process.execPath, [program, key, "its job"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said] = await once(worker.stdout, "data");
    assert.match(String(said), /^token \d+/);
    const denied = await own.end(await own.add("denied", { mutex }));
    assert.equal(denied.state, "failed");
    const next = await own.add("next", { mutex, waitMs: 60_000 });
    own.finish("next");
    worker.kill("SIGKILL");
    assert.equal((await own.end(next)).state, "completed");
  }));
