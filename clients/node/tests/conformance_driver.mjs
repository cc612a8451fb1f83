// Uses the library as an application would, as clients/conformance describes. The first argument
// names the client: ioredis (the default) or node-redis. All waits share the client's channel, with
// or without "channel".

import fs from "node:fs";
import readline from "node:readline";

import calculateSlot from "cluster-key-slot";

import { createLock, FairlockError, now } from "../build/index.mjs";
import { Cluster, Command, Redis, createClient, createCluster, createSentinel }
  from "./redis_clients.mjs";

// node-redis writes to the console when no Sentinel can be reached.
console.log = console.error;

const RATE_SLICES = 75;

const url = process.env.FAIRLOCK_URL;
const readTimeout = 1000 * Number(process.env.FAIRLOCK_READ_TIMEOUT ?? 5);
const ca = process.env.FAIRLOCK_CA && fs.readFileSync(process.env.FAIRLOCK_CA);

// For a cluster, the URL says only which user clients have, and whether they use TLS.
const location = new URL(url ?? "redis://");
const login = location.username && {
  username: location.username, password: decodeURIComponent(location.password),
};

const addresses = (text) => text?.split(",").map((address) => {
  const [host, port] = address.split(":");
  return { host, port: Number(port) };
});
const sentinels = addresses(process.env.FAIRLOCK_SENTINELS);
const nodes = addresses(process.env.FAIRLOCK_CLUSTER);

function ioredis() {
  const options = { commandTimeout: readTimeout, ...(ca && { tls: { ca } }) };
  if (nodes) {
    // With its default look-up, certificates would have to name addresses.
    const dnsLookup = (host, found) => found(null, host);
    return new Cluster(nodes, { redisOptions: { ...options, ...login }, dnsLookup });
  }
  return sentinels ? new Redis({ ...options, name: "main", sentinels }) : new Redis(url, options);
}

function nodeRedis() {
  const socket = { socketTimeout: readTimeout, reconnectStrategy: 50, ...(ca && { ca }) };
  const options = { socket, pingInterval: readTimeout / 2 };
  if (nodes) {
    if (ca) socket.tls = true;
    return createCluster({
      rootNodes: nodes.map((node) => ({ socket: node })), defaults: { ...options, ...login },
    });
  }
  return sentinels ? createSentinel({ name: "main", sentinelRootNodes: sentinels })
    : createClient({ url, ...options });
}

const CLIENTS = {
  ioredis: async () => {
    const client = ioredis().on("error", () => {});
    const raw = (name, ...words) => {
      const command = new Command(name, words, { replyEncoding: "utf8" });
      command.slot = calculateSlot(words[0]);
      return client.sendCommand(command);
    };
    return { client, raw: nodes ? raw : (...words) => client.call(...words) };
  },
  "node-redis": async () => {
    const client = await nodeRedis().on("error", () => {}).connect();
    const raw = (...words) => client.sendCommand(words[1], false, words);
    return { client, raw: nodes ? raw : (...words) => client.sendCommand(words) };
  },
};

const { client, raw } = await CLIENTS[process.argv[2] ?? "ioredis"]();
const lock = createLock(client);
const holds = new Map();
const pending = new Map();

const say = (reply) => process.stdout.write(`${JSON.stringify(reply)}\n`);

// The options of a request, and those of the library.
const OPTIONS = ["renew", "owner", "shared", "limit", "meta", "label"];
const TIMES = { lease: "lease", wait: "wait", keep: "keep", min_hold: "minHold" };

function optionsOf(request, signal) {
  const options = { signal, onLost: () => say({ event: "lost", hold: request.hold }) };
  for (const name of OPTIONS) {
    if (request[name] !== undefined && request[name] !== null) options[name] = request[name];
  }
  for (const [name, ours] of Object.entries(TIMES)) {
    if (typeof request[name] === "number") options[ours] = 1000 * request[name];
  }
  return options;
}

async function take(request, call) {
  const controller = new AbortController();
  pending.set(request.id, controller);
  try {
    const hold = await call(request.keys, optionsOf(request, controller.signal));
    if (hold === null) return { token: null };
    holds.set(request.hold, hold);
    return { token: hold.token, owner: hold.owner };
  } finally {
    pending.delete(request.id);
  }
}

async function work({ key, count, lease, seconds }) {
  const tokens = [];
  const endsAt = seconds === undefined ? 0 : performance.now() + 1000 * seconds;
  const options = lease === undefined ? {} : { lease: 1000 * lease };
  const worker = async () => {
    do {
      await lock.using(key, options, (hold) => tokens.push(hold.token));
    } while (performance.now() < endsAt);
  };
  await Promise.all(Array.from({ length: count }, worker));
  const rising = tokens.every((token, turn) => turn === 0 || token > tokens[turn - 1]);
  return { grants: tokens.length, rising };
}

async function perSecond(seconds, call) {
  const begin = performance.now();
  let count = 0;
  for (; performance.now() < begin + 1000 * seconds; ++count) await call();
  return (1000 * count) / (performance.now() - begin);
}

/**
 * Divides the time into many slices, which alternate between the two loops, and returns the best
 * one of each.
 */
async function rate({ seconds }) {
  const loops = {
    library: async () => (await lock("rate")).release(),
    raw: async () => {
      const token = await raw("LOCK", "rate:raw", "raw", "PX", "30000");
      await raw("UNLOCK", "rate:raw", "raw", "TOKEN", String(token));
    },
  };
  const best = { library: 0, raw: 0 };
  for (let slice = 0; slice < RATE_SLICES; ++slice) {
    for (const [name, loop] of Object.entries(loops)) {
      best[name] = Math.max(best[name], await perSecond(seconds / (2 * RATE_SLICES), loop));
    }
  }
  return best;
}

const OPERATIONS = {
  acquire: (request) => take(request, lock),
  try: (request) => take(request, lock.try),
  release: async ({ hold }) => {
    await holds.get(hold)[Symbol.asyncDispose]();
    return { ok: true };
  },
  renew: async ({ hold, lease }) => {
    await holds.get(hold).renew(typeof lease === "number" ? 1000 * lease : undefined);
    return { ok: true };
  },
  left: ({ hold }) => ({ left: (holds.get(hold).deadline - now()) / 1000 }),
  check: ({ hold }) => {
    holds.get(hold).check();
    return { ok: true };
  },
  token: ({ hold }) => ({ token: holds.get(hold).token }),
  transfer: async ({ hold, to }) => ({ token: await holds.get(hold).transfer(to) }),
  cancel: ({ acquire }) => {
    pending.get(acquire)?.abort();
    return { ok: true };
  },
  fork: () => ({ error: "Unsupported" }),
  work,
  rate,
  exit: () => process.exit(0),
};

function failure(error) {
  const reply = { error: error instanceof FairlockError ? error.name : "Failed",
    text: String(error) };
  if (error.name === "AbortError") reply.error = "Cancelled";
  if (error.name === "NoReply") reply.error = "Failed";
  if (error.name === "Denied") {
    const { reason, position, eta, holders } = error.explanation;
    const owners = holders.map((holder) => holder.owner);
    Object.assign(reply, { reason, position, eta: eta === null ? null : eta / 1000,
      holders: owners });
  }
  return reply;
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  Promise.resolve(request).then(OPERATIONS[request.do])
    .then((reply) => say({ id: request.id, ...reply }),
      (error) => say({ id: request.id, ...failure(error) }));
}
process.exit(0);
