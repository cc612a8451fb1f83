// The OpenAPI description is valid, as judged by a validator.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Server } from "./server.js";

test("it is a valid description in OpenAPI 3.1", async () => {
  const server = await Server.start();
  const description = await (await fetch(`${server.origin}/api/v1/openapi.json`)).json();
  await server.stop();
  const validator = new Validator();
  const found = await validator.validate(description);
  assert.deepEqual(found.errors, undefined);
  assert.equal(found.valid, true);
  assert.equal(validator.version, "3.1");
  validator.resolveRefs();
  // An invalid description is rejected.
  delete description.info.title;
  assert.equal((await new Validator().validate(description)).valid, false);
});
