// How the page finds the node that the error MOVED names. Needs neither server nor browser.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

const source = fs.readFileSync(new URL("../../dashboard/src/moved.js", import.meta.url), "utf8");
const { nodeOfMoved } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

const kNodes = [
  { name: "a", address: "10.0.0.1:3247", tls_port: 0 },
  { name: "b", address: "10.0.0.1:3248", tls_port: 3250 },
  { name: "c", address: "[fd00::7]:3247", tls_port: 0 },
  { name: "d", address: "lock4.example:0", tls_port: 3250 },
];

const nameOf = (message) => nodeOfMoved(message, kNodes)?.name;

test("nodes are found by their host and port", () => {
  assert.equal(nameOf("3999 10.0.0.1:3247"), "a");
  assert.equal(nameOf("3999 10.0.0.1:3248"), "b");
  assert.equal(nameOf("3999 10.0.0.2:3247"), undefined);
});

test("an IPv6 address has brackets only in the list of nodes", () => {
  assert.equal(nameOf("3999 fd00::7:3247"), "c");
  assert.equal(nameOf("3999 fd00::7:3248"), undefined);
});

test("a node that speaks only TLS is found by its TLS port", () => {
  assert.equal(nameOf("3999 lock4.example:3250"), "d");
});
