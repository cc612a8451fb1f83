// AbortSignals, at any point, against a real server.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import { createLock } from "../build/index.mjs";
import { testEach, until } from "./support.mjs";

/** Lets the event loop turn that many times. */
async function turns(count) {
  for (let turn = 0; turn < count; ++turn) await new Promise(setImmediate);
}

testEach("of a wait", async (own) => {
  await own.ask("LOCK", "k", "other");
  const lock = createLock(await own.client());
  const reason = new Error("enough");
  const controller = new AbortController();
  const waiting = lock("k", { keep: 60_000, signal: controller.signal });
  await until(async () => (await own.waiters("k")).length === 1);
  controller.abort(reason);
  await assert.rejects(waiting, reason);
  assert.deepEqual(await own.waiters("k"), []);
  await assert.rejects(lock("k", { signal: controller.signal }), reason);
  await assert.rejects(lock("k", { keep: 60_000, signal: AbortSignal.timeout(100) }),
    { name: "TimeoutError" });
  assert.deepEqual(await own.waiters("k"), []);
  assert.equal(await own.commands("lock"), 3);
});

testEach("of a free lock at every turn of the event loop", async (own) => {
  const lock = createLock(await own.client());
  await (await lock("k")).release();
  let count = 0;
  let hold = null;
  for (; hold === null && count < 1000; ++count) {
    const controller = new AbortController();
    const taken = lock("k", { keep: 60_000, signal: controller.signal }).catch(() => null);
    await turns(count);
    controller.abort();
    hold = await taken;
    if (hold === null) await own.assertNothingLeft("k");
  }
  assert.ok(count > 1 && count < 1000, String(count));
  assert.equal(await hold.release(), true);
});

testEach("of a wait just when it is granted", async (own) => {
  const lock = createLock(await own.client());
  const outcomes = new Set();
  for (let count = 0; count < 40; ++count) {
    const holder = await lock("k", { owner: "other" });
    const controller = new AbortController();
    const taken = lock("k", { owner: "me", keep: 60_000, signal: controller.signal })
      .catch(() => null);
    await until(() => own.isWaiting("k", "me"));
    const released = holder.release();
    await turns(count);
    controller.abort();
    await released;
    const hold = await taken;
    outcomes.add(hold === null);
    await hold?.release();
    await own.assertNothingLeft("k");
  }
  assert.ok(outcomes.has(true));
});

testEach("while the server is away", async (own) => {
  await own.ask("LOCK", "k", "other", "EX", 100);
  const lock = createLock(await own.client());
  const controller = new AbortController();
  const waiting = lock("k", { keep: 60_000, signal: controller.signal });
  await until(async () => (await own.waiters("k")).length === 1);
  await own.server.kill();
  await sleep(50);
  const rejected = assert.rejects(waiting, { name: "AbortError" });
  controller.abort();
  await sleep(50);
  await own.server.start();
  await rejected;
  await until(async () => (await own.waiters("k")).length === 0);
}, { isKept: true });

testEach("does not end a hold", async (own) => {
  const controller = new AbortController();
  const hold = await createLock(await own.client())("k", { signal: controller.signal });
  controller.abort();
  hold.check();
  assert.equal(await hold.release(), true);
});
