// eslint accepts the sources and the tests. tsc --strict builds the package.


import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

test("eslint", async () => {
  const eslint = path.join(ROOT, "node_modules", ".bin", "eslint");
  await promisify(execFile)(eslint, ["--max-warnings", "0", "."], { cwd: ROOT, timeout: 100_000 })
    .catch((error) => assert.fail(error.stdout + error.stderr));
});
