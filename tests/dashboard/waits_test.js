// Who waits for whom: the chain on a lock's page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkBothWidths } from "./axe.js";
import { launch, settle, usePage } from "./browser.js";
import { Server, until } from "./server.js";

let browser;
let server;
const clients = [];

before(async () => {
  browser = await launch();
  server = await Server.start();
});

after(async () => {
  clients.forEach((client) => client.close());
  await browser.close();
  await server.stop();
});

const withPage = (hash, use, options) => usePage(browser, server, hash, use, options);

async function ask(...words) {
  clients.push(await server.connect());
  await clients.at(-1).ask(...words);
}

// Sends a request that waits, and returns when it has a place.
async function wait(key, owner, ...words) {
  clients.push(await server.connect());
  clients.at(-1).send(...words);
  await until(`${owner} waits`, async () =>
    /^\d+$/.test(await server.cli("POSITION", key, owner)));
}

const lockAndWait = (key, owner) => wait(key, owner, "LOCK", key, owner, "WAIT", "30m");

const chainOf = (page) => page.getByRole("region", { name: "Why it waits" });

test("a lock's page explains why its first waiter waits, up to the root", async () => {
  await ask("LOCK", "node-120", "job1", "EX", "600");
  await wait("node-110", "job2", "MLOCK", 2, "node-110", "node-120", "job2", "WAIT", "30m");
  await lockAndWait("node-110", "job3");
  await withPage("#/lock/0/node-110", async (page) => {
    await settle(page, "Why it waits");
    const said = await chainOf(page).innerText();
    assert.match(said, /job2 waits for node-110 and node-120 as one, for [\d. hms]+:/);
    assert.match(said, /job1 has held node-120 for [\d. hms]+, lease left 9 m \d\d s, from 127/);
    // The chain of another waiter, by its button.
    await page.getByRole("button", { name: "Why job3 waits" }).click();
    await chainOf(page).getByText("job3 waits for node-110").waitFor();
    assert.match(await chainOf(page).innerText(),
      /job2 is ahead and waits for node-110 and node-120 as one:\s+job1 has held node-120 for/);
    assert.match(page.url(), /why=job3/);
    await checkBothWidths(page);
    // It leads to the other lock, and to what the owner holds.
    await chainOf(page).getByRole("link", { name: "node-120" }).first().click();
    await page.getByRole("heading", { level: 1, name: "node-120" }).waitFor();
    await chainOf(page).getByText("job1 has held node-120").waitFor();
    await chainOf(page).getByRole("link", { name: "job1" }).click();
    await page.getByRole("heading", { level: 1, name: "Locks" }).waitFor();
    await until("its locks", async () => /owner=job1/.test(page.url()));
  });
});

test("a chain goes through holders that wait themselves, with few requests", async () => {
  for (let n = 0; n < 12; ++n) {
    await ask("LOCK", `step:${n}`, `owner-${n}`, "EX", "600");
    if (n > 0) await lockAndWait(`step:${n - 1}`, `owner-${n}`);
  }
  await lockAndWait("step:11", "last");
  await withPage("#/lock/0/step:11", async (page) => {
    await settle(page, "Why it waits");
    await chainOf(page).getByText(/owner-10 has held step:10 for .*, and waits for step:9/)
      .first().waitFor();
    await chainOf(page).getByText("The chain is longer than what is shown").waitFor();
    // Each refresh asks for the status once; for the lock itself once, and for its chain.
    const asked = { status: 0, locks: 0 };
    page.on("request", (request) => {
      const [, name] = /v1\/(status|locks)/.exec(request.url()) || [];
      if (name) ++asked[name];
    });
    await until("three refreshes", () => asked.status >= 3);
    assert.ok(asked.locks > asked.status && asked.locks <= 17 * (asked.status + 1),
      JSON.stringify(asked));
  });
});
