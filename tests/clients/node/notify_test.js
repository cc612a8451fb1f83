// Thousands of waits with NOTIFY on one ioredis connection, and one subscriber that gets their
// outcomes.

import assert from "node:assert/strict";
import test from "node:test";

import Redis from "ioredis";

const port = Number(process.env.FAIRLOCK_PORT);
const LOCKS = 10_000;

const key = (number) => `lock:${number}`;

// Returns a permutation that differs from the order of the requests.
const shuffled = (numbers) =>
  numbers.map((number) => [(number * 7919) % LOCKS, number]).sort((a, b) => a[0] - b[0])
    .map(([, number]) => number);

test("10,000 locks waited for by NOTIFY over one connection", async (suite) => {
  const holder = new Redis({ port });
  const client = new Redis({ port });
  const subscriber = new Redis({ port });
  suite.after(() => Promise.all([holder, client, subscriber].map((one) => one.quit())));

  const granted = [];
  let allGranted;
  const done = new Promise((resolve) => (allGranted = resolve));
  subscriber.on("message", (channel, text) => {
    assert.equal(channel, "outcomes");
    granted.push(JSON.parse(text));
    if (granted.length === LOCKS) allGranted();
  });
  await subscriber.subscribe("outcomes");

  const numbers = [...Array(LOCKS).keys()];
  await Promise.all(numbers.map((n) => holder.call("LOCK", key(n), "holder", "EX", 600)));
  const replies = await Promise.all(
    numbers.map((n) => client.call("LOCK", key(n), `job:${n}`, "EX", 600, "NOTIFY", "outcomes")));
  assert.ok(replies.every((reply) => reply === null), "who must wait is answered nil at once");
  assert.equal(await client.call("PING"), "PONG");
  assert.equal(granted.length, 0);

  const order = shuffled(numbers);
  await Promise.all(order.map((n) => holder.call("UNLOCK", key(n), "holder")));
  await Promise.race([
    done,
    new Promise((_, reject) =>
      setTimeout(() => reject(new Error(`only ${granted.length} grants`)), 60_000).unref()),
  ]);

  assert.deepEqual(granted.map((grant) => grant.key), order.map(key));
  assert.ok(granted.every((grant) => grant.event === "granted"));
  assert.deepEqual(granted.map((grant) => grant.owner), order.map((n) => `job:${n}`));
  for (let i = 1; i < LOCKS; ++i) assert.ok(granted[i].token > granted[i - 1].token);

  const checks = await Promise.all(
    granted.map((grant) => client.call("CHECK", grant.key, grant.token)));
  assert.ok(checks.every((holds) => Number(holds) === 1), "each token holds its lock");
  const ended = await Promise.all(numbers.map((n) => client.call("UNLOCK", key(n), `job:${n}`)));
  assert.ok(ended.every((released) => Number(released) === 1));
  assert.equal(granted.length, LOCKS, "an UNLOCK is no loss");
});
