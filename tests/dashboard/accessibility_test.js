// axe-core finds no fault on any view, in light and dark, wide and narrow.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { kViews, launch, open, settle } from "./browser.js";
import { Server, fillWithTrouble } from "./server.js";

const kAxe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
let server;
let endTrouble;

before(async () => {
  browser = await launch();
  server = await Server.start();
  endTrouble = await fillWithTrouble(server);
});

after(async () => {
  endTrouble();
  await browser.close();
  await server.stop();
});

async function check(page) {
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

for (const colorScheme of ["light", "dark"]) {
  for (const [name, hash, text] of kViews) {
    test(`${name}, ${colorScheme}`, async () => {
      const page = await open(browser, server, hash, { colorScheme });
      await settle(page, text);
      await check(page);
      await page.setViewportSize({ width: 390, height: 844 });
      await check(page);
      assert.equal(await page.evaluate(() =>
        document.documentElement.scrollWidth > innerWidth), false, "wider than the screen");
      await page.context().close();
    });
  }

  test(`a question, ${colorScheme}`, async () => {
    const page = await open(browser, server, "#/lock/0/order:42", { colorScheme });
    await page.getByRole("button", { name: "Break this lock" }).click();
    await page.getByRole("dialog").waitFor();
    await check(page);
    await page.context().close();
  });
}
