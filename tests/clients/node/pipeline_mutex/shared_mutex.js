// The pipeline step for clients whose jobs all share one connection, as in most .NET clients: a
// waiting job blocks no other one, and a message on a channel announces its turn.

import { randomUUID } from "node:crypto";

import { Cancelled } from "./pipeline.js";

export class SharedLocks {
  #channel = `jobs:${randomUUID()}`;
  // Promised outcomes, by key and owner; each promise is created before its outcome is known.
  #heard = new Map();

  // `commands` and `subscriber` are two ioredis clients, because in RESP2 a subscribed client
  // cannot use LOCK.
  constructor(commands, subscriber) {
    this.commands = commands;
    this.subscriber = subscriber;
  }

  async open() {
    this.subscriber.on("message", (channel, message) => {
      const event = JSON.parse(message);
      if (channel === this.#channel) this.#heard.get(idOf(event.key, event.owner))?.(event);
    });
    await this.subscriber.subscribe(this.#channel);
    return this;
  }

  // Returns the token, or null after a time-out. With SESSION, the lock ends when the channel loses
  // its subscriber, i.e. this process.
  async lock(key, owner, waitMs) {
    const outcome = new Promise((resolve) => this.#heard.set(idOf(key, owner), resolve));
    try {
      const token = await this.commands.call(
        "LOCK", key, owner, "SESSION", "NOTIFY", this.#channel, "WAIT", waitMs);
      return token ?? (await outcome).token;
    } finally {
      this.#heard.delete(idOf(key, owner));
    }
  }

  unlock(key, owner) {
    return this.commands.call("UNLOCK", key, owner);
  }
}

export function sharedMutex(locks, { prefix = "jobs:mutex:" } = {}) {
  return async (job, next) => {
    const { mutex, waitMs = 60_000 } = job.data;
    if (mutex === undefined) return next();
    const owner = `${job.id}:${job.token}`;
    const token = await locks.lock(prefix + mutex, owner, waitMs);
    if (token === null) throw new Cancelled(`Cancelled: mutex '${mutex}' was not to be had`);
    try {
      return await next();
    } finally {
      await locks.unlock(prefix + mutex, owner);
    }
  };
}

function idOf(key, owner) {
  return JSON.stringify([key, owner]);
}
