// What the workers of ioredis and node-redis share: ../fail_overs/worker.md.
import { setTimeout } from "node:timers/promises";

const owner = process.env.OWNER;
const keys = process.env.KEYS.split(",");
export const isSentinel = process.env.MODE === "sentinel";
export const sentinels = process.env.SENTINELS.split(",").map(address);
export const node = address(process.env.NODE);

function address(text) {
  const [host, port] = text.split(":");
  return { host, port: Number(port) };
}

function microseconds() {
  return Number(process.hrtime.bigint() / 1000n);
}

// Repeats the request until it is answered. `call` takes the words and returns a promise.
async function ask(call, ...words) {
  for (;;) {
    const line = { op: words[0], key: words[1], begun: microseconds() };
    try {
      line.reply = await call(words);
    } catch (error) {
      line.error = `${error.name}: ${error.message}`;
    }
    line.ended = microseconds();
    console.log(JSON.stringify(line));
    if (!("error" in line)) return line.reply;
    await setTimeout(10);
  }
}

export async function work(call) {
  let isOver = false;
  process.stdin.on("end", () => { isOver = true; }).resume();
  const heldKey = `${owner}:held`;
  const held = await ask(call, "LOCK", heldKey, owner, "PX", "600000");
  for (let turn = 0; !isOver; ++turn) {
    const key = keys[turn % keys.length];
    const token = await ask(call, "LOCK", key, owner, "PX", "30000", "WAIT", "200ms");
    if (token !== null) {
      await setTimeout(5);
      await ask(call, "CHECK", key, String(token));
      await ask(call, "UNLOCK", key, owner);
    }
    await ask(call, "RENEW", heldKey, owner, "PX", "600000", "TOKEN", String(held));
    await setTimeout(20);
  }
  process.exit(0);
}
