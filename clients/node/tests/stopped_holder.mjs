// Holds a lock, and reports what it believes when it is asked by a line on stdin.

import { once } from "node:events";

import { createLock } from "../build/index.mjs";
import { Redis } from "./redis_clients.mjs";

const client = new Redis({ port: Number(process.argv[2]) });
const hold = await createLock(client)("k", { lease: 500 });
const told = once(hold.signal, "abort");
console.log(hold.token);
await once(process.stdin, "data");
try {
  console.log(hold.token);
} catch {
  console.log("lost");
}
await told;
console.log("told");
await client.quit();
process.stdin.destroy();
