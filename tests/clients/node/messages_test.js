// What subscribers receive about locks through ioredis and node-redis.

import assert from "node:assert/strict";
import test from "node:test";

import Redis from "ioredis";
import { createClient } from "redis";

const port = Number(process.env.FAIRLOCK_PORT);

// For each library, makes a client with two functions: one sends a command given as words, the
// other one subscribes to channels or patterns.
const libraries = {
  ioredis: async () => {
    const client = new Redis({ port });
    return {
      send: (...words) => client.call(...words),
      subscribe: async (channel, hear) => {
        client.on("message", (name, message) => name === channel && hear(name, message));
        await client.subscribe(channel);
      },
      psubscribe: async (pattern, hear) => {
        client.on("pmessage", (by, name, message) => by === pattern && hear(name, message));
        await client.psubscribe(pattern);
      },
      close: () => client.quit(),
    };
  },
  "node-redis, RESP2": () => nodeRedis(2),
  "node-redis, RESP3": () => nodeRedis(3),
};

async function nodeRedis(version) {
  const client = createClient({ socket: { host: "127.0.0.1", port }, RESP: version });
  client.on("error", (error) => assert.fail(error));
  await client.connect();
  return {
    send: (...words) => client.sendCommand(words.map(String)),
    subscribe: (channel, hear) => client.subscribe(channel, (message, name) => hear(name, message)),
    psubscribe: (pattern, hear) =>
      client.pSubscribe(pattern, (message, name) => hear(name, message)),
    close: () => client.close(),
  };
}

// A list whose items can be awaited: `take(n)` resolves with the next n items that were added.
class Heard {
  #things = [];
  #wake = () => {};

  put(thing) {
    this.#things.push(thing);
    this.#wake();
  }

  async take(count) {
    const giveUp = setTimeout(() => this.#wake("late"), 10_000);
    while (this.#things.length < count) {
      const why = await new Promise((resolve) => (this.#wake = resolve));
      assert.notEqual(why, "late", `only ${JSON.stringify(this.#things)} of ${count}`);
    }
    clearTimeout(giveUp);
    return this.#things.splice(0, count);
  }
}

for (const [library, connect] of Object.entries(libraries)) {
  test(library, async (suite) => {
    const subscriber = await connect();
    const client = await connect();
    suite.after(() => Promise.all([subscriber.close(), client.close()]));
    // Each library uses its own keys, so that no test receives another's messages.
    const key = (name) => `${library}:${name}`;

    await suite.test("del and expired of a key", async () => {
      const heard = new Heard();
      const channel = `__keyspace@0__:${key("job")}`;
      await subscriber.subscribe(channel, (_, message) => heard.put(message));
      await client.send("LOCK", key("job"), "me", "PX", 50);
      assert.deepEqual(await heard.take(2), ["set", "expired"]);
      await client.send("LOCK", key("job"), "me");
      await client.send("UNLOCK", key("job"), "me");
      assert.deepEqual(await heard.take(2), ["set", "del"]);
    });

    await suite.test("the key of an event", async () => {
      const heard = new Heard();
      await subscriber.psubscribe("__keyevent@0__:*", (name, message) => {
        if (message === key("other")) heard.put(name);
      });
      await client.send("LOCK", key("other"), "me", "PX", 60_000);
      await client.send("RENEW", key("other"), "me", "PX", 20);
      assert.deepEqual(await heard.take(3), [
        "__keyevent@0__:set", "__keyevent@0__:expire", "__keyevent@0__:expired"]);
    });

    await suite.test("a lock's life", async () => {
      const heard = new Heard();
      await subscriber.psubscribe(`__lock@0__:${key("life")}`, (_, message) =>
        heard.put(JSON.parse(message)));
      const token = Number(await client.send("LOCK", key("life"), "me", "PX", 60_000));
      await client.send("LOCK", key("life"), "you", "KEEP", "60s");
      await client.send("UNLOCK", key("life"), "me");
      const next = Number(await client.send("LOCK", key("life"), "you", "PX", 20));
      const events = await heard.take(5);
      assert.deepEqual(
        events.map(({ event, owner, token }) => [event, owner, token]),
        [
          ["granted", "me", token],
          ["queued", "you", null],
          ["released", "me", token],
          ["granted", "you", next],
          ["expired", "you", next],
        ]);
      assert.ok(events[4].held_ms >= 20);
    });

    await suite.test("what others publish", async () => {
      const heard = new Heard();
      await subscriber.subscribe(key("news"), (name, message) => heard.put([name, message]));
      assert.equal(Number(await client.send("PUBLISH", key("news"), "hello")), 1);
      assert.deepEqual(await heard.take(1), [[key("news"), "hello"]]);
      await assert.rejects(client.send("PUBLISH", "__lock@0__:x", "forged"), /__/);
    });
  });
}
