// A BullMQ queue for tests, on the redis-server. Its jobs end when the test lets them.

import { Queue, QueueEvents, Worker } from "bullmq";
import Redis from "ioredis";

import { pipeline } from "./pipeline.js";

const LIMIT_MS = 20_000;

// Calls `ask` repeatedly until it returns a true value, and returns that value.
export async function eventually(what, ask) {
  const giveUp = Date.now() + LIMIT_MS;
  for (;;) {
    const found = await ask();
    if (found) return found;
    if (Date.now() > giveUp) throw new Error(`not within ${LIMIT_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export class OwnQueue {
  static #count = 0;

  // The names of the jobs that have started and of those that have ended, in order.
  begun = [];
  ended = [];
  #doors = new Map();

  constructor({ redisPort, steps, concurrency = 4 }) {
    const name = `jobs-${process.pid}-${OwnQueue.#count++}`;
    const connection = { port: redisPort, maxRetriesPerRequest: null };
    this.queue = new Queue(name, { connection });
    this.events = new QueueEvents(name, { connection });
    this.worker = new Worker(name, pipeline(steps, (job) => this.#perform(job)), {
      connection,
      concurrency,
    });
    this.worker.on("error", (error) => console.error(error));
  }

  // Resolves when the job is in the queue.
  add(name, data = {}) {
    return this.queue.add(name, data, { attempts: 3 });
  }

  // Lets the job finish, now or as soon as it starts.
  finish(name, result = "done") {
    this.#door(name).open(result);
  }

  // Resolves with the outcome of the job, "completed" or "failed", and its log.
  async end(job) {
    const state = await eventually(`${job.name} ends`, async () => {
      const now = await job.getState();
      return (now === "completed" || now === "failed") && now;
    });
    const { logs } = await this.queue.getJobLogs(job.id);
    return { state, log: logs.join("\n") };
  }

  async close() {
    for (const name of this.begun) this.finish(name);
    await this.worker.close();
    await this.events.close();
    await this.queue.close();
  }

  async #perform(job) {
    this.begun.push(job.name);
    const result = await this.#door(job.name).opened;
    this.ended.push(job.name);
    if (result instanceof Error) throw result;
    return result;
  }

  #door(name) {
    if (!this.#doors.has(name)) {
      const door = {};
      door.opened = new Promise((resolve) => (door.open = resolve));
      this.#doors.set(name, door);
    }
    return this.#doors.get(name);
  }
}

export function connectTo(port) {
  return new Redis({ port, maxRetriesPerRequest: null });
}
