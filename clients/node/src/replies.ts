// Parses what the server sends: the map of EXPLAIN, and messages on a NOTIFY channel.

import { bytesOf, type Name } from "./terms";
import { shown } from "./texts";

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return Buffer.isBuffer(value) ? value.toString() : (value as string);
}

function numberOf(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** A map is a flat list in RESP 2, and a Map or an object in RESP 3. */
function fieldsOf(reply: unknown): Map<string, unknown> {
  if (reply instanceof Map) {
    return new Map([...reply].map(([name, value]) => [textOf(name) ?? "", value as unknown]));
  }
  if (!Array.isArray(reply)) return new Map(Object.entries(reply as Record<string, unknown>));
  const items = reply as unknown[];
  const fields = new Map<string, unknown>();
  for (let i = 0; i < items.length; i += 2) fields.set(textOf(items[i]) ?? "", items[i + 1]);
  return fields;
}

/** One of the owners that hold a key. Times are in milliseconds. */
export interface Holder {
  readonly owner: string;
  readonly token: number;
  readonly meta: string | null;
  readonly label: string | null;
  readonly heldFor: number;
  /** Until its lease ends; null if it has no end. */
  readonly ttl: number | null;
  /** "exclusive", "shared" or "semaphore". */
  readonly mode: string;
}

function holderOf(reply: unknown): Holder {
  const fields = fieldsOf(reply);
  return {
    owner: textOf(fields.get("owner")) ?? "",
    token: Number(fields.get("token")),
    meta: textOf(fields.get("meta")),
    label: textOf(fields.get("label")),
    heldFor: Number(fields.get("held_ms")),
    ttl: numberOf(fields.get("ttl_ms")),
    mode: textOf(fields.get("mode")) ?? "",
  };
}

/** Why a lock was granted or denied. Times are in milliseconds. */
export class Explanation {
  /** "granted", "already", "queued", "denied" or "timeout". */
  readonly status: string;
  /** "held", "shared", "line", "reserved", "cooling", "full", "drained", "starting", or null. */
  readonly reason: string | null;
  readonly token: number | null;
  /** Until the lease of this owner's hold, or the lease that ends first, is over. */
  readonly ttl: number | null;
  /** The place in the queue; 1 is next. null without a place. */
  readonly position: number | null;
  readonly waiters: number;
  /** The estimated time until the lock is granted. */
  readonly eta: number | null;
  /** At most 16 of them. */
  readonly holders: readonly Holder[];
  /** The first of several keys that could not be obtained. */
  readonly key: string | null;

  /** Reads the reply to LOCK or MLOCK with EXPLAIN, to a client that puts a prefix before keys. */
  constructor(reply: unknown, prefix: Name, status?: string) {
    const fields = fieldsOf(reply);
    this.status = status ?? textOf(fields.get("status")) ?? "";
    this.reason = textOf(fields.get("reason"));
    this.token = numberOf(fields.get("token"));
    this.ttl = numberOf(fields.get("ttl_ms"));
    this.position = numberOf(fields.get("position"));
    this.waiters = Number(fields.get("waiters"));
    this.eta = numberOf(fields.get("eta_ms"));
    this.holders = (fields.get("holders") as unknown[]).map(holderOf);
    this.key = textOf(fields.get("key"))?.slice(bytesOf(prefix).toString().length) ?? null;
  }

  /** One line for people. */
  toString(): string {
    const parts: string[] = [];
    if (this.key !== null) parts.push(`${shown(this.key)} is taken`);
    if (this.reason !== null && (this.holders.length === 0 || this.reason !== "held")) {
      parts.push(this.reason);
    }
    const holders = this.holders.map((one) => `${shown(one.owner)} for ${seconds(one.heldFor)}`);
    if (holders.length > 0) parts.push(`held by ${holders.join(", ")}`);
    if (this.position !== null) parts.push(`position ${this.position} is kept`);
    if (this.waiters > 0) parts.push(`${this.waiters} waiting`);
    if (this.eta !== null) parts.push(`free in about ${seconds(this.eta)}`);
    return parts.length === 0 ? this.status : parts.join("; ");
  }
}

/** A time in milliseconds, for people. */
export function seconds(time: number): string {
  return time < 1000 ? `${Math.round(time)} ms` : `${Number((time / 1000).toFixed(1))} s`;
}

/** The token of this owner's hold in the reply to LOCKINFO, if it is greater than this one. */
export function newerToken(owner: Name, than: number, reply: unknown): number | null {
  const name = bytesOf(owner).toString();
  const holders = (fieldsOf(reply).get("holders") as unknown[]).map(holderOf);
  return holders.find((one) => one.owner === name && one.token > than)?.token ?? null;
}

/** A message on a NOTIFY channel. */
export interface Message {
  /**
   * "granted", "timeout", "cancelled", "superseded", "lost"; or "subscribed", which the channel
   * itself delivers when it has a connection again.
   */
  readonly event: string;
  readonly key: Buffer;
  readonly owner: Buffer;
  readonly token: number | null;
  readonly reason: string | null;
}

export const SUBSCRIBED: Message = {
  event: "subscribed",
  key: Buffer.alloc(0),
  owner: Buffer.alloc(0),
  token: null,
  reason: null,
};

/** Reads the JSON object. */
export function messageOf(text: string): Message {
  const fields = JSON.parse(text) as Record<string, string | null> & { token: number | null };
  const exact = (name: string): Buffer =>
    typeof fields[`${name}_base64`] === "string"
      ? Buffer.from(fields[`${name}_base64`] ?? "", "base64")
      : Buffer.from(fields[name] ?? "");
  return {
    event: fields["event"] ?? "",
    key: exact("key"),
    owner: exact("owner"),
    token: fields.token,
    reason: fields["reason"] ?? null,
  };
}
