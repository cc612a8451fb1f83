// Debian's Chromium, driven by playwright-core.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { kToken } from "./server.js";

export const kViews = [
  ["overview", "#/overview", "Locks with waiters"],
  ["locks", "#/locks", "Held and awaited locks"],
  ["lock", "#/lock/0/order:42", "Holders"],
  ["waits", "#/waits", "Who waits for whom"],
  ["events", "#/events", "Events, newest first"],
  ["labels", "#/labels", "By label"],
  ["label", "#/label/shop", "By minute"],
  ["clients", "#/clients", "Connections"],
  ["settings", "#/settings", "Overrides of LIMIT"],
];

export function launch() {
  // Uses a new folder for the user data, and removes it afterwards.
  return chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

// Opens a page of this server. The page must send requests only to it: `foreign` lists any others.
export async function open(browser, server, hash = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  const page = await context.newPage();
  page.foreign = [];
  page.faults = [];
  page.on("request", (request) => {
    const isOurs = request.url().startsWith(server.origin);
    if (!isOurs && !request.url().startsWith("data:")) page.foreign.push(request.url());
  });
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/ERR_CONNECTION|status of (4|503)/.test(message.text())) {
      page.faults.push(message.text());
    }
  });
  await page.goto(`${server.origin}/#token=${kToken}`);
  await page.waitForSelector("h1");
  if (hash) await page.evaluate((to) => { location.hash = to; }, hash);
  return page;
}

// Opens a page for one test, which fails on a request to another server or on a script error.
export async function usePage(browser, server, hash, use, options = {}) {
  const page = await open(browser, server, hash, options);
  try {
    await use(page);
    assert.deepEqual(page.foreign, []);
    assert.deepEqual(page.faults, []);
  } catch (error) {
    error.message += `\nThe page, ${page.url()}:\n${await page.innerText("body")}`;
    throw error;
  } finally {
    await page.context().close();
  }
}

export const goTo = (page, hash) => page.evaluate((to) => { location.hash = to; }, hash);

// The texts of a column's cells, from top to bottom.
export const column = (page, name) =>
  page.locator(`tbody td[data-name="${name}"]`).allInnerTexts();

// Waits until the view shows its content.
export async function settle(page, text) {
  await page.getByRole("region", { name: text, exact: false }).first()
    .or(page.locator("section.panel", { hasText: text }).first()).first().waitFor();
  await page.waitForSelector(".skeleton", { state: "detached" });
}
