// A fleet whose leader is killed while locks are held and waited for.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import readline from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { createLock } from "../build/index.mjs";
import { Redis, createSentinel } from "./redis_clients.mjs";
import { examples, runExample } from "./readme_examples.mjs";
import { until } from "./support.mjs";

const fleet = spawn("/usr/bin/python3",
  ["-B", fileURLToPath(new URL("fleet.py", import.meta.url))],
  { stdio: ["pipe", "pipe", "inherit"] });
const lines = readline.createInterface({ input: fleet.stdout })[Symbol.asyncIterator]();
let ports;

before(async () => {
  ports = JSON.parse((await lines.next()).value);
});

after(async () => {
  fleet.stdin.end();
  await once(fleet, "exit");
});

async function failOver() {
  fleet.stdin.write("\n");
  assert.equal((await lines.next()).value, "failed over");
}

const sentinels = () => ports.map((port) => ({ host: "127.0.0.1", port }));

/** Kills the leader while a lock is held and another is waited for. */
async function holdAndWait(client, ask) {
  const lock = createLock(client, { lease: 10_000, wait: 60_000 });
  const lost = [];
  const holder = await lock("k", { onLost: (hold) => lost.push(hold) });
  const waiting = lock("k", { owner: "waiter" });
  const isNext = async () => await ask("POSITION", "k", "waiter").catch(() => 0) === 1;
  await until(isNext);
  await failOver();
  await until(isNext);
  await holder.renew();
  const { token } = holder;
  assert.equal(await holder.release(), true);
  const hold = await waiting;
  assert.ok(hold.token > token);
  assert.equal(await hold.release(), true);
  assert.deepEqual(lost, []);
}

test("the example of the README", async () => {
  const [example] = examples().filter((text) => text.includes("sentinels:"));
  const hosts = Object.fromEntries(ports.map((port, number) =>
    [`host: "lock${number + 1}", port: 3249`, `host: "127.0.0.1", port: ${port}`]));
  assert.equal((await runExample(example, hosts)).length, 1);
});

test("ioredis", async () => {
  const client = new Redis({ name: "main", sentinels: sentinels() });
  client.on("error", () => {});
  await holdAndWait(client, (...words) => client.call(...words));
  client.disconnect();
});

test("node-redis with the property in which version 6 keeps its prefix", async () => {
  const client = createSentinel({ name: "main", sentinelRootNodes: sentinels() });
  client.on("error", () => {});
  await client.connect();
  Object.defineProperty(client, "_keyPrefix", { value: "shop:" });
  const hold = await createLock(client)("order:42");
  assert.equal(await client.setNX("shop:order:42", "old"), 0);
  assert.equal(await hold.release(), true);
  await client.close();
});

test("node-redis", async () => {
  const client = createSentinel({ name: "main", sentinelRootNodes: sentinels() });
  client.on("error", () => {});
  await client.connect();
  await holdAndWait(client, (...words) => client.sendCommand(false, words));
  await client.close();
});
