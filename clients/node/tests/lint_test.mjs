// tsc --strict and eslint accept the sources.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const COMMANDS = { eslint: ["--max-warnings", "0", "."], tsc: ["--project", "src", "--noEmit"] };

for (const [name, words] of Object.entries(COMMANDS)) {
  test(name, async () => {
    const program = path.join(ROOT, "node_modules", ".bin", name);
    await promisify(execFile)(program, words, { cwd: ROOT, timeout: 100_000 })
      .catch((error) => assert.fail(error.stdout + error.stderr));
  });
}
