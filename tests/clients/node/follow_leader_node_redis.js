// Takes locks from the leader, which it finds through Sentinel. Prints the node of each lock, once
// for each change.
import { createSentinel } from "redis";
import { setTimeout } from "node:timers/promises";

const sentinelRootNodes = process.env.SENTINELS.split(",").map((address) => {
  const [host, port] = address.split(":");
  return { host, port: Number(port) };
});
const password = process.env.PASSWORD || undefined;
const client = createSentinel({
  name: "main", sentinelRootNodes, RESP: Number(process.env.RESP),
  nodeClientOptions: { password }, sentinelClientOptions: { password },
});
client.on("error", () => {});
let last = "";
process.stdin.on("end", () => process.exit(0)).resume();
await client.connect();
for (;;) {
  try {
    await client.sendCommand(false, ["LOCK", "order:42", "node-redis", "PX", "1000"]);
    const info = String(await client.sendCommand(false, ["INFO", "cluster"]));
    const node = /fleet_node:(\S+)/.exec(info)[1];
    if (node !== last) console.log(last = node);
  } catch {
    // The client connects again by itself.
  }
  await setTimeout(10);
}
