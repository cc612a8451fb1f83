// Takes locks from the leader, which it finds through Sentinel. Prints the node of each lock, once
// for each change.
import Redis from "ioredis";
import { setTimeout } from "node:timers/promises";

const sentinels = process.env.SENTINELS.split(",").map((address) => {
  const [host, port] = address.split(":");
  return { host, port: Number(port) };
});
const client = new Redis({
  sentinels, name: "main", password: process.env.PASSWORD || undefined,
  sentinelPassword: process.env.PASSWORD || undefined,
});
client.on("error", () => {});
let last = "";
process.stdin.on("end", () => process.exit(0)).resume();
for (;;) {
  try {
    await client.call("LOCK", "order:42", "ioredis", "PX", 1000);
    const node = /fleet_node:(\S+)/.exec(await client.info("cluster"))[1];
    if (node !== last) console.log(last = node);
  } catch {
    // The client connects again by itself.
  }
  await setTimeout(10);
}
