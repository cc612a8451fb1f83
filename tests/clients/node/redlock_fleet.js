// Redlock clients that take one lock repeatedly. Prints a line for each hold: kind, client number,
// start and end in ns of the machine's monotonic clock, fencing token, time of the first request.

import Redis from "ioredis";
import Redlock from "redlock";

const { PORT, KEY, SIZE, SECONDS, LEASE_MS } = process.env;
const stopAt = Date.now() + Number(SECONDS) * 1000;
const sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));
const now = () => Number(process.hrtime.bigint());

async function tokenOf(client) {
  const fields = await client.call("LOCKINFO", KEY);
  const holder = fields[fields.indexOf("holders") + 1][0];
  return holder[holder.indexOf("token") + 1];
}

async function work(number) {
  const client = new Redis({ port: Number(PORT) });
  const redlock = new Redlock([client], { retryCount: -1, retryDelay: 5, retryJitter: 5 });
  // Connects first, because that takes a while during which the client cannot request the lock.
  await client.ping();
  while (Date.now() < stopAt) {
    const asked = now();
    const lock = await redlock.lock(KEY, Number(LEASE_MS));
    const begin = now();
    const token = await tokenOf(client);
    await sleep(2);
    console.log(JSON.stringify(["redlock", number, begin, now(), token, asked]));
    await lock.unlock();
    await sleep(20);
  }
  client.disconnect();
}

await Promise.all([...Array(Number(SIZE)).keys()].map(work));
