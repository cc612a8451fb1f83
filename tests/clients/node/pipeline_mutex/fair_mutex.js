// A pipeline step: jobs of one mutex run alone, or n at a time, by fairlock. Denied, a job is
// cancelled and told by whom, or waits in line.

import { Cancelled } from "./pipeline.js";

// A connection that waits for a lock does nothing else meanwhile, and a lock with SESSION lives as
// long as its connection. So each job with a mutex has one of its own while it runs; the next one
// gets it then.
export class Connections {
  #idle = [];
  #all = new Set();

  // `connect` makes an ioredis client.
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

// A job may say in its data: `mutex`, its name; `waitMs`, how long it stands in line for it;
// `limit`, how many may have it at once, which an operator can override by LIMIT SET.
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

// One execution: what was stalled and runs again elsewhere is another one.
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

// RESP2 has no maps: fields and values alternate.
function mapOf(reply) {
  const map = {};
  for (let i = 0; i < reply.length; i += 2) map[reply[i]] = reply[i + 1];
  return map;
}
