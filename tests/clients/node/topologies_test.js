// Clients configured for Sentinel or Cluster: the plain client works, and the others fail with the
// errors that docs/recipes/moving-from-redis.md lists.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import Redis from "ioredis";
import { createClient, createCluster, createSentinel } from "redis";

const host = "127.0.0.1";
const port = Number(process.env.FAIRLOCK_PORT);
const page = readFileSync(
  new URL("../../../docs/recipes/moving-from-redis.md", import.meta.url), "utf8");

function isOnPage(error) {
  const text = error.message.split(", with args")[0];
  assert.ok(page.includes(text), text);
  return true;
}

test("ioredis, one address", async () => {
  const client = new Redis({ host, port });
  assert.ok(await client.call("LOCK", "{order}:42", "io", "PX", 30_000));
  assert.equal(await client.call("UNLOCK", "{order}:42", "io"), 1);
  await client.quit();
});

test("ioredis with sentinels", async () => {
  const client = new Redis({
    sentinels: [{ host, port }], name: "mymaster", sentinelRetryStrategy: null, lazyConnect: true,
  });
  client.on("error", () => {});
  await assert.rejects(client.connect(), isOnPage);
  client.disconnect();
});

test("ioredis with a cluster", async () => {
  const client = new Redis.Cluster([{ host, port }],
    { clusterRetryStrategy: null, lazyConnect: true });
  client.on("error", () => {});
  await assert.rejects(client.connect(), isOnPage);
  client.disconnect();
});

test("node-redis, one address", async () => {
  const client = createClient({ socket: { host, port } });
  client.on("error", (error) => assert.fail(error));
  await client.connect();
  assert.ok(await client.sendCommand(["LOCK", "{order}:42", "node", "PX", "30000"]));
  assert.equal(await client.sendCommand(["UNLOCK", "{order}:42", "node"]), 1);
  await client.close();
});

test("node-redis with sentinels", async () => {
  const client = createSentinel(
    { name: "mymaster", sentinelRootNodes: [{ host, port }], maxCommandRediscovers: 1 });
  client.on("error", () => {});
  await assert.rejects(client.connect(), isOnPage);
  client.destroy();
});

test("node-redis with a cluster", async () => {
  const client = createCluster({ rootNodes: [{ url: `redis://${host}:${port}` }] });
  client.on("error", () => {});
  await assert.rejects(client.connect(), isOnPage);
});
