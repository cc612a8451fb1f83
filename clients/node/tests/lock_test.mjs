// Tests locks and their options with a real server.

import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { createLock, Deadlock, Denied, LostHold, NotFairlock, now, WaitEnded }
  from "../build/index.mjs";
import { Redis, createClient } from "./redis_clients.mjs";
import { freePort, RedisServer } from "./server.mjs";
import { CLIENTS, testEach, until } from "./support.mjs";

const testAll = (title, work) => testEach(title, work, { clients: Object.keys(CLIENTS) });

testAll("using() holds the lock and releases it", async (own) => {
  const lock = createLock(await own.client());
  let kept;
  const result = await lock.using("order:42", { lease: 30_000, wait: 10_000 },
    async (hold, signal) => {
      assert.equal(await own.ask("CHECK", "order:42", hold.token), 1);
      assert.deepEqual(hold.keys, ["order:42"]);
      assert.equal(await own.ask("LOCKED", "order:42", hold.owner), 1);
      assert.match(hold.owner, new RegExp(`:${process.pid}:[0-9a-f]{16}$`));
      assert.ok(hold.deadline - now() > 29_000);
      assert.equal(signal, hold.signal);
      kept = hold;
      return 7;
    });
  assert.equal(result, 7);
  await own.assertNothingLeft("order:42");
  assert.throws(() => kept.check(), { name: "LostHold", message: /was released/ });
  assert.equal(kept.signal.aborted, false);
});

testAll("a denial names the holder and the position", async (own) => {
  await own.ask("LOCK", "k", "other", "PX", 20_000, "META", "at work", "LABEL", "jobs");
  const lock = createLock(await own.client());
  const denied = await lock("k", { wait: 0, keep: 5000 }).catch((error) => error);
  assert.ok(denied instanceof Denied);
  const found = denied.explanation;
  assert.deepEqual([found.status, found.reason, found.position], ["queued", "held", 1]);
  const [holder] = found.holders;
  assert.deepEqual([holder.owner, holder.meta, holder.label, holder.mode],
    ["other", "at work", "jobs", "exclusive"]);
  assert.ok(holder.ttl > 15_000 && holder.ttl <= 20_000);
  assert.match(denied.message,
    /^k not granted: held by other for .*; position 1 is kept; 1 waiting$/);
});

testAll("a wait ends at its time", async (own) => {
  await own.ask("LOCK", "k", "other");
  const lock = createLock(await own.client());
  const begin = performance.now();
  await assert.rejects(lock("k", { wait: 200 }), (error) => {
    assert.deepEqual([error.explanation.status, error.explanation.holders[0].owner],
      ["timeout", "other"]);
    return error instanceof Denied;
  });
  assert.ok(performance.now() - begin >= 199);
  assert.deepEqual(await own.waiters("k"), []);
});

testAll("try() results in null if the lock is held", async (own) => {
  const lock = createLock(await own.client());
  const hold = await lock.try("k");
  assert.equal(await lock.try("k"), null);
  assert.equal(await own.ask("CHECK", "k", hold.token), 1);
  assert.equal(await hold.release(), true);
  assert.notEqual(await lock.try("k"), null);
});

testAll("shared locks and semaphores", async (own) => {
  const lock = createLock(await own.client());
  await lock.using("s", { shared: true }, () =>
    lock.using("s", { shared: true }, async () => {
      assert.equal(await own.ask("LOCKED", "s"), 2);
      assert.equal(await lock.try("s"), null);
    }));
  await lock.using("n", { limit: 2 }, (first) =>
    lock.using("n", { limit: 2 }, async (second) => {
      assert.notEqual(first.token, second.token);
      assert.equal(await lock.try("n", { limit: 2 }), null);
    }));
  await own.assertNothingLeft("s", "n");
});

testAll("many keys", async (own) => {
  const lock = createLock(await own.client());
  await lock.using(["a", "b", "c"], async (hold) => {
    for (const key of hold.keys) assert.equal(await own.ask("CHECK", key, hold.token), 1);
    await assert.rejects(lock(["x", "c"], { wait: 0 }), (error) => error.explanation.key === "c");
    await hold.renew(60_000);
    assert.ok(await own.ask("PTTL", "c") > 31_000);
    await assert.rejects(hold.transfer("other"), RangeError);
  });
  await own.assertNothingLeft("a", "b", "c", "x");
});

testAll("minHold and maxWaiters", async (own) => {
  const lock = createLock(await own.client());
  await (await lock("k", { minHold: 60_000 })).release();
  const reason = (options) => lock("k", options).catch((error) => error.explanation.reason);
  assert.equal(await reason({ wait: 0 }), "cooling");
  assert.equal(await reason({ wait: 9000, maxWaiters: 0 }), "full");
});

testAll("a transfer gives the lock to another owner", async (own) => {
  const lock = createLock(await own.client());
  let token;
  await lock.using("k", async (hold) => {
    token = await hold.transfer("worker-2");
    assert.throws(() => hold.check(), LostHold);
    assert.equal(await hold.release(), false);
  });
  await lock.using("k", { owner: "worker-2" }, (hold) => assert.equal(hold.token, token));
});

testAll("a given owner keeps its place between attempts", async (own) => {
  await own.ask("LOCK", "k", "other");
  const lock = createLock(await own.client(), { owner: "job:1", keep: 20_000 });
  assert.equal(await lock.try("k"), null);
  assert.deepEqual(await own.waiters("k"), ["job:1"]);
  await own.ask("UNLOCK", "k", "other");
  assert.equal(await createLock(await own.client()).try("k"), null);
  assert.notEqual(await lock.try("k"), null);
});

testAll("any bytes", async (own) => {
  const lock = createLock(await own.client());
  const key = Uint8Array.of(0xff, 0);
  await own.ask("LOCK", Buffer.from(key), "other");
  const waiting = lock(key, { owner: Buffer.from([0xfe]), meta: Buffer.from([0xfd]) });
  await until(async () => await own.ask("POSITION", Buffer.from(key), Buffer.from([0xfe])) === 1);
  await own.ask("UNLOCK", Buffer.from(key), "other");
  const hold = await waiting;
  assert.equal(await own.ask("CHECK", Buffer.from(key), hold.token), 1);
  await hold.release();
});

testAll("other requests that end a wait", async (own) => {
  await own.ask("LOCK", "k", "other");
  const lock = createLock(await own.client());
  for (const command of ["CANCEL", "UNLOCK"]) {
    const waiting = lock("k", { owner: "me", wait: 20_000 });
    await until(() => own.isWaiting("k", "me"));
    await Promise.all([assert.rejects(waiting, WaitEnded), own.ask(command, "k", "me")]);
  }
});

testAll("a deadlock is refused", async (own) => {
  const lock = createLock(await own.client());
  const first = await lock("a", { owner: "one" });
  await own.ask("LOCK", "b", "two");
  const waiting = lock("b", { owner: "one", wait: 10_000 });
  await until(() => own.isWaiting("b", "one"));
  await assert.rejects(lock("a", { owner: "two", wait: 10_000 }), (error) =>
    error instanceof Deadlock && /waits for/.test(error.message));
  await own.ask("UNLOCK", "b", "two");
  await (await waiting).release();
  await first.release();
});

testAll("tasks take turns", async (own) => {
  const lock = createLock(await own.client());
  const tokens = [];
  let inside = 0;
  const work = async () => {
    for (let turn = 0; turn < 20; ++turn) {
      await lock.using("k", { wait: 20_000 }, async (hold) => {
        assert.equal(++inside, 1);
        await sleep(0);
        tokens.push(hold.token);
        --inside;
      });
    }
  };
  await Promise.all(Array.from({ length: 10 }, work));
  assert.equal(tokens.length, 200);
  assert.deepEqual(tokens, [...tokens].sort((a, b) => a - b));
});

testEach("terms that contradict each other", async (own) => {
  const lock = createLock(await own.client());
  await assert.rejects(lock("k", { lease: 0 }), RangeError);
  await assert.rejects(lock("k", { shared: true, limit: 2 }), RangeError);
  await assert.rejects(lock([]), RangeError);
  await assert.rejects(lock(42), TypeError);
  await assert.rejects(lock(""), /key must have/);
});

test("Redis is not fairlock", async () => {
  const server = await new RedisServer().open();
  for (const open of Object.values(CLIENTS)) {
    const client = await open(server.port);
    const lock = createLock(client);
    for (const keys of ["k", ["a", "b"]]) {
      await assert.rejects(lock(keys, { wait: 60_000 }), (error) =>
        error instanceof NotFairlock && /it may be Redis/.test(error.message));
    }
    client.end();
  }
  await server.close();
});

test("no server", async () => {
  const client = new Redis({ port: await freePort(), maxRetriesPerRequest: 1 });
  client.on("error", () => {});
  const lock = createLock(client);
  await assert.rejects(lock("k", { wait: 0 }), /max retries per request/);
  const begin = performance.now();
  await assert.rejects(lock("k", { wait: 300 }), /no reply within 5\d{3} ms/);
  assert.ok(performance.now() - begin < 10_000);
  client.disconnect();
  await assert.rejects(createLock(createClient())("k"), /client is closed/);
});

test("other clients are refused", () => {
  for (const client of [{}, { call() {} }, { sendCommand() {} }]) {
    assert.throws(() => createLock(client), /expected a client of ioredis or node-redis/);
  }
});
