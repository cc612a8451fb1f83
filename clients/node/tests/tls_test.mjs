// Locks over TLS. tests/clients/with_own_server.py --tls starts the server.

import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";

import { createLock } from "../build/index.mjs";
import { Redis, createClient } from "./redis_clients.mjs";
import { examples, runExample } from "./readme_examples.mjs";

const { FAIRLOCK_TLS_PORT: port, FAIRLOCK_TLS_CA: ca, FAIRLOCK_TLS_CERT: cert,
  FAIRLOCK_TLS_KEY: key } = process.env;
const read = (file) => fs.readFileSync(file);

test("the example of the README", async () => {
  const [example] = examples().filter((text) => text.includes("tls:"));
  const done = await runExample(example, { "port: 3247": `host: "localhost", port: ${port}`,
    "/etc/fairlock/ca.pem": ca, "/etc/fairlock/client.pem": cert,
    "/etc/fairlock/client.key": key });
  assert.equal(done[0][0], 42);
});

test("node-redis", async () => {
  const socket = { port: Number(port), host: "localhost", tls: true, ca: read(ca),
    cert: read(cert), key: read(key) };
  const client = await createClient({ socket }).connect();
  const lock = createLock(client);
  await lock.using("k", async () => assert.equal(await lock.try("k"), null));
  await client.close();
});

test("a server that is not trusted is not asked again", async () => {
  const options = { host: "localhost", port: Number(port) };
  const ioredis = new Redis({ ...options, tls: { cert: read(cert), key: read(key) } });
  const nodeRedis = createClient({ socket: { ...options, tls: true, cert: read(cert),
    key: read(key) } });
  nodeRedis.connect().catch(() => {});
  for (const client of [ioredis, nodeRedis]) {
    client.on("error", () => {});
    await assert.rejects(createLock(client)("k", { wait: 60_000 }), /certificate/);
  }
  ioredis.disconnect();
  nodeRedis.destroy();
});
