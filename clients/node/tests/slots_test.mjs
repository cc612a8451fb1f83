// Hash slots, compared with those of the Redis clients.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import test from "node:test";

import calculateSlot from "cluster-key-slot";

import { slotOf, tagOf } from "../build/slots.js";

test("the slots of Redis Cluster", () => {
  assert.equal(slotOf("123456789"), 0x31c3);
  const keys = ["order:42", "{order:42}:stock", "x{order:42}", "a{b", "a}b", "ключ", "{a}{b}"];
  for (const key of keys) {
    assert.equal(slotOf(key), calculateSlot(key), key);
  }
  assert.equal(slotOf("{order:42}:stock"), slotOf("order:42"));
  // The first braces mark no tag if there is no text between them. cluster-key-slot is wrong here.
  assert.equal(slotOf("foo{}{bar}"), slotOf(Buffer.from("foo{}{bar}")));
  assert.equal(slotOf("foo{}{bar}"), 8363);
  for (let length = 1; length < 200; ++length) {
    const key = randomBytes(length).toString("hex");
    assert.equal(slotOf(key), calculateSlot(key));
  }
});

test("a tag has the slot of its key", () => {
  assert.equal(tagOf("{order:42}:stock"), "order:42");
  assert.equal(tagOf("order:42"), "order:42");
  const odd = ["a{b", "a}b", "{}", "foo{}{bar}", "x".repeat(101), Buffer.from([0xff, 0]), ""];
  for (const key of [...odd, ...Array.from({ length: 100 }, () => randomBytes(9))]) {
    const channel = `fairlock:ID:{${tagOf(key)}}`;
    assert.equal(slotOf(channel), slotOf(key), String(key));
    assert.equal(calculateSlot(channel), slotOf(key), String(key));
    assert.ok(channel.length < 200);
  }
});
