// What every option and method that takes a time or a number refuses, and what errors say.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import { createLock, Denied } from "../build/index.mjs";
import { CLIENTS, testEach } from "./support.mjs";

const testAll = (title, work) => testEach(title, work, { clients: Object.keys(CLIENTS) });
const YEAR = 365 * 24 * 3600 * 1000;

/**
 * All places at which the library takes a time: how it is passed, and the shortest time allowed.
 */
const TIMES = {
  lease: [1, (lock, _, lease) => lock("other", { lease })],
  wait: [0, (lock, _, wait) => lock("other", { wait })],
  keep: [0, (lock, _, keep) => lock("other", { keep })],
  minHold: [0, (lock, _, minHold) => lock("other", { minHold })],
  "a renewal": [1, (_, hold, lease) => hold.renew(lease)],
  "a transfer": [1, (_, hold, lease) => hold.transfer("next", lease)],
};

testAll("times are checked at the call", async (own) => {
  const lock = createLock(await own.client());
  for (const [name, [shortest, use]] of Object.entries(TIMES)) {
    const hold = await lock("k", { owner: "me" });
    const before = await own.commands("lock") + await own.commands("renew");
    const wrong = [-1, shortest - 0.001, NaN, -Infinity, YEAR + 1, Number.MAX_VALUE, "30s", "30",
      null, {}, 30n, ...(name === "wait" ? [] : [Infinity])];
    for (const time of wrong) {
      if (time === null && !name.startsWith("a ")) continue; // null is an option that is not given
      await assert.rejects(async () => use(lock, hold, time),
        { name: "RangeError", message: /must be a number of milliseconds from .*, got / },
        `${name}: ${String(time)}`);
    }
    assert.equal(await own.commands("lock") + await own.commands("renew"), before, name);
    hold.check();
    for (const time of [Math.max(shortest, 50), name === "keep" ? 60_000 : YEAR]) {
      const other = await use(lock, hold, time);
      if (other?.release) await other.release();
      await own.ask("BREAK", "other");
      if (name === "a transfer") break;
    }
    await own.ask("BREAK", "k");
  }
});

testAll("numbers are checked at the call", async (own) => {
  const lock = createLock(await own.client());
  for (const options of [{ limit: 0 }, { limit: -1 }, { limit: 1.5 }, { limit: "2" },
    { maxWaiters: -1 }, { maxWaiters: 0.5 }, { maxWaiters: NaN }]) {
    await assert.rejects(lock("k", options), { name: "RangeError", message: /an integer of at/ });
  }
  assert.equal(await own.commands("lock"), 0);
});

testAll("a denial names the key, the holder and the waiters", async (own) => {
  await own.ask("LOCK", "order:42", "worker-2");
  const lock = createLock(await own.client());
  const waiting = lock("order:42", { owner: "me" }).catch((error) => error);
  while ((await own.ask("QUEUE", "order:42")).length === 0) await sleep(5);
  const denied = await lock("order:42", { wait: 200 }).catch((error) => error);
  assert.ok(denied instanceof Denied && denied.waited >= 200, denied);
  assert.match(denied.message,
    /^order:42 not granted in \d+ ms: held by worker-2 for .* m?s; 1 waiting/);
  await own.ask("CANCEL", "order:42", "me");
  assert.equal((await waiting).name, "WaitEnded");
});

testAll("a free lock without a wait needs one request, without an explanation", async (own) => {
  const lock = createLock(await own.client());
  const before = await own.commands("lock");
  for (let i = 0; i < 10; ++i) await (await lock("k", { wait: 0 })).release();
  assert.equal(await own.commands("lock"), before + 10);
  await own.ask("LOCK", "k", "other");
  await assert.rejects(lock("k", { wait: 0 }), { name: "Denied", message: /held by other/ });
  assert.equal(await own.commands("lock"), before + 13);
});
