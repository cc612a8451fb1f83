// Takes and releases locks with ioredis, as ../fail_overs/worker.md describes.
import Redis from "ioredis";
import { isSentinel, node, sentinels, work } from "./worker.js";

const client = new Redis(isSentinel ? { sentinels, name: "main" } : node);
client.on("error", () => {});
await work(([name, ...words]) => client.call(name, ...words));
