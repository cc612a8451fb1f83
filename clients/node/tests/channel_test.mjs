// All waits of a client share the connection of its channel, against a real server.

import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { createLock } from "../build/index.mjs";
import { testEach, until } from "./support.mjs";

const WAITS = 1000;

testEach("a thousand waits at once, in order", async (own) => {
  const lock = createLock(await own.client({ name: "shop" }));
  const order = [];
  const tokens = [];
  const holder = await lock("k");
  const waits = Array.from({ length: WAITS }, (_, number) =>
    lock.using("k", { owner: `w${number}`, wait: 60_000 }, (hold) => {
      order.push(number);
      tokens.push(hold.token);
    }));
  await until(async () => (await own.ask("LOCKS"))[1][0]?.[2] === WAITS);
  assert.equal(await own.connections("shop"), 2);
  await sleep(100);
  assert.equal(await own.commands("lock"), WAITS + 1);
  await holder.release();
  await Promise.all(waits);
  assert.deepEqual(order, [...Array(WAITS).keys()]);
  assert.deepEqual(tokens, [...tokens].sort((a, b) => a - b));
  await own.assertNothingLeft("k");
});

testEach("many keys", async (own) => {
  await own.ask("LOCK", "b", "other");
  const waiting = createLock(await own.client())(["a", "b"]);
  await until(async () => (await own.waiters("a")).length === 1);
  await own.ask("UNLOCK", "b", "other");
  const hold = await waiting;
  assert.equal(await own.ask("CHECK", "b", hold.token), 1);
  assert.equal(await hold.release(), true);
  await own.assertNothingLeft("a", "b");
});

testEach("a lost hold is reported at once", async (own) => {
  const lock = createLock(await own.client());
  const lost = [];
  const hold = await lock("k", { lease: 60_000, onLost: (one) => lost.push(one) });
  await Promise.all([once(hold.signal, "abort"), own.ask("BREAK", "k")]);
  assert.deepEqual(lost, [hold]);
  assert.throws(() => hold.check(), /broken/);
});

testEach("messages about an earlier wait of the owner are not believed", async (own) => {
  await own.ask("LOCK", "k", "other");
  const waiting = createLock(await own.client())("k", { owner: "me", wait: 30_000 });
  await until(() => own.isWaiting("k", "me"));
  const [channel] = await own.ask("PUBSUB", "CHANNELS", "fairlock:*");
  for (const [event, token] of [["cancelled", null], ["timeout", null], ["granted", 1]]) {
    const message = { event, key: "k", owner: "me", token, reason: null };
    await own.ask("PUBLISH", channel, JSON.stringify(message));
  }
  await until(async () => await own.commands("renew") === 1);
  assert.equal(await own.commands("position"), 1);
  await sleep(300);
  assert.deepEqual(await own.waiters("k"), ["me"]);
  await own.ask("UNLOCK", "k", "other");
  const hold = await waiting;
  assert.equal(await own.ask("CHECK", "k", hold.token), 1);
  await hold.release();
});

testEach("the connection of the channel is closed", async (own) => {
  await own.ask("LOCK", "k", "other");
  const waiting = createLock(await own.client())("k", { owner: "me" });
  await until(() => own.isWaiting("k", "me"));
  await own.ask("CLIENT", "KILL", "TYPE", "pubsub");
  await until(async () => await own.commands("subscribe") === 2);
  await until(() => own.isWaiting("k", "me"));
  await own.ask("UNLOCK", "k", "other");
  assert.equal(await (await waiting).release(), true);
});

testEach("the client's own connection is closed", async (own) => {
  await own.ask("LOCK", "k", "other");
  const lock = createLock(await own.client());
  const hold = await lock("held", { lease: 2000 });
  const waiting = lock("k", { owner: "me" });
  await until(() => own.isWaiting("k", "me"));
  await own.ask("CLIENT", "KILL", "TYPE", "normal");
  await own.ask("UNLOCK", "k", "other");
  assert.equal(await (await waiting).release(), true);
  await hold.renew();
  assert.equal(await hold.release(), true);
});

testEach("a transfer is not a loss", async (own) => {
  const lock = createLock(await own.client());
  const lost = [];
  await lock.using("k", { lease: 500, onLost: (hold) => lost.push(hold) }, async (hold) => {
    await hold.transfer("other", 60_000);
    await sleep(700);
  });
  assert.deepEqual(lost, []);
  assert.equal(await own.ask("LOCKED", "k", "other"), 1);
});

testEach("a silent connection is checked, and replaced if it does not answer", async (own) => {
  const lock = createLock(await own.client({ readTimeout: 300 }));
  await own.ask("LOCK", "k", "other", "EX", 100);
  const waiting = lock("k", { owner: "me" });
  await until(() => own.isWaiting("k", "me"));
  await until(async () => await own.commands("ping") >= 2);
  assert.equal(await own.commands("subscribe"), 1);
  own.server.process.kill("SIGSTOP");
  await sleep(1200);
  own.server.process.kill("SIGCONT");
  await until(async () => await own.commands("subscribe") >= 2);
  await own.ask("UNLOCK", "k", "other");
  assert.equal(await (await waiting).release(), true);
});

testEach("the channel is closed when no lock needs it", async (own) => {
  const lock = createLock(await own.client({ readTimeout: 200, name: "shop" }));
  for (let turn = 1; turn <= 2; ++turn) {
    await (await lock("k")).release();
    assert.equal(await own.commands("subscribe"), turn);
    await until(async () => await own.connections("shop") <= 1);
  }
});
