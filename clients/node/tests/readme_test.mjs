// The examples of the README run as they are, except for addresses and the work that they do.

import assert from "node:assert/strict";
import test from "node:test";

import { examples, runExample } from "./readme_examples.mjs";
import { Fairlockd } from "./server.mjs";

test("every example on one server", async () => {
  const server = await new Fairlockd().open();
  const counts = [];
  for (const text of examples()) {
    if (/sentinels:|tls:|Cluster\(/.test(text)) continue; // fleet_test, tls_test, cluster_test
    counts.push((await runExample(text, { 3247: String(server.port) })).length);
  }
  await server.close();
  // The denied deployment does nothing, and neither does the wait that is given up.
  assert.deepEqual(counts, [1, 1, 0, 0, 3, 5, 1]);
});
