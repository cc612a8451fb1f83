// Jobs that share a mutex with SET NX, as a step in a BullMQ pipeline, unmodified, on Redis and on
// fairlock.

import assert from "node:assert/strict";
import test from "node:test";

import { OwnQueue, connectTo, eventually } from "./own_queue.js";
import { setNxMutex } from "./set_nx_mutex.js";

const redisPort = Number(process.env.REDIS_PORT);
const servers = { Redis: redisPort, fairlock: Number(process.env.FAIRLOCK_PORT) };

for (const [server, port] of Object.entries(servers)) {
  test(server, async (suite) => {
    const redis = connectTo(port);
    const own = new OwnQueue({ redisPort, steps: [setNxMutex(redis)] });
    suite.after(async () => {
      await own.close();
      redis.disconnect();
    });
    const begins = (name) => eventually(`${name} begins`, () => own.begun.includes(name));

    await suite.test("a job whose mutex is held is cancelled", async () => {
      const first = await own.add("first", { mutex: "payment:123" });
      await begins("first");
      const second = await own.add("second", { mutex: "payment:123" });
      assert.deepEqual(await own.end(second), {
        state: "failed", log: "Cancelled: mutex 'payment:123' held by another job" });
      own.finish("first");
      assert.equal((await own.end(first)).state, "completed");
      assert.equal(await redis.exists("jobs:mutex:payment:123"), 0);
    });

    await suite.test("other jobs run beside it", async () => {
      await own.add("third", { mutex: "payment:123" });
      await begins("third");
      for (const [name, data] of [["other", { mutex: "payment:124" }], ["free", {}]]) {
        own.finish(name);
        assert.equal((await own.end(await own.add(name, data))).state, "completed");
      }
      own.finish("third");
    });

    await suite.test("a failure releases it", async () => {
      const failing = await own.add("failing", { mutex: "payment:125" });
      own.finish("failing", new Error("as the test wants it"));
      await own.end(failing);
      own.finish("next");
      const next = await own.add("next", { mutex: "payment:125" });
      assert.equal((await own.end(next)).state, "completed");
    });

    await suite.test("a late release leaves the mutex of the next", async () => {
      await own.add("slow", { mutex: "payment:126" });
      await begins("slow");
      await redis.set("jobs:mutex:payment:126", "another job", "PX", 60_000);
      own.finish("slow");
      await eventually("the slow one is done", () => own.ended.includes("slow"));
      await eventually("it was released", async () =>
        (await redis.get("jobs:mutex:payment:126")) === "another job");
    });
  });
}
