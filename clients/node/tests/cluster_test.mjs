// A fleet of two partitions, whose leaders are killed, are stopped, or hand over.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import readline from "node:readline";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import calculateSlot from "cluster-key-slot";

import { createLock, FairlockError } from "../build/index.mjs";
import { slotOf } from "../build/slots.js";
import { Cluster, Redis, createCluster } from "./redis_clients.mjs";
import { examples, runExample } from "./readme_examples.mjs";
import { until } from "./support.mjs";

const fleet = spawn("/usr/bin/python3",
  ["-B", fileURLToPath(new URL("cluster.py", import.meta.url))],
  { stdio: ["pipe", "pipe", "inherit"] });
const lines = readline.createInterface({ input: fleet.stdout })[Symbol.asyncIterator]();
let ports;
const nodes = new Map();

const answer = async () => JSON.parse((await lines.next()).value);

async function tell(...words) {
  fleet.stdin.write(`${words.join(" ")}\n`);
  return answer();
}

before(async () => {
  ports = await answer();
  for (const port of ports) {
    nodes.set(port, new Redis({ port, commandTimeout: 2000 }).on("error", () => {}));
  }
});

after(async () => {
  for (const node of nodes.values()) node.disconnect();
  fleet.stdin.end();
  if (fleet.exitCode === null) await once(fleet, "exit");
});

const partitionOf = (key) => calculateSlot(key) < 8192 ? 0 : 1;

// A key of each partition. Each test has its own keys.
let count = 0;
function keys() {
  const found = [];
  while (found[0] === undefined || found[1] === undefined) {
    const key = `key:${++count}`;
    found[partitionOf(key)] = key;
  }
  return found;
}

/** Asks the leader of the key. */
async function ask(name, key, ...words) {
  const port = await tell("leader", partitionOf(key));
  return nodes.get(port).call(name, key, ...words);
}

async function waiters(key) {
  const places = await ask("QUEUE", key);
  return places.map((fields) => fields[fields.indexOf("owner") + 1]);
}

const isWaiting = async (key, ...owners) => (await waiters(key)).join() === owners.join();

async function assertNothingLeft(...names) {
  for (const key of names) {
    assert.deepEqual([await ask("LOCKED", key), await waiters(key)], [0, []], key);
  }
}

/** The sum over all nodes. */
async function sum(count) {
  const counts = await Promise.all([...nodes.values()].map(count));
  return counts.reduce((total, one) => total + one);
}

const channels = () => sum(async (node) => (await node.pubsub("CHANNELS", "fairlock:*")).length);
const subscribers = (name) => sum(async (node) => {
  const list = await node.client("LIST");
  return list.split("\n").filter((line) =>
    line.includes(` name=${name} `) && !line.includes(" sub=0 ")).length;
});

const nodesOfIoredis = () => ports.map((port) => ({ host: "127.0.0.1", port }));

const CLIENTS = {
  ioredis: async ({ readTimeout, name } = {}) => {
    const client = new Cluster(nodesOfIoredis(),
      { redisOptions: { commandTimeout: readTimeout, connectionName: name } });
    client.on("error", () => {});
    return Object.assign(client, { end: () => client.disconnect() });
  },
  "node-redis": (options) => nodeRedis(2, options),
  "node-redis with RESP 3": (options) => nodeRedis(3, options),
};
const [IOREDIS, NODE_REDIS] = Object.keys(CLIENTS);

async function nodeRedis(RESP, { readTimeout, name } = {}) {
  const client = createCluster({ RESP,
    rootNodes: ports.map((port) => ({ socket: { host: "127.0.0.1", port } })),
    defaults: { name, socket: { socketTimeout: readTimeout, reconnectStrategy: 50 },
      pingInterval: readTimeout && readTimeout / 2 } });
  client.on("error", () => {});
  await client.connect();
  return Object.assign(client, { end: () => client.isOpen && client.destroy() });
}

/** A test for each client, on a fleet that is whole. */
function testEach(title, work, { clients = [IOREDIS, NODE_REDIS], ...options } = {}) {
  for (const name of clients) {
    test(`${title}: ${name}`, { timeout: 60_000 }, async () => {
      const client = await CLIENTS[name](options);
      try {
        await work(createLock(client, { wait: 60_000 }), client);
      } finally {
        client.end();
        await tell("repair");
      }
    });
  }
}

testEach("locks in all partitions", async (lock) => {
  const [a, b] = keys();
  await Promise.all([a, b].map((key) => lock.using(key, async (hold) => {
    assert.equal(await ask("CHECK", key, hold.token), 1);
    await hold.renew(60_000);
    assert.ok(await ask("PTTL", key) > 31_000);
    assert.equal(await lock.try(key), null);
    await assert.rejects(lock(key, { owner: "other", wait: 50 }), (error) =>
      error.explanation.status === "timeout" && error.explanation.holders[0].owner === hold.owner);
  })));
  for (const key of [a, b]) {
    const hold = await lock(key, { limit: 2 });
    const other = await lock(key, { limit: 2 });
    assert.equal(await lock.try(key, { limit: 2 }), null);
    assert.equal(await other.transfer("another") > 0, true);
    assert.equal(await hold.release(), true);
    assert.equal(await ask("UNLOCK", key, "another"), 1);
  }
  await assertNothingLeft(a, b);
}, { clients: Object.keys(CLIENTS) });

testEach("many keys of one slot, and of two", async (lock) => {
  const [a, b] = keys();
  const both = [`{${a}}:1`, `{${a}}:2`];
  const holder = await lock(both[1]);
  const waiting = lock(both);
  await until(async () => (await waiters(both[0])).length === 1);
  await holder.release();
  assert.equal(await (await waiting).release(), true);
  await assert.rejects(lock([a, b]), /CROSSSLOT/);
  await assert.rejects(lock([a, b], { wait: 0 }), /CROSSSLOT/);
  await assertNothingLeft(...both, a, b);
});

testEach("keys that are no tags", async (lock) => {
  for (const key of ["a}b", "{}x", "foo{}{bar}", "x".repeat(300), Buffer.from([0xff, 0])]) {
    const holder = await lock(key);
    const waiting = lock(key, { wait: 20_000 });
    await sleep(20);
    assert.equal(await holder.release(), true);
    assert.equal(await (await waiting).release(), true);
  }
});

testEach("many waits over one connection to each leader, in order", async (lock) => {
  const order = {};
  const all = keys();
  await Promise.all(all.map(async (key) => {
    const holder = await lock(key);
    order[key] = [];
    const waits = Array.from({ length: 90 }, (_, number) =>
      lock.using(key, () => order[key].push(number)));
    await until(async () => (await waiters(key)).length === 90);
    assert.equal(await subscribers("shop"), 2);
    await holder.release();
    await Promise.all(waits);
    assert.deepEqual(order[key], [...Array(90).keys()]);
  }));
  await assertNothingLeft(...all);
}, { name: "shop", clients: Object.keys(CLIENTS) });

testEach("channels are closed when no lock needs them", async (lock) => {
  const all = [...keys(), ...keys()];
  const holds = await Promise.all(all.map((key) => lock(key)));
  assert.equal(await channels(), 4);
  await Promise.all(holds.slice(0, 3).map((hold) => hold.release()));
  await until(async () => await channels() === 1);
  assert.equal(await subscribers("shop"), 1);
  await holds[3].release();
  await until(async () => await subscribers("shop") === 0);
}, { readTimeout: 300, name: "shop" });

testEach("a lost hold is reported at once", async (lock) => {
  for (const key of keys()) {
    const hold = await lock(key, { lease: 60_000 });
    await Promise.all([once(hold.signal, "abort"), ask("BREAK", key)]);
    assert.throws(() => hold.check(), /broken/);
  }
});

testEach("a subscription at a wrong node is moved", async (lock, client) => {
  const [a, b] = keys();
  await (await lock(b)).release();
  await ask("LOCK", a, "other");
  const right = client.slots[slotOf(a)];
  client.slots[slotOf(a)] = client.slots[slotOf(b)];
  const waiting = lock(a, { owner: "me" });
  await until(() => isWaiting(a, "me"));
  assert.deepEqual(client.slots[slotOf(a)][0] ?? client.slots[slotOf(a)].master.address,
    right[0] ?? right.master.address);
  await ask("UNLOCK", a, "other");
  assert.equal(await (await waiting).release(), true);
});

/** Locks are held and waited for in both partitions, while the leader of one of them changes. */
async function survive(lock, change) {
  const [a, b] = keys();
  const lost = [];
  const onLost = (hold) => lost.push(hold);
  const holders = await Promise.all([a, b].map((key) => lock(key, { lease: 20_000, onLost })));
  const waits = {};
  for (const key of [a, b]) {
    waits[key] = ["first", "second"].map((owner) => lock(key, { owner, keep: 30_000, onLost }));
    await until(() => isWaiting(key, "first", "second"));
  }
  await change(a, b);
  for (const [number, key] of [a, b].entries()) {
    const { token } = holders[number];
    assert.equal(await ask("CHECK", key, token), 1);
    await until(() => holders[number].renew().then(() => true, () => false));
    assert.equal(await holders[number].release(), true);
    const first = await waits[key][0];
    assert.ok(first.token > token);
    assert.equal(await ask("CHECK", key, first.token), 1);
    assert.equal(await first.release(), true);
    assert.equal(await (await waits[key][1]).release(), true);
  }
  assert.deepEqual(lost, []);
  await assertNothingLeft(a, b);
}

testEach("a leader is killed", (lock) => survive(lock, async (a, b) => {
  await tell("kill", partitionOf(a));
  const other = await lock(`{${b}}:other`);
  assert.equal(await other.release(), true);
  await tell("await", partitionOf(a));
}));

testEach("a leader hands over", (lock) => survive(lock, async (a) => {
  await tell("hand-over", partitionOf(a));
  await tell("await", partitionOf(a));
}));

testEach("a leader is stopped", (lock) => survive(lock, async (a) => {
  await tell("pause", partitionOf(a));
  await tell("await", partitionOf(a));
}), { readTimeout: 500 });

testEach("the connections of the channels are closed", async (lock) => {
  const [a, b] = keys();
  await Promise.all([a, b].map((key) => ask("LOCK", key, "other")));
  const waits = [a, b].map((key) => lock(key, { owner: "me" }));
  for (const key of [a, b]) await until(() => isWaiting(key, "me"));
  await sum((node) => node.client("KILL", "TYPE", "pubsub"));
  for (const key of [a, b]) await ask("UNLOCK", key, "other");
  for (const waiting of waits) assert.equal(await (await waiting).release(), true);
});

testEach("a wait is cancelled while no node leads", async (lock) => {
  const [a] = keys();
  await ask("LOCK", a, "other", "PX", 60_000);
  const controller = new AbortController();
  const waits = ["first", "second"].map((owner) =>
    lock(a, { owner, keep: 60_000, signal: controller.signal }));
  await until(() => isWaiting(a, "first", "second"));
  await tell("kill", partitionOf(a));
  const late = lock(a, { owner: "late", keep: 60_000, signal: controller.signal });
  const rejected = [...waits, late].map((wait) => assert.rejects(wait, { name: "AbortError" }));
  await sleep(100);
  controller.abort();
  await Promise.all(rejected);
  await tell("await", partitionOf(a));
  await sleep(500);
  assert.deepEqual(await waiters(a), []);
});

testEach("a free lock is cancelled at any time of a fail-over", async (lock) => {
  const [a] = keys();
  await (await lock(a)).release();
  await tell("kill", partitionOf(a));
  const attempts = Array.from({ length: 40 }, async (_, number) => {
    const key = `{${a}}:${number}`;
    const signal = AbortSignal.timeout(60 * number);
    const hold = await lock(key, { keep: 60_000, signal }).catch(() => null);
    await hold?.release();
    return key;
  });
  const tried = await Promise.all(attempts);
  await tell("await", partitionOf(a));
  await sleep(500);
  await assertNothingLeft(...tried);
});

testEach("a request that has timed out is not sent again", async (lock) => {
  const [a] = keys();
  const kept = await lock(`{${a}}:kept`); // so the channel has a subscriber
  await tell("pause", partitionOf(a));
  await (await lock(a)).release(); // once another node leads
  await sleep(4000); // the stopped node leaves the table, so its connection is closed
  await tell("repair");
  await assertNothingLeft(a);
  assert.equal(await kept.release(), true);
}, { readTimeout: 300, clients: [IOREDIS] });

testEach("a client that is closed while a lock is waited for", async (lock, client) => {
  const [a] = keys();
  await ask("LOCK", a, "other");
  const waiting = lock(a, { owner: "me" });
  await until(() => isWaiting(a, "me"));
  await Promise.all([assert.rejects(waiting, /closed|Disconnects/i), client.end()]);
});

test("a client of ioredis that is not connected yet", async () => {
  const client = new Cluster(nodesOfIoredis(), { lazyConnect: true });
  client.on("error", () => {});
  try {
    const begin = performance.now();
    await createLock(client).using(keys()[0], { wait: 10_000 }, () => {});
    assert.ok(performance.now() - begin < 5000);
  } finally {
    client.disconnect();
  }
});

test("a client of ioredis that may not log in", async () => {
  const client = new Cluster(nodesOfIoredis(),
    { redisOptions: { username: "nobody", password: "wrong" } });
  client.on("error", () => {});
  try {
    await assert.rejects(createLock(client)(keys()[0]), /WRONGPASS|too many log-ins/);
  } finally {
    client.disconnect();
  }
});

const PREFIXED = {
  ioredis: (keyPrefix) => new Cluster(nodesOfIoredis(), { keyPrefix }),
  "ioredis, for the nodes": (keyPrefix) =>
    new Cluster(nodesOfIoredis(), { redisOptions: { keyPrefix } }),
  // Version 5, with the property in which version 6 stores its prefix.
  "node-redis": async (keyPrefix) => {
    const rootNodes = ports.map((port) => ({ socket: { host: "127.0.0.1", port } }));
    const client = await createCluster({ rootNodes }).on("error", () => {}).connect();
    return Object.defineProperty(client, "_keyPrefix", { value: keyPrefix });
  },
};

for (const [name, open] of Object.entries(PREFIXED)) {
  for (const prefix of ["shop:", "{shop}:"]) {
    test(`a cluster client with the prefix ${prefix}: ${name}`, { timeout: 60_000 }, async () => {
      const client = await open(prefix);
      const isOfIoredis = name.startsWith("ioredis");
      try {
        const lock = createLock(client);
        for (const key of keys()) {
          const onServer = prefix + key;
          const hold = await lock(key);
          assert.equal(await ask("CHECK", onServer, hold.token), 1);
          const isSet = isOfIoredis ? client.setnx(key, "old") : client.setNX(onServer, "old");
          assert.equal(await isSet, 0);
          const waiting = lock(key, { owner: "next" });
          await until(() => isWaiting(onServer, "next"));
          assert.equal(await hold.release(), true);
          assert.equal(await (await waiting).release(), true);
          await assertNothingLeft(onServer, key);
        }
      } finally {
        if (isOfIoredis) client.disconnect();
        else client.destroy();
      }
    });
  }
}

test("a client for one server is told what it needs", async () => {
  const [a, b] = keys();
  const client = new Redis({ port: await tell("leader", partitionOf(a)) });
  try {
    const lock = createLock(client);
    for (const [key, wait, reply] of [[b, 0, "MOVED"], [b, 60_000, "MOVED"],
      [a, 60_000, "CROSSSLOT"]]) {
      await assert.rejects(lock(key, { wait }), (error) => error instanceof FairlockError
        && error.message.includes("new Cluster() of ioredis") && error.message.includes(reply));
    }
  } finally {
    client.disconnect();
  }
});

test("the examples of the README", async () => {
  const found = examples().filter((text) => text.includes("Cluster("));
  assert.equal(found.length, 2);
  for (const example of found) {
    const hosts = Object.fromEntries(["lock1", "lock2", "lock3"].flatMap((name, number) => [
      [`host: "${name}", port: 3247`, `host: "127.0.0.1", port: ${ports[number]}`],
      [`redis://${name}:3247`, `redis://127.0.0.1:${ports[number]}`]]))
    const used = Object.entries(hosts).filter(([before]) => example.includes(before));
    assert.equal((await runExample(example, Object.fromEntries(used))).length, 1);
  }
});
