// The tree of waits, built from listed locks. Needs neither server nor browser.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

const source = fs.readFileSync(new URL("../../dashboard/src/wait_tree.js", import.meta.url),
  "utf8");
const { behind, kDepthMax, kPlacesMax, waitTree } =
  await import(`data:text/javascript,${encodeURIComponent(source)}`);

// A lock with its holders and its queue: [[owner, seconds, keys of its MLOCK, state]].
function lockOf(key, holders, line, more = {}) {
  return { key, db: 0, override: null, cooling_ms: 0, waiters: line.length,
    holders: holders.map((owner) => ({ owner, held_ms: 1000 })), holder_count: holders.length,
    line: line.map(([owner, seconds, keys = 1, state = "waiting"], n) =>
      ({ owner, keys, state, waited_ms: seconds * 1000, position: n + 1 })), ...more };
}

const treeOf = (locks, countMax = 30) => waitTree(locks, countMax, (row, name) => row[name]);

// "owner[child, child]", with the key of each wait.
function written(node) {
  const name = node.claim || node.wait ? node.name.slice(2) : node.name;
  const ends = ["isInLoop", "isLoop", "isRepeated", "isCut"].filter((end) => node[end])
    .map((end) => ` ${end}`).join("");
  const below = [...node.children.map(written),
    ...node.hidden.map(({ lock, count }) => `${count} more for ${lock.key}`)];
  return `${name}${node.wait ? `@${node.wait.lock.key}` : ""}${ends}` +
    `${below.length ? `[${below.join(", ")}]` : ""}`;
}

const shown = (locks, countMax) => treeOf(locks, countMax).map(written);

test("roots block others and wait for nothing; the longest wait is first", () => {
  const locks = [lockOf("k1", ["a"], [["b", 50], ["c", 70]]), lockOf("k2", ["b"], [["d", 90]]),
    lockOf("k3", ["e"], [["f", 60]])];
  assert.deepEqual(shown(locks), ["a[b@k1[d@k2], c@k1]", "e[f@k3]"]);
  const [first] = treeOf(locks);
  assert.equal(first.longestMs, 90000);
  assert.equal(behind(first), 3);
  assert.deepEqual(first.holds.map(({ lock }) => lock.key), ["k1"]);
});

test("a multi-lock at the front blocks those behind it, and waits at its other key", () => {
  assert.deepEqual(shown([lockOf("node-120", ["job1"], [["job2", 9, 2]]),
    lockOf("node-110", [], [["job2", 9, 2], ["job3", 5]])]),
  ["job1[job2@node-120[job3@node-110]]"]);
  // Its other key is not among the locks: it is a root.
  assert.deepEqual(shown([lockOf("node-110", [], [["job2", 9, 2], ["job3", 5]])]),
    ["job2[job3@node-110]"]);
});

test("of several holders, the one that waits leads on", () => {
  assert.deepEqual(shown([lockOf("pool", ["old", "busy"], [["w", 5]]),
    lockOf("k", ["root"], [["busy", 3]])]), ["root[busy@k[w@pool]]"]);
});

test("states of locks are roots, too", () => {
  assert.deepEqual(shown([
    lockOf("a", ["x"], [["w1", 5]], { override: 0 }),
    lockOf("b", [], [["w2", 4]], { cooling_ms: 100 }),
    lockOf("c", [], [["w3", 3]]),
    lockOf("d", [], [["gone", 9, 1, "reserved"], ["w4", 2]])]),
  ["drained 0/a[w1@a]", "cooling 0/b[w2@b]", "free 0/c[w3@c]", "gone[w4@d]"]);
});

test("a loop is named, and so are those that wait for it", () => {
  const loop = [lockOf("k1", ["a"], [["b", 5]]), lockOf("k2", ["b"], [["a", 4], ["tail", 9]])];
  assert.deepEqual(shown(loop), ["b isInLoop[tail@k2, a@k2[b@k1 isLoop]]"]);
  assert.equal(behind(treeOf(loop)[0]), 2);
});

test("an owner below two others is shown in full once", () => {
  assert.deepEqual(shown([lockOf("k1", ["a"], [["m", 5, 2]]), lockOf("k2", ["b"], [["m", 5, 2]]),
    lockOf("k3", ["m"], [["w", 4]])]), ["a[m@k1[w@k3]]", "b[m@k2 isRepeated]"]);
});

test("the tree is bounded, and says how many more wait", () => {
  const line = [...Array(100).keys()].map((n) => [`w${n}`, 500 - n]);
  const [root] = treeOf([lockOf("k", ["a"], line, { waiters: 250 })]);
  assert.equal(root.children.length, kPlacesMax);
  assert.deepEqual(root.hidden.map(({ count }) => count), [250 - kPlacesMax]);
  assert.equal(behind(root), 250);
  // Of many locks, the longest waits are shown, with those that they wait for.
  const many = [...Array(50).keys()].map((n) => lockOf(`k${n}`, [`h${n}`], [[`w${n}`, n]]));
  many.push(lockOf("last", ["root"], [["h49", 0]]));
  const texts = shown(many, 3);
  assert.deepEqual(texts, ["root[h49@last[w49@k49]]", "h48[w48@k48]", "h47[w47@k47]"]);
  const chain = [...Array(20).keys()].map((n) => lockOf(`k${n}`, [`o${n}`], [[`o${n + 1}`, 9]]));
  const deep = shown(chain);
  assert.equal(deep.length, 1);
  assert.equal(deep[0].split("[").length - 1, kDepthMax);
  assert.match(deep[0], /isCut/);
});
