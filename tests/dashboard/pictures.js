// Makes the pictures in docs/DASHBOARD.md: each view in light and dark, wide and narrow. Takes five
// minutes, so that the charts have a few minutes to show. Needs Debian's pngquant.
//
//     FAIRLOCKD=build/release/bin/fairlockd node tests/dashboard/pictures.js docs/pictures
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { kViews, launch, open, settle } from "./browser.js";
import { Server, fillWithChain, fillWithTrouble, startLoad } from "./server.js";

const kRunMs = Number(process.env.PICTURES_AFTER_MS || 280000);
const kSizes = { 1440: { width: 1440, height: 900 }, 390: { width: 390, height: 844 } };
const kColors = "48";

const folder = path.resolve(process.argv[2] || "docs/pictures");

async function shoot(page, name) {
  // Rates per second need two answers, and new events must lose their highlight.
  await page.waitForTimeout(4500);
  const file = path.join(folder, `${name}.png`);
  await page.screenshot({ path: file });
  execFileSync("pngquant", ["--force", "--strip", "--speed", "1", "--nofs", "--output", file,
    kColors, file]);
  console.log(name, fs.statSync(file).size);
}

async function shootViews(browser, server, colorScheme, width) {
  const page = await open(browser, server, "", { colorScheme, viewport: kSizes[width] });
  for (const [name, hash, text] of kViews) {
    await page.evaluate((to) => { location.hash = to; }, hash);
    await settle(page, text);
    await shoot(page, `${name}-${colorScheme}-${width}`);
  }
  await page.context().close();
}

// The dry run that is shown before several locks are broken.
async function shootSelection(browser, server) {
  const page = await open(browser, server, "#/locks?sort=wait", { viewport: kSizes[1440] });
  for (const key of ["order:42", "report:daily", "api:maps"]) {
    await page.getByLabel(`Select ${key}`).check();
  }
  await page.getByRole("button", { name: "Break selected" }).click();
  await page.getByRole("dialog").getByText("would end at once").waitFor();
  await shoot(page, "selection-light-1440");
  await page.context().close();
}

// A chain that leads to another lock.
async function shootChain(browser, server) {
  const page = await open(browser, server, "#/lock/0/schema?why=migrate-8",
    { viewport: kSizes[1440] });
  await settle(page, "Why it waits");
  await shoot(page, "chain-light-1440");
  await page.context().close();
}

fs.mkdirSync(folder, { recursive: true });
const browser = await launch();
const server = await Server.start();
const ends = [await fillWithTrouble(server), await fillWithChain(server), await startLoad(server)];
try {
  await sleep(kRunMs);
  await shootSelection(browser, server);
  await shootChain(browser, server);
  for (const colorScheme of ["light", "dark"]) {
    for (const width of Object.keys(kSizes)) {
      await shootViews(browser, server, colorScheme, width);
    }
  }
} finally {
  ends.forEach((end) => end());
  await browser.close();
  await server.stop();
}
