// A fairlockd or redis-server of a test's own, on a free port of this machine.

import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const START_MS_MAX = 20_000;
const STARTS_MAX = 5;

/** Resolves to a listening server, or to null if the port is not free. */
async function listenOn(port) {
  const server = net.createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
    return server;
  } catch {
    return null;
  }
}

/**
 * A free port, which no other process of the tests gets before this process ends: see free_port in
 * tests/integration/own_server.py, which states the rule for all languages.
 */
export async function freePort() {
  for (;;) {
    const port = 20_000 + 2 * Math.floor(Math.random() * 6_000);
    const lease = await listenOn(port + 1);
    const probe = lease && (await listenOn(port));
    if (probe) {
      lease.unref();
      await once(probe.close(), "close");
      return port;
    }
    lease?.close();
  }
}

async function answers(port) {
  const socket = net.connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    socket.write("PING\r\n");
    const [data] = await once(socket, "data");
    return String(data).startsWith("+PONG");
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

class Server {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlock-"));

  /** Starts it; if it ends at once, for example because the port was taken, on another port. */
  async open() {
    for (let attempt = 0; attempt < STARTS_MAX; ++attempt) {
      this.port = await freePort();
      if (await this.start()) return this;
    }
    throw new Error(`it did not start: ${fs.readFileSync(path.join(this.folder, "output"))}`);
  }

  async start() {
    const output = fs.openSync(path.join(this.folder, "output"), "a");
    const [program, ...words] = this.words();
    this.process = spawn(program, words, { cwd: this.folder, stdio: ["ignore", output, output] });
    this.ended = once(this.process, "exit");
    fs.closeSync(output);
    const giveUpAt = Date.now() + START_MS_MAX;
    while (Date.now() < giveUpAt && this.process.exitCode === null) {
      if (await answers(this.port)) return this.process.exitCode === null;
      await sleep(5);
    }
    return false;
  }

  async kill(signal = "SIGKILL") {
    this.process.kill(signal);
    await this.ended;
  }

  async close() {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.kill();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

export class Fairlockd extends Server {
  /** @param isKept whether it stores its locks, so that it can be started again */
  constructor(isKept = false) {
    super();
    this.options = isKept
      ? ["--durability", "async", "--data-dir", path.join(this.folder, "data")]
      : ["--durability", "none"];
  }

  words() {
    return [process.env.FAIRLOCKD, "--bind", "127.0.0.1", "--port", String(this.port),
      "--http-port", "0", "--min-free-disk", "0", ...this.options];
  }
}

export class RedisServer extends Server {
  words() {
    return ["redis-server", "--bind", "127.0.0.1", "--port", String(this.port), "--save", ""];
  }
}
