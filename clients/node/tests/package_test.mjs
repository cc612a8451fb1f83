// The package as it is shipped: installed in an empty folder, and used as a program would use it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Fairlockd } from "./server.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlock-package-"));
const project = path.join(folder, "project");
const modules = path.join(project, "node_modules");
let server;
let tarball;

async function run(program, words, cwd = project) {
  const options = { cwd, timeout: 60_000, env: { ...process.env, npm_config_offline: "true" } };
  const { stdout } = await promisify(execFile)(program, words, options)
    .catch((error) => assert.fail(error.stdout + error.stderr));
  return stdout;
}

/** Builds the package from a copy of its sources, and installs it beside the Redis clients. */
before(async () => {
  server = await new Fairlockd().open();
  const copy = path.join(folder, "copy");
  for (const name of ["LICENSE", "package.json", "README.md", "src"]) {
    fs.cpSync(path.join(ROOT, name), path.join(copy, name), { recursive: true });
  }
  fs.symlinkSync(path.join(ROOT, "node_modules"), path.join(copy, "node_modules"));
  await run("npm", ["pack", "--pack-destination", folder], copy);
  tarball = path.join(folder, "fairlock-0.1.0.tgz");
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, "package.json"), "{}");
  await run("npm", ["install", "--no-audit", "--no-fund", tarball]);
  fs.mkdirSync(path.join(modules, "@types"));
  for (const name of ["ioredis", "redis", "@types/node"]) {
    fs.symlinkSync(path.join(ROOT, "node_modules", name), path.join(modules, name));
  }
});

after(async () => {
  await server.close();
  fs.rmSync(folder, { recursive: true });
});

function write(name, text) {
  fs.writeFileSync(path.join(project, name), text.replaceAll("PORT", String(server.port)));
}

test("it contains the program, its declarations and the README", () => {
  const installed = path.join(modules, "fairlock");
  assert.deepEqual(fs.readdirSync(installed).sort(),
    ["LICENSE", "README.md", "build", "package.json"]);
  assert.equal(fs.readFileSync(path.join(installed, "LICENSE"), "utf8"),
    fs.readFileSync(path.join(ROOT, "../../LICENSE"), "utf8"));
  const sources = fs.readdirSync(path.join(ROOT, "src")).filter((name) => /ts$/.test(name));
  const expected = sources.flatMap((name) => {
    const [base, suffix] = [path.parse(name).name, name.endsWith(".mts") ? "m" : ""];
    return [`${base}.${suffix}js`, `${base}.d.${suffix}ts`];
  });
  assert.deepEqual(fs.readdirSync(path.join(installed, "build")).sort(), expected.sort());
  assert.ok(!fs.existsSync(path.join(project, "node_modules", "typescript")));
});

test("publint finds no error and no warning in the package", async () => {
  const publint = path.join(ROOT, "node_modules", ".bin", "publint");
  assert.match(await run(publint, ["run", "--strict", tarball]), /Linting/);
});

/** All texts in a part of package.json, with the conditions that lead to each. */
function* targets(part, conditions = []) {
  if (typeof part === "string") yield [conditions, part];
  else {
    for (const [name, inner] of Object.entries(part)) yield* targets(inner, [...conditions, name]);
  }
}

test("package.json names files that are there, of the right kind", () => {
  const installed = path.join(modules, "fairlock");
  const it = JSON.parse(fs.readFileSync(path.join(installed, "package.json"), "utf8"));
  for (const field of ["name", "version", "description", "license", "author", "keywords",
    "engines"]) {
    assert.ok(it[field], field);
  }
  assert.equal(it.type, undefined); // so .js is CommonJS, and .mjs is an ES module
  assert.ok(!("dependencies" in it));
  for (const [conditions, file] of [...targets(it.exports), [["require"], it.main],
    [["require", "types"], it.types]]) {
    assert.ok(fs.existsSync(path.join(installed, file)), file);
    const kind = conditions.includes("import") ? "m" : "";
    const ending = conditions.includes("types") ? `.d.${kind}ts` : `.${kind}js`;
    assert.ok(file.startsWith("./build/") && file.endsWith(ending), `${conditions}: ${file}`);
  }
  for (const conditions of ["import", "require"]) { // the first that matches is taken
    assert.equal(Object.keys(it.exports["."][conditions])[0], "types");
  }
  for (const name of ["ioredis", "redis"]) {
    assert.equal(it.peerDependencies[name], ">=5");
    assert.equal(it.peerDependenciesMeta[name].optional, true);
    assert.match(it.devDependencies[name], /^5\.\d+\.\d+$/);
    assert.match(it.devDependencies[`${name}-newest`], /^npm:.*@\d+\.\d+\.\d+$/);
  }
});

test("an ES module uses it with ioredis", async () => {
  write("program.mjs", `
    import { createLock, Denied } from "fairlock";
    import { Redis } from "ioredis";
    import { createRequire } from "node:module";
    const redis = new Redis({ port: PORT });
    const lock = createLock(redis);
    await lock.using("k", async (hold) => console.log(hold.token > 0, await lock.try("k")));
    console.log(Denied === createRequire(import.meta.url)("fairlock").Denied);
    const hold = await lock("k");
    const waiter = lock("k", { wait: 60_000 });
    while ((await redis.call("QUEUE", "k")).length === 0);
    console.log(await hold.release());
    const next = await waiter;
    console.log(next.token > 0, await next.release(), await redis.call("LOCKED", "k"));
    await redis.quit();
  `);
  assert.equal(await run("node", ["program.mjs"]), "true null\ntrue\ntrue\ntrue true 0\n");
});

test("a CommonJS module uses it with node-redis", async () => {
  write("program.cjs", `
    const { createLock } = require("fairlock");
    const { createClient } = require("redis");
    (async () => {
      const redis = await createClient({ socket: { port: PORT } }).connect();
      const lock = createLock(redis);
      await lock.using("k", async (hold) => console.log(hold.token > 0, await lock.try("k")));
      const hold = await lock("k");
      const waiter = lock("k", { wait: 60_000 });
      while ((await redis.sendCommand(["QUEUE", "k"])).length === 0);
      console.log(await hold.release(), await (await waiter).release());
      await redis.close();
    })();
  `);
  assert.equal(await run("node", ["program.cjs"]), "true null\ntrue true\n");
});

const PROGRAM = `
  import { createLock, Denied, type Hold, type Lock } from "fairlock";
  import { Cluster, Redis } from "ioredis";
  import { createClient, createCluster, createSentinel } from "redis";

  async function work(lock: Lock): Promise<number> {
    await using hold = await lock("k", { wait: 10_000, signal: AbortSignal.timeout(10_000) });
    const other: Hold | null = await lock.try(["k", Buffer.from("l")]);
    const token: number = hold.token;
    return other === null ? token : 0;
  }

  async function main(): Promise<void> {
    const redis = new Redis({ port: PORT });
    const client = createClient({ RESP: 3, socket: { port: PORT } });
    await client.connect();
    for (const lock of [createLock(redis), createLock(client)]) {
      const aborted = await lock.using("k", async (hold, signal) => signal.aborted);
      console.log(await work(lock) > 0, aborted);
    }
    await Promise.all([redis.quit(), client.close()]);
  }

  export const clusters = (): Lock[] =>
    [createLock(new Cluster([7000])), createLock(createCluster({ rootNodes: [], RESP: 3 }))];
  export const sentinel = (): Lock =>
    createLock(createSentinel({ name: "main", sentinelRootNodes: [] }), { lease: 1000 });
  export const reason = (error: Denied): string | null => error.explanation.reason;
  void main();
`;

const WRONG = `
  import { createLock } from "fairlock";
  import { Redis } from "ioredis";
  void createLock(new Redis())(42);
  createLock(new URL("redis://lock1"));
  void createLock(new Redis())("k", { leese: 1 });
`;

test("TypeScript programs use it, and their mistakes are found", async () => {
  write("typed.mts", PROGRAM);
  write("typed.cts", PROGRAM);
  write("wrong.mts", WRONG);
  const tsc = path.join(ROOT, "node_modules", ".bin", "tsc");
  const words = ["--strict", "--skipLibCheck", "--target", "es2022", "--module", "node16",
    "--types", "node", "typed.mts", "typed.cts", "wrong.mts"];
  const { stdout } = await promisify(execFile)(tsc, words, { cwd: project })
    .catch((error) => error);
  const lines = stdout.split("\n").filter((line) => /^\S/.test(line));
  assert.equal(lines.length, 3, stdout);
  assert.match(lines[0], /wrong.mts\(4,.*'number' is not assignable/);
  assert.match(lines[1], /wrong.mts\(5,.*'URL' is not assignable/);
  assert.match(lines[2], /wrong.mts\(6,.*'leese' does not exist/);
  for (const program of ["typed.mjs", "typed.cjs"]) {
    assert.equal(await run("node", [program]), "true false\ntrue false\n");
  }
});
