// The same key of a client is the same key on the server, whoever adds the client's prefix to it.

import assert from "node:assert/strict";
import test from "node:test";

import { createClient } from "redis"; // version 5, which has no prefix

import { createLock } from "../build/index.mjs";
import { Terms } from "../build/terms.js";
import { Redis } from "./redis_clients.mjs";
import { Case, until } from "./support.mjs";

const PREFIX = "shop:";
const BYTES = Buffer.from("läden:");

function ioredis(keyPrefix) {
  return async (port, { db } = {}) => {
    const client = new Redis({ port, keyPrefix, db });
    client.on("error", () => {});
    return Object.assign(client, { end: () => client.disconnect(),
      setNx: (key, value) => client.set(key, value, "PX", 60_000, "NX") });
  };
}

function nodeRedis(create, keyPrefix) {
  return async (port, { db } = {}) => {
    const client = create({ keyPrefix, database: db, socket: { port } });
    client.on("error", () => {});
    await client.connect();
    return Object.assign(client, { end: () => client.isOpen && client.destroy(),
      setNx: (key, value) => client.set(key, value, { PX: 60_000, NX: true }) });
  };
}

/** Version 5, with the property in which version 6 stores its prefix. */
function likeVersion6(prefix) {
  return async (...options) => {
    const client = await nodeRedis(createClient)(...options);
    const { setNx } = client;
    const del = client.del.bind(client);
    Object.defineProperty(client, "_keyPrefix", { value: prefix });
    return Object.assign(client, { setNx: (key, value) => setNx(prefix + key, value),
      del: (key) => del(prefix + key) });
  };
}

// Version 6 of node-redis needs Node.js 20, so it is no package of these tests. They use it after
// npm install --no-save redis-6@npm:@redis/client@6
const version6 = (await import("redis-newest").catch(() => ({}))).createClient;

const CLIENTS = {
  ioredis: [ioredis(PREFIX), PREFIX],
  "ioredis, a Buffer": [ioredis(BYTES), String(BYTES)],
  "ioredis, an empty prefix": [ioredis(""), ""],
  "node-redis 5": [nodeRedis(createClient, PREFIX), ""],
  "node-redis like version 6": [likeVersion6(PREFIX), PREFIX],
  ...version6 && {
    "node-redis 6": [nodeRedis(version6, PREFIX), PREFIX],
    "node-redis 6, a Buffer": [nodeRedis(version6, BYTES), String(BYTES)],
    "node-redis 6, an empty prefix": [nodeRedis(version6, ""), ""],
  },
};

function testAll(title, work) {
  for (const [name, [open, prefix]] of Object.entries(CLIENTS)) {
    test(`${title}: ${name}`, { timeout: 60_000 }, async () => {
      const own = await Case.open({ open });
      try {
        await work(own, (key) => prefix + key);
      } finally {
        await own.close();
      }
    });
  }
}

testAll("a lock and a SET of the same client exclude each other", async (own, onServer) => {
  const client = await own.client();
  const lock = createLock(client);
  assert.equal(await client.setNx("order:42", "old program"), "OK");
  assert.equal(await lock.try("order:42"), null);
  assert.equal(await client.del("order:42"), 1);
  const hold = await lock("order:42");
  assert.equal(await client.setNx("order:42", "old program"), null);
  assert.equal(await client.del("order:42"), 0);
  assert.equal(await own.ask("CHECK", onServer("order:42"), hold.token), 1);
  await hold.release();
});

testAll("what a program sees has no prefix", async (own, onServer) => {
  const client = await own.client();
  const lock = createLock(client);
  await own.ask("LOCK", onServer("b"), "other");
  const denied = await lock(["a", "b"], { wait: 0 }).catch((error) => error);
  assert.equal(denied.explanation.key, "b");
  assert.match(denied.message, /^a, b not granted: b is taken; held by other for /);
  const held = await lock(["c", "d"]);
  assert.deepEqual(held.keys, ["c", "d"]);
  await held.release();
  assert.throws(() => held.check(), { message: "c, d was released" });
});

/** A word as MONITOR shows it, with escaped bytes. */
function textOf(word) {
  const bytes = word.replace(/\\x([0-9a-f]{2})/g, (_, hex) => String.fromCharCode(`0x${hex}`));
  return Buffer.from(bytes, "latin1").toString();
}

/** The words of each command that is about a key, until the monitor is stopped. */
async function record(own) {
  const commands = [];
  const monitor = await own.outside.monitor();
  const outside = await own.ask("CLIENT", "INFO");
  const address = /\baddr=(\S+)/.exec(outside)[1];
  monitor.on("monitor", (_, words, source) => {
    if (source !== address) commands.push(words.map(textOf));
  });
  return { commands, stop: () => monitor.disconnect() };
}

/** Makes the library send each of its commands. */
async function sendAll(own, client, onServer) {
  const lock = createLock(client);
  const lost = [];
  const hold = await lock("k", { lease: 60_000, onLost: () => lost.push("k") });
  await hold.renew();
  assert.equal(await lock.try("k", { maxWaiters: 0 }), null);
  await assert.rejects(lock("k", { wait: 30 }), { name: "Denied" });
  const waiting = lock("k", { owner: "next" });
  await until(() => own.isWaiting(onServer("k"), "next"));
  await hold.transfer("other");
  await own.ask("UNLOCK", onServer("k"), "other");
  const next = await waiting;
  assert.equal(next.token, await own.ask("LOCK", onServer("k"), "next"));
  const both = await lock(["i", "j"]);
  await both.renew();
  await assert.rejects(lock(["i", "j"], { signal: AbortSignal.timeout(50) }),
    { name: "TimeoutError" });
  assert.equal(await both.release(), true);
  const cancelled = assert.rejects(lock("k", { owner: "last" }), { name: "WaitEnded" });
  await until(() => own.isWaiting(onServer("k"), "last"));
  await own.ask("CANCEL", onServer("k"), "last");
  await cancelled;
  assert.equal(await next.release(), true);
  const broken = await lock("l", { onLost: () => lost.push("l") });
  await assert.rejects(lock("l", { wait: 30 }), { name: "Denied" }); // the channel is open
  await own.ask("BREAK", onServer("l"));
  await until(() => lost.length > 0);
  assert.throws(() => broken.check(), { name: "LostHold", message: /^l is lost/ });
  assert.deepEqual(lost, ["l"]);
}

test("every command that can be made names the keys with the prefix", () => {
  const members = Object.entries(Object.getOwnPropertyDescriptors(Terms.prototype));
  const methods = members.filter(([name, { value }]) =>
    name !== "constructor" && typeof value === "function").map(([name]) => name);
  assert.ok(methods.length >= 5, methods.join());
  for (const keys of [["k"], ["k", "j"]]) {
    const terms = new Terms(keys, {}, PREFIX);
    for (const name of methods) {
      if (name === "transfer" && keys.length > 1) continue;
      const words = terms[name]("me", 1, "next", 1);
      assert.ok(words.includes("shop:k") && !words.includes("k") && !words.includes("j"), name);
    }
  }
});

testAll("each key that is sent has the prefix once", async (own, onServer) => {
  const { commands, stop } = await record(own);
  await sendAll(own, await own.client(), onServer);
  stop();
  const seen = new Set();
  for (const words of commands) {
    const keys = await own.ask("COMMAND", "GETKEYS", ...words).catch(() => []);
    if (keys.length > 0) seen.add(words[0].toUpperCase());
    const expected = ["i", "j", "k", "l"].map(onServer);
    for (const key of keys) assert.ok(expected.includes(key), words.join(" "));
  }
  assert.deepEqual([...seen].sort(),
    ["LOCK", "MLOCK", "MRENEW", "MUNLOCK", "POSITION", "RENEW", "TRANSFER", "UNLOCK"]);
});

testAll("the database of the client is that of its locks", async (own, onServer) => {
  const client = await own.client({ db: 3 });
  const lock = createLock(client);
  const locked = async () => {
    await own.ask("SELECT", 3);
    const count = await own.ask("LOCKED", onServer("k"));
    await own.ask("SELECT", 0);
    return count;
  };
  const hold = await lock("k");
  const waiting = lock("k");
  await until(async () => await own.commands("lock") >= 2);
  assert.deepEqual([await locked(), await own.ask("LOCKED", onServer("k"))], [1, 0]);
  await hold.release();
  const next = await waiting;
  assert.deepEqual([await locked(), await own.ask("LOCKED", onServer("k"))], [1, 0]);
  await client.select(0);
  assert.equal(await (await lock("k")).release(), true);
  await client.select(3);
  assert.equal(await next.release(), true);
  assert.equal(await locked(), 0);
});
