// What the tests share: a server for each of them, clients, and views of a lock from outside.

import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Redis, createClient } from "./redis_clients.mjs";
import { Fairlockd } from "./server.mjs";

const WAIT_MS_MAX = 20_000;

// The tests cause the failures that the library warns of.
process.removeAllListeners("warning");

/** Asks until the answer is true. */
export async function until(condition, time = WAIT_MS_MAX) {
  const giveUpAt = Date.now() + time;
  while (!(await condition())) {
    assert.ok(Date.now() < giveUpAt, `it did not become true: ${condition}`);
    await sleep(5);
  }
}

/** The clients that the library supports: how to open one, and its read time-out. */
export const CLIENTS = {
  ioredis: async (port, { readTimeout, name, ...options } = {}) => {
    const client = new Redis({ port, commandTimeout: readTimeout, connectionName: name,
      ...options });
    client.on("error", () => {});
    return Object.assign(client, { end: () => client.disconnect() });
  },
  "node-redis": (port, options) => nodeRedis(2, port, options),
  "node-redis with RESP 3": (port, options) => nodeRedis(3, port, options),
};

async function nodeRedis(RESP, port, { readTimeout, name, ...options } = {}) {
  const client = createClient({ RESP, name, ...options,
    socket: { port, socketTimeout: readTimeout, reconnectStrategy: 20, ...options.socket } });
  client.on("error", () => {});
  await client.connect();
  return Object.assign(client, { end: () => client.isOpen && client.destroy() });
}

/** One test's server, and how the test sees it. */
export class Case {
  #opened = [];

  static async open({ isKept = false, open = CLIENTS.ioredis } = {}) {
    const own = new Case();
    own.server = await new Fairlockd(isKept).open();
    own.open = open;
    own.outside = new Redis({ port: own.server.port });
    own.outside.on("error", () => {});
    return own;
  }

  async client(options) {
    const client = await this.open(this.server.port, options);
    this.#opened.push(client);
    return client;
  }

  ask(...words) {
    return this.outside.call(...words);
  }

  /** The owners in the queue. */
  async waiters(key) {
    const places = await this.ask("QUEUE", key);
    return places.map((fields) => fields[fields.indexOf("owner") + 1]);
  }

  async isWaiting(key, ...owners) {
    return (await this.waiters(key)).join() === owners.join();
  }

  async assertNothingLeft(...keys) {
    for (const key of keys) {
      assert.deepEqual([await this.ask("LOCKED", key), await this.waiters(key)], [0, []], key);
    }
  }

  /** How often the server has executed this command. */
  async commands(name) {
    const found = new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(
      await this.outside.info("commandstats"));
    return Number(found?.[1] ?? 0);
  }

  async connections(name) {
    const list = await this.outside.client("LIST");
    return list.split("\n").filter((line) => line.includes(` name=${name} `)).length;
  }

  async close() {
    for (const client of this.#opened) client.end();
    this.outside.disconnect();
    await this.server.close();
  }
}

/** A test for each of these clients. */
export function testEach(title, work, options = {}) {
  const { isKept = false, clients = ["ioredis", "node-redis"] } = options;
  test(title, { concurrency: clients.length, timeout: 60_000 }, (suite) =>
    Promise.all(clients.map((name) => suite.test(name, async () => {
      const own = await Case.open({ isKept, open: CLIENTS[name] });
      try {
        await work(own);
      } finally {
        await own.close();
      }
    }))));
}
