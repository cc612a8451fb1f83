// Why a request waits, up to the root. Needs neither server nor browser.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

const source = fs.readFileSync(new URL("../../dashboard/src/chain.js", import.meta.url), "utf8");
const { branches, findChain, kDepthMax, kLinksMax, requestAt } =
  await import(`data:text/javascript,${encodeURIComponent(source)}`);

// Locks as a test writes them, with their queues.
class Written {
  constructor() {
    this.locks = new Map();
    this.unread = new Set();
    this.isStartingNow = false;
  }

  at(key) {
    if (!this.locks.has(key)) {
      this.locks.set(key, { key, holders: [], holder_count: 0, line: [], mode: "free",
        override: null, cooling_ms: 0 });
    }
    return this.locks.get(key);
  }

  hold(key, owner, limit = 1) {
    const lock = this.at(key);
    lock.mode = "exclusive";
    lock.holders.push({ owner, limit });
    lock.holder_count = lock.holders.length;
    return this;
  }

  // Adds one place with the same options to the queues of all keys.
  wait(keys, owner, { limit = 1, state = "waiting" } = {}) {
    for (const key of keys) {
      const { line } = this.at(key);
      line.push({ owner, limit, state, mode: "exclusive", keys: keys.length, keep_ms: 40000,
        address: `of ${owner}`, position: line.length + 1 });
    }
    return this;
  }

  get source() {
    return {
      idOf: (row, name) => row[name],
      lock: async ({ key }) => (this.unread.has(key) ? null : this.at(key)),
      queuesOf: async ({ owner }) => [...this.locks.values()].filter(({ line, holders }) =>
        line.length > 0 && [...line, ...holders].some((one) => one.owner === owner)),
      isStarting: async () => this.isStartingNow,
    };
  }

  async links(owner, key) {
    const lock = this.at(key);
    const place = lock.line.find((one) => one.owner === owner);
    return findChain(await requestAt(place, lock, this.source), this.source);
  }

  // "DEPTH REASON OWNER" of each link.
  async texts(owner, key) {
    return (await this.links(owner, key)).map((link) =>
      [link.depth, link.reason, link.owner].filter((part) => part !== undefined).join(" "));
  }
}

test("it leads through a multi-lock to its other key", async () => {
  const written = new Written().hold("node-120", "job1")
    .wait(["node-110", "node-120"], "job2").wait(["node-110"], "job3");
  assert.deepEqual(await written.texts("job3", "node-110"), ["0 line job2", "1 held job1"]);
  const [ahead] = await written.links("job3", "node-110");
  assert.deepEqual(ahead.waits[0].keys.map(({ key }) => key), ["node-110", "node-120"]);
});

test("it leads through each holder that waits itself", async () => {
  const written = new Written().hold("k1", "a").hold("k2", "b").wait(["k1"], "b")
    .wait(["k2"], "c");
  assert.deepEqual(await written.texts("c", "k2"), ["0 held b", "1 held a"]);
  assert.deepEqual(branches(await written.links("c", "k2")).map((one) =>
    [one.link.owner, one.children.map(({ link }) => link.owner)]), [["b", ["a"]]]);
});

test("a multi-lock in the middle of the queue counts", async () => {
  const written = new Written().hold("k", "a").hold("other", "slow").wait(["k"], "first")
    .wait(["k"], "second").wait(["k", "other"], "both").wait(["k"], "last");
  assert.deepEqual(await written.texts("last", "k"), ["0 line first", "1 held a", "0 line both",
    "1 line first", "1 held slow"]);
});

test("a loop ends where it closes", async () => {
  const written = new Written().hold("k1", "a").hold("k2", "b").wait(["k2"], "a")
    .wait(["k1"], "b");
  assert.deepEqual((await written.links("a", "k2")).map(({ isLoop }) => isLoop), [false, true]);
});

test("what is explained is not repeated", async () => {
  const written = new Written().hold("k1", "a").hold("k2", "b", 2).hold("k2", "c", 2)
    .hold("k3", "a").wait(["k1"], "b").wait(["k3"], "c").hold("k4", "end").wait(["k4"], "a")
    .wait(["k2"], "w");
  assert.deepEqual(await written.texts("w", "k2"),
    ["0 held b", "1 held a", "2 held end", "0 held c", "1 held a"]);
  assert.equal((await written.links("w", "k2")).at(-1).isRepeated, true);
});

test("a lock that the list says the owner holds is not looked up", async () => {
  const written = new Written().hold("k", "a").wait(["k"], "w").hold("own", "a")
    .wait(["own"], "x");
  written.at("own").first_owner = "a";
  const { source } = written;
  const asked = [];
  const lock = written.at("k");
  const request = await requestAt(lock.line[0], lock, source);
  const links = await findChain(request, { ...source, lock: async ({ key }) => {
    asked.push(key);
    return written.at(key);
  } });
  assert.deepEqual(links.map(({ owner }) => owner), ["a"]);
  assert.equal(asked.includes("own"), false);
});

test("depth and size are bounded", async () => {
  const deep = new Written();
  for (let i = 0; i < 20; ++i) deep.hold(`k${i}`, `o${i}`).wait([`k${i}`], `o${i + 1}`);
  const links = await deep.links("o20", "k19");
  assert.equal(links.length, kDepthMax);
  assert.equal(links.at(-1).isCut, true);
  const wide = new Written();
  for (let holder = 0; holder < 4; ++holder) {
    wide.hold("root", `h${holder}`, 4);
    for (let many = 0; many < 8; ++many) {
      wide.hold(`of ${holder} ${many}`, "end").wait([`of ${holder} ${many}`], `h${holder}`);
    }
  }
  const all = await wide.wait(["root"], "w").links("w", "root");
  assert.equal(all.length, kLinksMax);
  assert.equal(all.at(-1).isCut, true);
});

test("it says whose limit it is, and how readers and writers exclude each other", async () => {
  const written = new Written().hold("pool", "x", 5).hold("pool", "y", 2)
    .wait(["pool"], "w", { limit: 5 });
  assert.deepEqual(await written.texts("w", "pool"), ["0 limit y", "0 held x"]);
  written.at("pool").override = 2;
  written.at("pool").holders[1].limit = 5;
  assert.deepEqual(await written.texts("w", "pool"), ["0 limit x", "0 limit y"]);
  assert.equal((await written.links("w", "pool"))[0].isOverride, true);
  written.at("pool").override = 3;
  assert.deepEqual(await written.texts("w", "pool"), []);
  const shared = new Written().hold("k", "reader").wait(["k"], "writer");
  shared.at("k").mode = "shared";
  assert.deepEqual(await shared.texts("writer", "k"), ["0 shared reader"]);
});

test("an absent owner blocks only with a slot or a kept place", async () => {
  const written = new Written().wait(["k"], "gone", { state: "reserved" }).wait(["k"], "w");
  assert.deepEqual(await written.texts("w", "k"), ["0 reserved gone"]);
  written.hold("k", "a").at("k").line[0].state = "absent";
  assert.deepEqual(await written.texts("w", "k"), ["0 line gone", "1 held a"]);
  // A place whose connection was closed has the number of the next one.
  written.at("k").line[1].position = 1;
  assert.deepEqual(await written.texts("w", "k"), ["0 held a"]);
});

test("states of the lock name no owner, and a lock that cannot be read ends a branch", async () => {
  const written = new Written().wait(["k"], "w");
  written.at("k").cooling_ms = 59000;
  assert.deepEqual(await written.texts("w", "k"), ["0 cooling"]);
  written.at("k").override = 0;
  assert.deepEqual(await written.texts("w", "k"), ["0 drained"]);
  written.isStartingNow = true;
  assert.deepEqual(await written.texts("w", "k"), ["0 starting"]);
  const secret = new Written().hold("other", "x").wait(["k", "other"], "m").wait(["k"], "w");
  secret.unread.add("other");
  assert.deepEqual(await secret.texts("w", "k"), ["0 line m"]);
  assert.equal((await secret.links("w", "k"))[0].waits[0].hidden, 1);
  secret.unread.add("k");
  assert.deepEqual(await secret.texts("w", "k"), ["0 unread"]);
});
