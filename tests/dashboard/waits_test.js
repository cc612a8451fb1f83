// How the page shows waits: the chain of one lock, and the tree of all waits.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { checkBothWidths } from "./axe.js";
import { goTo, launch, settle, usePage } from "./browser.js";
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
const treeOf = (page) => page.getByRole("list", { name: "Who waits for whom" });

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

test("the tree shows who blocks whom, the longest wait first", async () => {
  await ask("LOCK", "leaf", "middle", "EX", "600");
  await ask("LOCK", "top", "root", "EX", "600");
  await lockAndWait("top", "middle");
  await lockAndWait("leaf", "end");
  for (let n = 0; n < 8; ++n) await lockAndWait("leaf", `more-${n}`);
  await withPage("#/waits", async (page) => {
    await settle(page, "Who waits for whom");
    const root = treeOf(page).locator("> li", { hasText: /^root has held top/ });
    await root.waitFor();
    const said = (await root.innerText()).replace(/\s+/g, " ");
    assert.match(said, /^root has held top for [\d. hms]+ 10 owners wait /);
    assert.match(said, /middle waits for top, position 1 · holds leaf for [\d. hms]+ end waits/);
    assert.match(said, /end waits for leaf, position 1 [\d. hms]+ more-0 waits for leaf/);
    assert.match(said, /4 more owners wait for leaf$/);
    assert.equal(await page.locator("[role=alert]").count(), 0);
    // A wait leads to the lock, and to the chain of that waiter.
    await root.locator(".wait", { hasText: "more-1 waits for" })
      .getByRole("link", { name: "leaf" }).click();
    await chainOf(page).getByText("more-1 waits for leaf").waitFor();
    assert.match((await chainOf(page).innerText()).replace(/\s+/g, " "),
      /end is ahead: middle has held leaf for .*, and waits for top: root has held top for/);
    await goTo(page, "#/waits");
    await settle(page, "Who waits for whom");
    await checkBothWidths(page);
  });
  await withPage("#/overview", async (page) => {
    await page.getByRole("link", { name: "Who waits for whom" }).click();
    await treeOf(page).waitFor();
  });
  // By keyboard, it is the third view.
  await withPage("#/overview", async (page) => {
    await page.keyboard.press("3");
    await page.getByRole("heading", { level: 1, name: "Waits" }).waitFor();
  });
});

test("the tree of an empty server says so", async () => {
  const idle = await Server.start();
  await usePage(browser, idle, "#/waits", async (page) => {
    await page.getByRole("heading", { level: 1, name: "Waits" }).waitFor();
    await page.getByText("Every requested lock has been granted.").waitFor();
    await goTo(page, "#/lock/0/free");
    await page.getByText("Nobody is waiting").first().waitFor();
    assert.equal(await chainOf(page).count(), 0);
  });
  await idle.stop();
});

test("a user sees the chain as far as it may read", async () => {
  const folder = fs.mkdtempSync(path.join(server.folder, "users-"));
  const users = path.join(folder, "users.acl");
  fs.writeFileSync(users, "user default on >boss ~* &* +@all owner:*\n" +
    "user guest on >guest ~open:* &* +@read +info\n");
  const closed = await Server.start("--acl-file", users);
  const send = async (...words) => {
    const client = await closed.connect();
    clients.push(client);
    await client.ask("AUTH", "boss");
    client.send(...words);
  };
  const boss = ["-a", "boss", "--no-auth-warning"];
  const waits = (key, owner) => until(`${owner} waits`, async () =>
    /^\d+$/.test(await closed.cli(...boss, "POSITION", key, owner)));
  await closed.cli(...boss, "LOCK", "secret:1", "hidden", "EX", "600");
  await closed.cli(...boss, "LOCK", "open:1", "holder", "EX", "600");
  await send("LOCK", "secret:1", "holder", "WAIT", "30m");
  await waits("secret:1", "holder");
  await send("LOCK", "open:1", "reader", "WAIT", "30m");
  await waits("open:1", "reader");
  await send("MLOCK", 2, "open:2", "secret:1", "both", "WAIT", "30m");
  await waits("open:2", "both");
  await send("LOCK", "open:2", "behind", "WAIT", "30m");
  await waits("open:2", "behind");
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${closed.origin}/#/lock/0/open:1`);
  await page.getByRole("button", { name: "Enter credentials" }).click();
  await page.getByLabel("User (leave empty to use the token)").fill("guest");
  await page.getByLabel("Password or token").fill("guest");
  await page.getByRole("button", { name: "Log in" }).click();
  await chainOf(page).getByText("holder has held open:1 for").waitFor();
  assert.doesNotMatch(await chainOf(page).innerText(), /secret/);
  await goTo(page, "#/lock/0/open:2?why=behind");
  await chainOf(page).getByText("both is ahead and waits for open:2 and 1 more as one").waitFor();
  await goTo(page, "#/waits");
  await treeOf(page).getByText("reader waits for open:1").waitFor();
  assert.doesNotMatch(await page.innerText("main"), /secret|hidden/);
  assert.equal(await page.locator("[role=alert]").count(), 0);
  await goTo(page, "#/lock/0/secret:1");
  await page.getByText("The data cannot be shown").waitFor();
  await page.context().close();
  await closed.stop();
});
