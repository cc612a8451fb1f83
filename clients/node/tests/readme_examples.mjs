// Runs an example of the README.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import ts from "typescript";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const WORK = ["charge", "deploy", "write", "fetch", "move", "report"];
const START = `import process from "node:process";
const done = [];
const work = async (...what) => { done.push(what); };
const [${WORK.join(", ")}] = Array(${WORK.length}).fill(work);
process.on("exit", () => process.stderr.write(JSON.stringify(done)));
`;

/** The JavaScript and TypeScript examples of the README. */
export function examples() {
  const text = fs.readFileSync(path.join(ROOT, "README.md"), "utf8");
  return [...text.matchAll(/```[jt]s\n(.*?)```/gs)].map((match) => match[1]);
}

/** Runs it with these replacements, and returns what its work was given. It must end by itself. */
export async function runExample(text, replacements) {
  for (const [before, after] of Object.entries(replacements)) {
    assert.ok(text.includes(before), `the example does not contain ${before}`);
    text = text.replaceAll(before, after);
  }
  const program = ts.transpileModule(START + text, { compilerOptions: {
    target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022 } }).outputText;
  // The program is below the package, so that "fairlock" means the package itself.
  const file = path.join(fs.mkdtempSync(path.join(ROOT, "build", "example-")), "example.mjs");
  try {
    fs.writeFileSync(file, program);
    const { stderr } = await promisify(execFile)(process.execPath, [file], { timeout: 20_000 });
    return JSON.parse(stderr);
  } finally {
    fs.rmSync(path.dirname(file), { recursive: true });
  }
}
