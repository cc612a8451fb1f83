// Starts a fairlockd with its dashboard, clients for it, and load on it.
import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export const kToken = "a-token-of-the-tests";

// Resolves to a listening server, or to null if the port is not free.
function listenOn(port) {
  return new Promise((resolve) => {
    const server = net.createServer().once("error", () => resolve(null));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

// Returns a free port. No other process of the tests gets it before this process ends: see
// free_port in tests/integration/own_server.py, which states the rule for all languages.
export async function freePort() {
  for (;;) {
    const port = 20_000 + 2 * Math.floor(Math.random() * 6_000);
    const lease = await listenOn(port + 1);
    const probe = lease && await listenOn(port);
    if (probe) {
      lease.unref();
      await new Promise((resolve) => { probe.close(resolve); });
      return port;
    }
    lease?.close();
  }
}

// Notes a measured figure for bench/figures.sh; see note_figure in tests/integration/own_server.py.
export function noteFigure(name, value) {
  console.log(`${name} ${value}`);
  const file = process.env.FAIRLOCK_FIGURES;
  if (file) fs.appendFileSync(file, `${name} ${value}\n`);
}

// Fails if the process has ended: then whatever answers at its port is another program.
export function checkRuns(program, { exitCode, signalCode }) {
  if (exitCode !== null || signalCode !== null) {
    throw new Error(`${program} has ended with ${exitCode ?? signalCode}`);
  }
}

export async function until(what, ask, seconds = 20) {
  const giveUp = Date.now() + seconds * 1000;
  while (Date.now() < giveUp) {
    const found = await ask();
    if (found) return found;
    await sleep(20);
  }
  throw new Error(`never: ${what}`);
}

export class Server {
  static async start(...options) {
    const server = await Server.prepare();
    server.options = options;
    await server.run();
    return server;
  }

  // Starts a node of the fleet "main", which listens on the port that it announces.
  static async startNode(etcd, name, ...options) {
    const server = await Server.prepareNode(etcd, name, ...options);
    await server.run();
    return server;
  }

  static async prepareNode(etcd, name, ...options) {
    const server = await Server.prepare();
    server.options = ["--cluster-etcd", etcd.endpoint, "--cluster-node", name,
      "--cluster-announce", `127.0.0.1:${server.port}`, "--sentinel-port", "0", ...options];
    return server;
  }

  static async prepare() {
    const server = new Server();
    server.folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlock-page-"));
    server.port = await freePort();
    server.httpPort = await freePort();
    fs.writeFileSync(path.join(server.folder, "token"), `${kToken}\n`);
    return server;
  }

  get origin() { return `http://127.0.0.1:${this.httpPort}`; }

  async run() {
    this.launch();
    await until("the server is ready", () => {
      checkRuns("fairlockd", this.process);
      return fetch(`${this.origin}/readyz`).then((answer) => answer.ok, () => false);
    });
  }

  launch() {
    this.process = spawn(process.env.FAIRLOCKD, ["--port", this.port, "--http-port", this.httpPort,
      "--http-token-file", path.join(this.folder, "token"), "--data-dir",
      path.join(this.folder, "data"), "--min-free-disk", "0", "--durability", "async",
      ...this.options], { cwd: this.folder, stdio: "ignore" });
  }

  // Does nothing if the process has ended.
  async halt(signal = "SIGTERM") {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => { this.process.once("exit", resolve); });
    this.process.kill(signal);
    await ended;
  }

  async stop() {
    await this.halt("SIGKILL");
    fs.rmSync(this.folder, { recursive: true });
  }

  // Returns the output of redis-cli.
  cli(...words) {
    return new Promise((resolve, reject) => {
      execFile("redis-cli", ["-p", this.port, ...words], (error, output) =>
        (error ? reject(error) : resolve(output.trim())));
    });
  }

  connect() { return Client.connect(this.port); }
}

// Sends inline requests, so keys cannot contain spaces.
export class Client {
  static connect(port) {
    return new Promise((resolve, reject) => {
      const client = new Client();
      client.socket = net.connect(port, "127.0.0.1", () => resolve(client));
      client.socket.on("error", reject);
      client.answered = 0;
      client.socket.on("data", (data) => {
        for (const byte of data) if (byte === 10) ++client.answered;
      });
    });
  }

  send(...words) {
    const text = words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`).join("");
    this.socket.write(`*${words.length}\r\n${text}`);
  }

  // For requests with a one-line reply.
  async ask(...words) {
    const before = this.answered;
    this.send(...words);
    await until(`an answer to ${words[0]}`, () => this.answered > before);
  }

  close() { this.socket.destroy(); }
}

// Starts clients that take, hold and release locks with several labels until stopped; some wait.
export async function startLoad(server, clients = 24) {
  const running = [];
  for (let number = 0; number < clients; ++number) {
    const client = await server.connect();
    client.socket.removeAllListeners("error");
    client.socket.on("error", () => {});
    const key = `job:${number % 6}`;
    const label = ["shop", "mail", "nightly"][number % 3];
    client.socket.on("data", () => {
      client.isHeld = !client.isHeld;
      const turn = () => (client.isHeld ? client.send("UNLOCK", key, `w${number}`)
        : client.send("LOCK", key, `w${number}`, "EX", 30, "WAIT", "30s", "LABEL", label));
      client.timer = setTimeout(turn, client.isHeld ? 5 : 1);
    });
    client.send("LOCK", key, `w${number}`, "EX", 30, "WAIT", "30s", "LABEL", label);
    running.push(client);
  }
  return () => {
    for (const client of running) {
      clearTimeout(client.timer);
      client.close();
    }
  };
}

// Creates the kind of trouble that an operator has to investigate at three in the morning.
export async function fillWithTrouble(server) {
  const holder = await server.connect();
  await holder.ask("CLIENT", "SETNAME", "worker-7.eu");
  await holder.ask("LOCK", "order:42", "worker-7", "EX", 3600, "META",
    '{"job":"invoice-run","attempt":3}', "LABEL", "shop");
  await holder.ask("LOCK", "report:daily", "cron@node-3", "SESSION", "LABEL", "nightly");
  for (let n = 0; n < 4; ++n) {
    await holder.ask("LOCK", "api:maps", `fetch-${n}`, "EX", 600 + n * 40, "LIMIT", 5);
  }
  for (let n = 0; n < 60; ++n) {
    await holder.ask("LOCK", `tenant:${n}:import`, `import-${n}`, "EX", 900);
  }
  const waiters = [];
  for (let n = 8; n < 14; ++n) {
    const waiter = await server.connect();
    await waiter.ask("CLIENT", "SETNAME", `worker-${n}.eu`);
    waiter.send("LOCK", "order:42", `worker-${n}`, "WAIT", n % 2 ? "FOREVER" : "40m");
    waiters.push(waiter);
  }
  const other = await server.connect();
  other.send("LOCK", "report:daily", "cron@node-4", "WAIT", "20m");
  waiters.push(other);
  const denied = await server.connect();
  for (let n = 0; n < 5; ++n) await denied.ask("LOCK", "order:42", "impatient");
  await denied.ask("LOCK", "short", "soon-over", "PX", 1);
  await denied.ask("LIMIT", "SET", "migrate:*", 0, "REASON", "release 4.2");
  await denied.ask("LIMIT", "SET", "api:maps*", 8, "EX", 3600, "REASON", "they raised our quota");
  denied.close();
  return () => [holder, ...waiters].forEach((client) => client.close());
}

// Adds owners that wait for those that wait in fillWithTrouble: mailer-2 waits for cron@node-4,
// which waits for cron@node-3; and migrate-7 waits for two keys as one, one of which is held.
export async function fillWithChain(server) {
  const holder = await server.connect();
  await holder.ask("LOCK", "mail:queue", "cron@node-4", "EX", 900);
  const waiters = [["LOCK", "mail:queue", "mailer-2", "WAIT", "20m"],
    ["MLOCK", 2, "schema", "tenant:0:import", "migrate-7", "WAIT", "30m"],
    ["LOCK", "schema", "migrate-8", "WAIT", "30m"]];
  const clients = [];
  for (const words of waiters) {
    const waiter = await server.connect();
    waiter.send(...words);
    await until("it waits", async () => (await server.cli("QUEUE",
      words[0] === "MLOCK" ? words[2] : words[1])).includes(words.at(-3)));
    clients.push(waiter);
  }
  return () => [holder, ...clients].forEach((client) => client.close());
}
