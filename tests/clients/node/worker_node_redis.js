// Takes and releases locks with node-redis, as ../fail_overs/worker.md describes. RESP is the
// version of the protocol.
import { createClient, createSentinel } from "redis";
import { isSentinel, node, sentinels, work } from "./worker.js";

const RESP = Number(process.env.RESP);
const client = isSentinel
  ? createSentinel({ name: "main", sentinelRootNodes: sentinels, RESP })
  : createClient({ socket: node, RESP });
client.on("error", () => {});
await client.connect();
await work((words) => isSentinel ? client.sendCommand(false, words) : client.sendCommand(words));
