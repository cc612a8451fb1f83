// Logging in through ioredis and node-redis.

import assert from "node:assert/strict";
import test from "node:test";

import Redis from "ioredis";
import { createClient } from "redis";

const port = Number(process.env.FAIRLOCK_PORT);
const password = "a password, with blanks";

test("a server with a password", async (suite) => {
  const operator = new Redis({ port });
  await operator.call("CONFIG", "SET", "requirepass", password);
  suite.after(async () => {
    await operator.call("CONFIG", "SET", "requirepass", "");
    await operator.quit();
  });

  await suite.test("ioredis", async () => {
    for (const who of [{ password }, { username: "default", password }]) {
      const client = new Redis({ port, ...who });
      assert.ok(await client.call("LOCK", "a", "me"));
      assert.equal(await client.call("ACL", "WHOAMI"), "default");
      await client.quit();
    }
  });

  await suite.test("ioredis without it", async () => {
    const client = new Redis({ port, lazyConnect: true, retryStrategy: null });
    client.on("error", () => {});
    await assert.rejects(client.call("LOCK", "a", "me"), /NOAUTH|Connection is closed/);
    client.disconnect();
  });

  for (const version of [2, 3]) {
    await suite.test(`node-redis, RESP${version}`, async () => {
      const client = createClient({ socket: { host: "127.0.0.1", port }, password, RESP: version });
      client.on("error", (error) => assert.fail(error));
      await client.connect();
      assert.equal(await client.aclWhoAmI(), "default");
      assert.equal(await client.sendCommand(["LOCKED", "nobody"]), 0);
      await client.close();
    });

    await suite.test(`node-redis, RESP${version}, with a wrong one`, async () => {
      const client = createClient({
        socket: { host: "127.0.0.1", port, reconnectStrategy: false },
        password: "wrong",
        RESP: version,
      });
      client.on("error", () => {});
      await assert.rejects(client.connect(), /WRONGPASS/);
    });
  }
});
