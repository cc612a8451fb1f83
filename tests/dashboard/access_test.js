// What the dashboard lets its user do, and how it asks for credentials.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { goTo, launch, usePage } from "./browser.js";
import { Server, kToken, until } from "./server.js";

let browser;
let server;

before(async () => {
  browser = await launch();
  server = await Server.start();
  await server.cli("LOCK", "order:42", "worker-7", "EX", "600");
});

after(async () => {
  await browser.close();
  await server.stop();
});

const withPage = (hash, use, options) => usePage(browser, server, hash, use, options);

async function openWithToken(token) {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${server.origin}/#token=${token}`);
  await page.evaluate(() => { location.hash = "#/lock/0/order:42"; });
  return page;
}

test("a wrong token in the address may not act, and says so", async () => {
  const page = await openWithToken("not-the-token-of-it");
  await page.getByRole("alert").getByText("Token refused: ").waitFor();
  // It says what to do.
  await page.getByRole("alert").getByText(/the file that its option http_token_file/).waitFor();
  await page.getByRole("button", { name: "Access: read only" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Break this lock" }).isDisabled(), true);
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  // Correct credentials replace the wrong ones.
  await page.getByRole("button", { name: "Enter credentials" }).click();
  await page.getByLabel("Password or token").fill("wrong-again");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("dialog").getByText("The token is wrong.").waitFor();
  assert.equal(await page.getByText("may act").count(), 0);
  await page.getByLabel("Password or token").fill(kToken);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Access: may act" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Break this lock" }).isDisabled(), false);
  await page.getByText("Token refused").waitFor({ state: "detached" });
  await page.context().close();
});

test("a token in the address of an open tab is taken, unless it is refused", async () => {
  const page = await (await browser.newContext()).newPage();
  const hash = "#/lock/0/order:42";
  await page.goto(`${server.origin}/${hash}`);
  await page.getByRole("button", { name: "Access: read only" }).waitFor();
  await goTo(page, "#token=not-the-token-of-it");
  await page.getByRole("alert").getByText("Token refused: ").waitFor();
  await page.getByRole("button", { name: "Access: read only" }).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await goTo(page, `#token=${kToken}`);
  await page.getByRole("button", { name: "Access: may act" }).waitFor();
  await page.getByText("This tab now uses the token of its address.").waitFor();
  await page.getByText("Token refused").waitFor({ state: "detached" });
  // The tab shows the same lock as before, and its address has no token.
  await page.getByRole("heading", { level: 1, name: "order:42" }).waitFor();
  assert.equal(await page.evaluate(() => location.hash), hash);
  // A refused token does not take the place of one that is valid.
  await goTo(page, "#token=another-wrong-one");
  await page.getByRole("alert").getByText("This tab keeps the credentials that it had.").waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Access: may act" }).waitFor();
  assert.equal(await page.evaluate(() => location.hash), hash);
  await page.context().close();
});

test("a server that shows nothing without the token says that it was refused", async () => {
  const closed = await Server.start("--http-bind", "0.0.0.0");
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${closed.origin}/#token=not-the-token-of-it`);
  await page.getByRole("alert").getByText("Token refused: ").waitFor();
  await goTo(page, `#token=${kToken}`);
  await page.getByText("Nobody is waiting").first().waitFor();
  assert.equal(await page.locator("[role=alert]").count(), 0);
  await page.context().close();
  await closed.stop();
});

test("a wrong token does not take the place of the right one", async () => {
  const page = await openWithToken(kToken);
  await page.getByRole("button", { name: "Access: may act" }).click();
  await page.getByLabel("Password or token").fill("wrong-again");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("dialog").getByText("The token is wrong.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Access: may act" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Access: may act" }).waitFor();
  await page.context().close();
});

test("a user may do what its permissions allow, and no more", async () => {
  const folder = fs.mkdtempSync(path.join(server.folder, "users-"));
  const users = path.join(folder, "users.acl");
  fs.writeFileSync(users, "user default on >boss ~* &* +@all\n" +
    "user medic on >medic ~* &* +@read +info +break\nuser guest on >guest ~* &* +@read +info\n");
  const closed = await Server.start("--acl-file", users);
  await closed.cli("-a", "boss", "--no-auth-warning", "LOCK", "order:42", "worker-7", "EX", "600");
  for (const [name, access, mayBreak] of [["medic", "may act", true],
    ["guest", "read only", false]]) {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${closed.origin}/#/lock/0/order:42`);
    await page.getByRole("button", { name: "Enter credentials" }).click();
    await page.getByLabel("User (leave empty to use the token)").fill(name);
    await page.getByLabel("Password or token").fill(name);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("button", { name: `Access: ${access}` }).waitFor();
    const button = page.getByRole("button", { name: "Break this lock" });
    await button.waitFor();
    assert.equal(await button.isEnabled(), mayBreak, name);
    if (!mayBreak) assert.match(await button.getAttribute("title"), /guest lacks permission/);
    await page.context().close();
  }
  await closed.stop();
});

test("only options that can change at run time offer it, each once", () =>
  withPage("#/settings", async (page) => {
    const rowOf = (name) => page.locator("tbody tr").filter({ has: page.locator("td").first()
      .getByText(name, { exact: true }) });
    await rowOf("port").waitFor();
    for (const [name, isChangeable] of [["port", false], ["data_dir", false], ["bind", false],
      ["durability", false], ["max_clients", true],
      ["max_locks_per_connection", true]]) {
      assert.equal(await rowOf(name).count(), 1, name);
      assert.equal(await rowOf(name).getByRole("button").count(), isChangeable ? 1 : 0, name);
    }
    assert.match(await rowOf("port").innerText(), /after a restart/);
    // The Redis name is shown next to the option's own name, not in a row of its own.
    assert.match(await rowOf("max_clients").innerText(), /Redis: maxclients/);
    const names = await page.getByRole("region", { name: "Options of the server" })
      .locator("tbody td[data-name='Option'] code").allInnerTexts();
    assert.equal(new Set(names).size, names.length);
    assert.equal(names.some((name) => ["maxclients", "unixsocket", "appendonly"].includes(name)),
      false);
    // The option is found by either name.
    await page.getByLabel("Find").fill("maxclients");
    await page.keyboard.press("Enter");
    await until("it is found", async () => await page.getByRole("region",
      { name: "Options of the server" }).locator("tbody tr").count() === 1);
    await page.getByText("(default: ").first().waitFor({ state: "detached" });
  }));

test("no field is marked as wrong before anybody typed", () =>
  withPage("#/settings", async (page) => {
    await page.getByRole("button", { name: "Set a limit" }).click();
    const border = (label) => page.getByLabel(label).evaluate((input) =>
      getComputedStyle(input).borderColor);
    const calm = await border("Reason");
    for (const label of ["Key pattern", "Database", "Maximum holders per key"]) {
      assert.equal(await border(label), calm, label);
    }
    // The field is marked invalid once a wrong value has been entered.
    await page.getByLabel("Maximum holders per key").fill("some");
    await page.getByLabel("Reason").focus();
    assert.notEqual(await border("Maximum holders per key"), calm);
    await page.keyboard.press("Escape");
    await goTo(page, "#/locks");
    await page.getByLabel("Waited at least").waitFor();
    assert.equal(await page.locator("[aria-invalid]").count(), 0);
  }));
