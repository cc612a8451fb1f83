// axe-core, which finds faults of accessibility.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";

const kAxe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// Fails if the page has a serious fault.
export async function checkAccessibility(page) {
  // Runs in the page's debugger, because the page's policy forbids injected scripts.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: kAxe });
  const { result } = await session.send("Runtime.evaluate", { awaitPromise: true,
    returnByValue: true, expression: "axe.run(document, {resultTypes: ['violations']})" });
  const serious = result.value.violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) =>
      `${node.html.slice(0, 120)} ${node.failureSummary}`).join(" | ")}`);
  assert.ok(result.value.passes.length > 10);
  assert.deepEqual(serious, []);
}

// Does so on a wide and on a narrow screen, and fails if the narrow one must be scrolled sideways.
export async function checkBothWidths(page) {
  await checkAccessibility(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await checkAccessibility(page);
  assert.equal(await page.evaluate(() =>
    document.documentElement.scrollWidth > innerWidth), false, "wider than the screen");
}
