// Transactions through ioredis and node-redis.

import assert from "node:assert/strict";
import test from "node:test";

import Redis from "ioredis";
import { createClient } from "redis";

const port = Number(process.env.FAIRLOCK_PORT);

test("ioredis", async (suite) => {
  const client = new Redis({ port });
  const other = new Redis({ port });
  suite.after(() => Promise.all([client.quit(), other.quit()]));

  await suite.test("several locks at once", async () => {
    const replies = await client.multi().call("LOCK", "a", "me").call("LOCKED", "a").exec();
    assert.equal(replies.length, 2);
    assert.ok(replies[0][1] > 0);
    assert.deepEqual(replies[1], [null, 1]);
  });

  await suite.test("a watched key", async () => {
    await client.watch("b");
    await other.call("LOCK", "b", "you");
    assert.equal(await client.multi().call("LOCK", "c", "me").exec(), null);
    assert.equal(await client.call("LOCKED", "c"), 0);
  });
});

for (const version of [2, 3]) {
  test(`node-redis, RESP${version}`, async (suite) => {
    const connect = async () => {
      const client = createClient({ socket: { host: "127.0.0.1", port }, RESP: version });
      client.on("error", (error) => assert.fail(error));
      return client.connect();
    };
    const [client, other] = await Promise.all([connect(), connect()]);
    suite.after(() => Promise.all([client.close(), other.close()]));
    const key = (name) => `${version}:${name}`;

    await suite.test("several locks at once", async () => {
      const replies = await client
        .multi()
        .addCommand(["LOCK", key("a"), "me"])
        .addCommand(["LOCKED", key("a")])
        .exec();
      assert.equal(replies.length, 2);
      assert.equal(replies[1], 1);
    });

    await suite.test("a watched key", async () => {
      await client.watch(key("b"));
      await other.sendCommand(["LOCK", key("b"), "you"]);
      const attempt = client.multi().addCommand(["LOCK", key("c"), "me"]).exec();
      await assert.rejects(attempt, /WatchError|watched keys/);
      assert.equal(await client.sendCommand(["LOCKED", key("c")]), 0);
    });
  });
}
