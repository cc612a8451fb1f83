// Starts an etcd of one member.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { checkRuns, freePort, until } from "./server.js";

export class Etcd {
  static async start() {
    const etcd = new Etcd();
    etcd.folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlock-etcd-"));
    const [clients, peers] = [await freePort(), await freePort()];
    etcd.endpoint = `127.0.0.1:${clients}`;
    const [url, peerUrl] = [`http://${etcd.endpoint}`, `http://127.0.0.1:${peers}`];
    etcd.process = spawn("etcd", ["--name", "e0", "--data-dir", path.join(etcd.folder, "data"),
      "--unsafe-no-fsync", "--listen-client-urls", url, "--advertise-client-urls", url,
      "--listen-peer-urls", peerUrl, "--initial-advertise-peer-urls", peerUrl,
      "--initial-cluster", `e0=${peerUrl}`, "--logger", "zap", "--log-level", "error"],
    { stdio: "ignore" });
    await until("etcd is healthy", () => {
      checkRuns("etcd", etcd.process);
      return fetch(`${url}/health`).then((answer) => answer.ok, () => false);
    });
    return etcd;
  }

  async stop() {
    const ended = new Promise((resolve) => { this.process.once("exit", resolve); });
    this.process.kill("SIGKILL");
    await ended;
    fs.rmSync(this.folder, { recursive: true });
  }
}
