// What a lock is asked for, and the commands that ask for it.

import { randomFillSync } from "node:crypto";
import os from "node:os";

import type { LockOptions } from "./options";
import { shown } from "./texts";

/** A key or an owner. */
export type Name = string | Uint8Array;
export type Command = [string, ...(string | Buffer)[]];

const LEASE_MS = 30_000;

const PROCESS = `${os.hostname()}:${process.pid}:`;
const RANDOM_BYTES = 8;
// Many owners share one request to the system.
const random = Buffer.alloc(256 * RANDOM_BYTES);
let randomUsed = random.length;

/** A name for one execution: the host, the process and a random part. */
export function makeOwner(): string {
  if (randomUsed === random.length) {
    randomFillSync(random);
    randomUsed = 0;
  }
  const begin = randomUsed;
  randomUsed += RANDOM_BYTES;
  return PROCESS + random.toString("hex", begin, randomUsed);
}

/** Clients take a Buffer, but no other Uint8Array. */
function word(name: Name): string | Buffer {
  if (typeof name === "string" || Buffer.isBuffer(name)) return name;
  if (!((name as unknown) instanceof Uint8Array)) {
    throw new TypeError(`expected a string or a Uint8Array, got ${typeof name}`);
  }
  return Buffer.from(name.buffer, name.byteOffset, name.byteLength);
}

/** The bytes that are sent. */
export function bytesOf(name: Name): Buffer {
  const sent = word(name);
  return typeof sent === "string" ? Buffer.from(sent) : sent;
}

function withPrefix(prefix: Name, key: Name): string | Buffer {
  return typeof prefix === "string" && typeof key === "string"
    ? prefix + key
    : Buffer.concat([bytesOf(prefix), bytesOf(key)]);
}

// The server accepts no longer times.
const TIME_MS_MAX = 365 * 24 * 3600 * 1000;

/** Refuses a value that is no time in milliseconds, or that the server would refuse. */
export function checkTime(name: string, time: number, min = 0): number {
  if (typeof (time as unknown) !== "number" || !(time >= min && time <= TIME_MS_MAX)) {
    throw new RangeError(
      `${name} must be a number of milliseconds from ${min} to 365 days, got ${String(time)}`,
    );
  }
  return time;
}

/** The lease must not end at once. */
export const LEASE_MS_MIN = 1;

function checkCount(name: string, count: number | undefined, min: number): void {
  if (count !== undefined && !(Number.isSafeInteger(count) && count >= min)) {
    throw new RangeError(`${name} must be an integer of at least ${min}, got ${count}`);
  }
}

/** A wait may have no end, but otherwise it is no longer than what the server accepts. */
export function checkWait(wait: number): number {
  return wait === Infinity ? wait : checkTime("wait", wait);
}

function milliseconds(time: number): string {
  return String(Math.max(1, Math.ceil(time)));
}

export class Terms {
  readonly lease: number;
  readonly hasMaxWaiters: boolean;
  readonly shared: boolean;
  readonly limit: number | undefined;
  /** The keys with the prefix of the client, as the server knows them. */
  readonly keysOnServer: readonly (string | Buffer)[];
  readonly #options: readonly (string | Buffer)[];

  constructor(
    readonly keys: readonly Name[],
    options: LockOptions,
    readonly prefix: Name,
  ) {
    this.keysOnServer = keys.map((key) => withPrefix(prefix, key));
    this.lease = checkTime("lease", options.lease ?? LEASE_MS, LEASE_MS_MIN);
    this.hasMaxWaiters = options.maxWaiters !== undefined;
    this.shared = options.shared === true;
    this.limit = options.limit;
    if (keys.length === 0) throw new RangeError("a lock needs at least one key");
    checkCount("limit", options.limit, 1);
    checkCount("maxWaiters", options.maxWaiters, 0);
    if (options.shared === true && options.limit !== undefined) {
      throw new RangeError("a lock is either shared or has a limit, got both");
    }
    this.#options = optionWords(options);
  }

  /** All keys must have its hash slot, if there are several partitions. */
  get firstKey(): string | Buffer {
    return this.keysOnServer[0]!;
  }

  /** The keys as a text for people. */
  get names(): string {
    return this.keys.map(shown).join(", ");
  }

  /**
   * LOCK or MLOCK. A wait of Infinity has no end. The reply is a map if it `explains`, otherwise a
   * token or null.
   */
  lock(owner: Name, wait: number, channel?: string, explains = true): Command {
    const words: (string | Buffer)[] = ["PX", milliseconds(this.lease)];
    if (explains) words.push("EXPLAIN");
    if (wait > 0) words.push("WAIT", wait === Infinity ? "FOREVER" : `${milliseconds(wait)}ms`);
    if (channel !== undefined) words.push("NOTIFY", channel);
    return [...this.#aboutKeys("LOCK"), word(owner), ...words, ...this.#options];
  }

  /**
   * RENEW or MRENEW; the reply is 1 if all keys are held. With GT, it never shortens a lease, even
   * if it arrives after a newer one.
   */
  renew(owner: Name, token: number, lease: number): Command {
    const words = ["PX", milliseconds(lease), "TOKEN", String(token), "GT"];
    return [...this.#aboutKeys("RENEW"), word(owner), ...words];
  }

  /** UNLOCK or MUNLOCK. Without a token, it also gives up the owner's place in the queue. */
  unlock(owner: Name, token?: number): Command {
    const words = token === undefined ? [] : ["TOKEN", String(token)];
    return [...this.#aboutKeys("UNLOCK"), word(owner), ...words];
  }

  /** POSITION in the queue of the first key; the reply is null without a place. */
  position(owner: Name): Command {
    return ["POSITION", this.firstKey, word(owner)];
  }

  /** LOCKINFO of the first key. */
  info(): Command {
    return ["LOCKINFO", this.firstKey];
  }

  /** TRANSFER; the reply is the new token, or null. */
  transfer(owner: Name, token: number, newOwner: Name, lease: number): Command {
    if (this.keys.length > 1) throw new RangeError("only a lock of one key can be transferred");
    const words = ["PX", milliseconds(lease), "TOKEN", String(token)];
    return ["TRANSFER", this.firstKey, word(owner), word(newOwner), ...words];
  }

  #aboutKeys(command: string): Command {
    const keys = this.keysOnServer;
    return keys.length === 1 ? [command, ...keys] : [`M${command}`, String(keys.length), ...keys];
  }
}

function optionWords(options: LockOptions): (string | Buffer)[] {
  const words: (string | Buffer)[] = options.shared === true ? ["SHARED"] : [];
  const add = (name: string, value: string | Buffer | undefined): void => {
    if (value !== undefined) words.push(name, value);
  };
  const duration = (name: "keep" | "minHold"): string | undefined => {
    const time = checkTime(name, options[name] ?? 0);
    return time === 0 ? undefined : `${milliseconds(time)}ms`;
  };
  add("LIMIT", options.limit?.toString());
  add("MAXWAITERS", options.maxWaiters?.toString());
  add("KEEP", duration("keep"));
  add("MINHOLD", duration("minHold"));
  add("META", options.meta === undefined ? undefined : word(options.meta));
  add("LABEL", options.label);
  return words;
}
