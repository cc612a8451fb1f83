// A worker process that takes a mutex for a job and reports that: node held_by_worker.js KEY OWNER

import Redis from "ioredis";

const [key, owner] = process.argv.slice(2);
const connection = new Redis({ port: Number(process.env.FAIRLOCK_PORT) });
console.log(`token ${await connection.call("LOCK", key, owner, "SESSION")}`);
setInterval(() => {}, 1000);
