// A pipeline step that uses fairlock: jobs with the same mutex run one at a time, or at most
// `limit` at a time. A job that is denied is cancelled with the holder's name, or waits in the
// queue.

import { Cancelled } from "./pipeline.js";

// While a connection waits for a lock, it can do nothing else, and a lock with SESSION ends with
// its connection. Each job with a mutex therefore has its own connection while it runs; afterwards,
// another job can use it.
export class Connections {
  #idle = [];
  #all = new Set();

  // `connect` creates an ioredis client.
  constructor(connect) {
    this.connect = connect;
  }

  async use(action) {
    const connection = this.#idle.pop() ?? this.#open();
    try {
      return await action(connection);
    } finally {
      this.#idle.push(connection);
    }
  }

  #open() {
    const connection = this.connect();
    this.#all.add(connection);
    return connection;
  }

  close() {
    for (const connection of this.#all) connection.disconnect();
  }
}

// A job's data may contain `mutex`, the name of its mutex; `waitMs`, how long it waits in the
// queue; and `limit`, how many jobs may hold the mutex at once, which LIMIT SET can override.
export function fairMutex(connections, { prefix = "jobs:mutex:" } = {}) {
  return async (job, next) => {
    const { mutex, waitMs, limit } = job.data;
    if (mutex === undefined) return next();
    const key = prefix + mutex;
    return connections.use(async (connection) => {
      const options = ["SESSION", "META", JSON.stringify({ job: job.id, name: job.name })];
      if (waitMs !== undefined) options.push("WAIT", waitMs);
      if (limit !== undefined) options.push("LIMIT", limit);
      const reply = mapOf(await connection.call("LOCK", key, ownerOf(job), ...options, "EXPLAIN"));
      if (reply.token === null) throw new Cancelled(denial(mutex, reply));
      try {
        return await next();
      } finally {
        await connection.call("UNLOCK", key, ownerOf(job));
      }
    });
  };
}

// Names a single execution: if a stalled job runs again elsewhere, that is a different owner.
function ownerOf(job) {
  return `${job.id}:${job.token}`;
}

function denial(mutex, reply) {
  const holders = reply.holders.map(mapOf).map((holder) => {
    const meta = holder.meta === null ? {} : JSON.parse(holder.meta);
    return `job ${meta.job} for ${holder.held_ms} ms`;
  });
  return `Cancelled: mutex '${mutex}' held by ${holders.join(", ")}; ${reply.waiters} in line`;
}

// RESP2 has no maps, so fields and values alternate.
function mapOf(reply) {
  const map = {};
  for (let i = 0; i < reply.length; i += 2) map[reply[i]] = reply[i + 1];
  return map;
}
