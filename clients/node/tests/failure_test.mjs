// What may go wrong while a lock is held or waited for, with a real server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import readline from "node:readline";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { createLock, LostHold, now } from "../build/index.mjs";
import { SleepingClock } from "../build/clock.js";
import { testEach, until } from "./support.mjs";

const KEPT = { isKept: true };

testEach("a lease is renewed when a third is left", async (own) => {
  const hold = await createLock(await own.client())("k", { lease: 1500 });
  const { deadline } = hold;
  const count = await own.commands("renew");
  await until(() => hold.deadline !== deadline);
  assert.ok(deadline - now() <= 510, String(deadline - now()));
  assert.equal(await own.commands("renew"), count + 1);
  await sleep(deadline + 200 - now());
  assert.equal(await own.ask("CHECK", "k", hold.token), 1);
  assert.equal(await hold.release(), true);
});

testEach("a lease without renewal ends", async (own) => {
  const lock = createLock(await own.client());
  const lost = [];
  const hold = await lock("k", { lease: 500, renew: false, onLost: (one) => lost.push(one) });
  const count = await own.commands("renew");
  await once(hold.signal, "abort");
  assert.deepEqual(lost, [hold]);
  assert.ok(hold.signal.reason instanceof LostHold);
  assert.throws(() => hold.token, /lease of 500 ms ended|reported: expired/);
  assert.equal(await own.commands("renew"), count);
  assert.equal(await hold.release(), false);
});

testEach("a blocked event loop does not hide the end of a lease", async (own) => {
  const hold = await createLock(await own.client())("k", { lease: 100 });
  const begin = performance.now();
  while (performance.now() < begin + 150);
  assert.throws(() => hold.token, LostHold);
  assert.equal(hold.signal.aborted, true);
});

testEach("a lost hold ends using() with LostHold", async (own) => {
  const lock = createLock(await own.client());
  await assert.rejects(lock.using("k", async (hold, signal) => {
    own.ask("BREAK", "k");
    await once(signal, "abort");
    assert.throws(() => hold.check(), /reported: broken/);
  }), /before it was released/);
  const failure = new Error("of the work");
  await assert.rejects(lock.using("k", async () => {
    await own.ask("BREAK", "k");
    throw failure;
  }), failure);
});

testEach("renewing a lost hold fails", async (own) => {
  const lock = createLock(await own.client());
  const hold = await lock("k");
  await own.ask("BREAK", "k");
  await assert.rejects(hold.renew(), LostHold);
  await assert.rejects(hold.transfer("other"), LostHold);
});

testEach("a grant after a long wait is confirmed, and counts from then", async (own) => {
  await own.ask("LOCK", "k", "other", "PX", 20_000);
  const waiting = createLock(await own.client())("k", { lease: 2000, renew: false });
  await until(async () => (await own.waiters("k")).length === 1);
  await sleep(500);
  const begin = now();
  await own.ask("UNLOCK", "k", "other");
  const hold = await waiting;
  assert.ok(hold.deadline >= begin + 2000);
  assert.equal(await own.commands("renew"), 1);
  assert.equal(await hold.release(), true);
});

testEach("a lease counts from the request, not from its reply", async (own) => {
  const lock = createLock(await own.client(), { lease: 20_000, renew: false });
  await (await lock("k")).release(); // opens the channel
  own.server.process.kill("SIGSTOP");
  const granted = lock("k");
  await sleep(500);
  own.server.process.kill("SIGCONT");
  const hold = await granted;
  assert.equal(await own.commands("renew"), 0);
  const ttl = await own.ask("PTTL", "k");
  const left = hold.deadline - now();
  assert.ok(left < ttl - 400, `${left} of ${ttl}`);
  await hold.release();
});

testEach("a renewal never shortens the lease, answered or not", async (own) => {
  const hold = await createLock(await own.client())("k", { lease: 60_000, renew: false });
  own.server.process.kill("SIGSTOP");
  const renewal = hold.renew(500);
  await sleep(700);
  hold.check();
  own.server.process.kill("SIGCONT");
  await renewal;
  assert.ok(hold.deadline - now() > 50_000);
  assert.ok(await own.ask("PTTL", "k") > 50_000);
});

testEach("a hold is doubtful from its transfer on", async (own) => {
  const lost = [];
  const lock = createLock(await own.client());
  const hold = await lock("k", { lease: 60_000, onLost: (one) => lost.push(one) });
  own.server.process.kill("SIGSTOP");
  const transfer = hold.transfer("next");
  for (const use of [() => hold.check(), () => hold.token]) {
    assert.throws(use, { name: "LostHold", message: /^k is being transferred to next/ });
  }
  await assert.rejects(hold.renew(), LostHold);
  own.server.process.kill("SIGCONT");
  assert.equal(await transfer, await own.ask("LOCK", "k", "next"));
  assert.throws(() => hold.check(), { name: "LostHold", message: /was released/ });
  assert.deepEqual(lost, []);
});

testEach("a hold is lost if its transfer is never confirmed", async (own) => {
  const lost = [];
  const lock = createLock(await own.client());
  const hold = await lock("k", { lease: 1000, onLost: (one) => lost.push(one) });
  own.server.process.kill("SIGSTOP");
  await assert.rejects(hold.transfer("next"));
  own.server.process.kill("SIGCONT");
  assert.throws(() => hold.check(), LostHold);
  assert.deepEqual(lost, [hold]);
});

testEach("a transfer that is refused changes nothing", async (own) => {
  const lock = createLock(await own.client(), { limit: 2 });
  const hold = await lock("k", { owner: "job:1" });
  await lock("k", { owner: "job:2" });
  await assert.rejects(hold.transfer("job:2"), /ERR/);
  hold.check();
  assert.equal(await hold.release(), true);
});

testEach("a read time-out shorter than the wait keeps the place", async (own) => {
  await own.ask("LOCK", "k", "other");
  const lock = createLock(await own.client({ readTimeout: 200 }));
  const first = lock("k", { owner: "first", wait: 20_000 });
  await until(() => own.isWaiting("k", "first"));
  const second = lock("k", { owner: "second", wait: 20_000 });
  await sleep(1000);
  assert.deepEqual(await own.waiters("k"), ["first", "second"]);
  assert.equal(await own.commands("lock"), 3);
  await own.ask("UNLOCK", "k", "other");
  const hold = await first;
  assert.deepEqual(await own.waiters("k"), ["second"]);
  await hold.release();
  await (await second).release();
});

testEach("a restart while waiting and holding", async (own) => {
  const lock = createLock(await own.client());
  const lost = [];
  const holder = await lock("k", { lease: 4000, onLost: (hold) => lost.push(hold) });
  const waiting = lock("k", { owner: "second", keep: 20_000 });
  await until(() => own.isWaiting("k", "second"));
  for (const signal of ["SIGTERM", "SIGKILL"]) {
    await own.server.kill(signal);
    await own.server.start();
    await until(() => own.isWaiting("k", "second"));
    await sleep(600);
    holder.check();
  }
  assert.equal(await holder.release(), true);
  const hold = await waiting;
  assert.equal(await own.ask("CHECK", "k", hold.token), 1);
  assert.equal(await hold.release(), true);
  assert.deepEqual(lost, []);
}, KEPT);

testEach("a place without keep is asked for again after a crash", async (own) => {
  const lock = createLock(await own.client());
  const holder = await lock("k", { lease: 20_000 });
  const waiting = lock("k", { owner: "second" });
  await until(() => own.isWaiting("k", "second"));
  await own.server.kill();
  await own.server.start();
  await until(() => own.isWaiting("k", "second"));
  assert.equal(await holder.release(), true);
  assert.equal(await (await waiting).release(), true);
}, KEPT);

testEach("a server that is away for longer than the lease", async (own) => {
  const hold = await createLock(await own.client())("k", { lease: 500 });
  await own.server.kill();
  await once(hold.signal, "abort");
  assert.throws(() => hold.token, LostHold);
  await own.server.start();
  assert.equal(await hold.release(), false);
}, KEPT);

testEach("a release waits for the restart", async (own) => {
  const hold = await createLock(await own.client())("k", { lease: 60_000 });
  await own.server.kill();
  const released = hold.release();
  await sleep(100);
  await own.server.start();
  assert.equal(await released, true);
  await own.assertNothingLeft("k");
}, KEPT);

testEach("a client that is closed while a lock is waited for", async (own) => {
  await own.ask("LOCK", "k", "other");
  const client = await own.client();
  const waiting = createLock(client)("k");
  await until(async () => (await own.waiters("k")).length === 1);
  await Promise.all([assert.rejects(waiting, /closed|Disconnects/i), client.end()]);
});

testEach("a stopped process that lost its lease learns it before it acts", async (own) => {
  const child = spawn(process.execPath,
    [fileURLToPath(new URL("stopped_holder.mjs", import.meta.url)), String(own.server.port)],
    { stdio: ["pipe", "pipe", "inherit"] });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => (await lines.next()).value;
  assert.match(await line(), /^\d+$/);
  child.kill("SIGSTOP");
  await createLock(await own.client()).using("k", { wait: 10_000 }, async (hold) => {
    child.stdin.write("\n");
    child.kill("SIGCONT");
    assert.equal(await line(), "lost");
    assert.equal(await line(), "told");
    assert.equal(await own.ask("CHECK", "k", hold.token), 1);
  });
  assert.deepEqual(await once(child, "exit"), [0, null]);
}, { clients: ["ioredis"] });

test("the clock counts the time during which the machine slept", () => {
  let monotonic = 1000;
  let uptime = 500;
  let date = 1e12;
  let reads = 0;
  const readUptime = () => {
    ++reads;
    return uptime;
  };
  const clock = new SleepingClock(() => monotonic, readUptime, () => date);
  const begin = clock.now();
  const go = (awake, up, days = up) => {
    monotonic += awake;
    uptime += up;
    date += days;
    return clock.now() - begin;
  };
  assert.equal(go(50, 60, 50), 50); // the uptime is coarse
  assert.equal(go(10, 60_000), 60_010 + 50); // slept a minute
  assert.equal(go(40, 30), 60_100);
  assert.equal(reads, 2);
  assert.equal(go(40, 40, -3_600_000), 60_140); // the date was set back by an hour
  assert.equal(go(10, 1000), 61_130); // slept a second, by the coarse uptime
  assert.equal(reads, 4);
});
