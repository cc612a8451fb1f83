// The dashboard in a browser, with a server under load.
import assert from "node:assert/strict";
import http from "node:http";
import { after, before, test } from "node:test";
import { kViews, launch, open, settle, usePage } from "./browser.js";
import { Server, fillWithTrouble, kToken, noteFigure, startLoad, until } from "./server.js";

const kTransferMax = 150 * 1024;
const kEvil = "<img src=x onerror=alert(1)>";

let browser;
let server;
let stopLoad;
let endTrouble;

before(async () => {
  browser = await launch();
  server = await Server.start();
  endTrouble = await fillWithTrouble(server);
  stopLoad = await startLoad(server);
});

after(async () => {
  stopLoad();
  endTrouble();
  await browser.close();
  await server.stop();
});

const withPage = (hash, use, options) => usePage(browser, server, hash, use, options);

for (const [name, hash, text] of kViews) {
  test(`shows ${name}`, () => withPage(hash, async (page) => {
    await settle(page, text);
    assert.equal(await page.locator("table tbody tr, figure.chart, .roots > li").count() > 0, true);
    assert.equal(new URL(page.url()).hash.includes("token"), false);
    assert.equal(await page.locator("[role=alert]").count(), 0);
  }));
}

test("shows who blocks whom first", () => withPage("#/overview", async (page) => {
  const row = page.locator("tbody tr", { hasText: "order:42" });
  await row.waitFor();
  assert.match(await row.innerText(), /order:42\s+6\s+[\d.]+ m?s\s+worker-7\s/);
  await row.getByRole("link").click();
  await page.getByText("worker-7 has held it for").waitFor();
  const first = page.locator("section", { hasText: "Queue" }).locator("tbody tr").first();
  assert.match(await first.innerText(), /worker-8/);
  // Times keep counting between two answers.
  const left = page.locator("section", { hasText: "Holders" })
    .locator("td[data-name='Lease left']");
  const before_ = await left.first().innerText();
  await until("the lease runs", async () => await left.first().innerText() !== before_);
}));

async function firstView() {
  const page = await (await browser.newContext()).newPage();
  const sizes = [];
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  session.on("Network.loadingFinished", (event) => sizes.push(event.encodedDataLength));
  const began = Date.now();
  await page.goto(server.origin);
  await page.locator("tbody tr", { hasText: "order:42" }).waitFor();
  const took = Date.now() - began;
  const transferred = sizes.reduce((sum, size) => sum + size, 0);
  noteFigure("delays.first_view_ms", took);
  assert.ok(transferred <= kTransferMax, `${transferred} bytes`);
  await page.context().close();
}

test("the first view is small", firstView);

test("a lock is broken through the page, and a waiting redis-cli gets it", () =>
  withPage("", async (page) => {
    await server.cli("LOCK", "stuck:1", "hanging", "EX", "600");
    const waiting = server.cli("LOCK", "stuck:1", "next-one", "WAIT", "30s");
    await until("it waits",
      async () => await server.cli("POSITION", "stuck:1", "next-one") === "1");
    await page.evaluate(() => { location.hash = "#/lock/0/stuck:1"; });
    await page.getByRole("button", { name: "Break this lock" }).click();
    const dialog = page.getByRole("dialog");
    const said = await dialog.innerText();
    assert.match(said, /hanging loses stuck:1/);
    assert.match(said, /The next waiter, next-one, is granted it at once/);
    // The safe button has the focus.
    assert.equal(await page.evaluate(() => document.activeElement.innerText), "Cancel");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await server.cli("LOCKED", "stuck:1", "hanging"), "1");
    await page.getByRole("button", { name: "Break this lock" }).click();
    await dialog.getByLabel("Reason").fill("it hangs");
    await dialog.getByRole("button", { name: "Break lock" }).click();
    assert.match(await waiting, /^\d+$/);
    await page.getByText("1 hold of stuck:1 ended.").waitFor();
    await page.getByText("next-one has held it for").waitFor();
    await page.locator("tbody tr", { hasText: "“it hangs”" }).waitFor();
  }));

test("a library's lock is shown and broken as the library's", () => withPage("", async (page) => {
  const threads = [1, 2].map((n) => `b983c153-7421-469a-addb-44fb92259a1b:${n}`);
  await server.cli("HSET", "fair", threads[0], "1");
  await server.cli("RPUSH", "redisson_lock_queue:{fair}", threads[1]);
  await page.evaluate(() => { location.hash = "#/lock/0/fair"; });
  await page.getByText("1 owner holds it, with redisson. 1 owner is waiting; the first, " +
    `${threads[1]}.`).waitFor();
  const place = page.locator("section", { hasText: "Queue" }).locator("tbody tr");
  assert.equal(await place.getByRole("button").count(), 0, "nothing removes such a waiter");
  assert.match(await place.innerText(), /–\s/);
  await page.getByRole("button", { name: "Break this lock" }).click();
  const dialog = page.getByRole("dialog");
  const said = await dialog.innerText();
  assert.match(said, new RegExp(`${threads[0]} loses fair\\.`));
  assert.match(said, new RegExp(`${threads[1]} is notified and tries again`));
  await dialog.getByLabel("Reason").fill("it hangs");
  await dialog.getByRole("button", { name: "Break lock" }).click();
  await page.getByText("Nobody holds it. It is a lock of redisson. 1 owner is waiting").waitFor();
  await page.locator("tbody tr", { hasText: "“it hangs”" }).waitFor();
  await page.evaluate(() => { location.hash = "#/overview"; });
  const row = page.locator("tbody tr", { hasText: "fair" });
  await row.waitFor();
  assert.match(await row.innerText(), /fair\s+1\s+–\s+nobody\s+–/);
  await server.cli("DEL", "redisson_lock_queue:{fair}");
}));

test("who has come meanwhile is not broken", () => withPage("", async (page) => {
  await server.cli("LOCK", "swift:1", "hanging", "EX", "600");
  await page.evaluate(() => { location.hash = "#/lock/0/swift:1"; });
  await page.getByRole("button", { name: "Break this lock" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("hanging loses swift:1").waitFor();
  await server.cli("UNLOCK", "swift:1", "hanging");
  await server.cli("LOCK", "swift:1", "healthy", "EX", "600");
  await dialog.getByRole("button", { name: "Break lock" }).click();
  await page.getByText("Nothing to end").waitFor();
  assert.equal(await server.cli("LOCKED", "swift:1", "healthy"), "1");
}));

test("nobody is promised a lock that is drained", () => withPage("", async (page) => {
  await server.cli("LOCK", "calm:1", "holder", "EX", "600");
  const waiter = await server.connect();
  waiter.send("LOCK", "calm:1", "next-one", "WAIT", "100s");
  await until("it waits", async () => await server.cli("POSITION", "calm:1", "next-one") === "1");
  await server.cli("LIMIT", "SET", "calm:*", "0");
  await page.evaluate(() => { location.hash = "#/lock/0/calm:1"; });
  await page.getByText("It is drained").waitFor();
  await page.getByRole("button", { name: "Break this lock" }).click();
  const said = await page.getByRole("dialog").innerText();
  assert.match(said, /nobody is granted it while the override is in force/);
  assert.doesNotMatch(said, /at once/);
  await server.cli("LIMIT", "DEL", "calm:*");
  waiter.close();
}));

test("many holders and a long line are shown page by page", () => withPage("", async (page) => {
  const client = await server.connect();
  for (let n = 0; n < 130; ++n) client.send("LOCK", "many:1", `holder-${n}`, "LIMIT", 130);
  const waiters = [];
  await until("all hold it", async () => await server.cli("LOCKED", "many:1") === "130");
  for (let n = 0; n < 110; ++n) {
    waiters.push(await server.connect());
    waiters[n].send("LOCK", "many:1", `waiter-${n}`, "LIMIT", 130, "WAIT", "100s");
    if (n === 0 || n === 109) {
      await until("it waits",
        async () => await server.cli("POSITION", "many:1", `waiter-${n}`) !== "");
    }
  }
  await page.evaluate(() => { location.hash = "#/lock/0/many:1"; });
  await page.getByText("The first 100 holders; there are 30 more.").waitFor();
  await page.getByText("Waiters 1 to 100 of 110").waitFor();
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByText("Waiters 101 to 110 of 110").waitFor();
  await page.getByRole("button", { name: "Older", exact: true }).click();
  await page.getByRole("button", { name: "Newest" }).waitFor();
  await page.getByRole("button", { name: "Break this lock" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("30 holders that are not shown keep it.").waitFor();
  assert.equal(await dialog.locator("li").count(), 100);
  await dialog.getByRole("button", { name: "Break lock" }).click();
  await page.getByText("100 holds of many:1 ended.").waitFor();
  client.close();
  for (const waiter of waiters) waiter.close();
}));

test("a pattern is tried dry before it is broken", () => withPage("", async (page) => {
  for (let n = 0; n < 7; ++n) await server.cli("LOCK", `dry:${n}`, "o", "EX", "600");
  await page.evaluate(() => { location.hash = "#/locks?match=dry:*"; });
  await page.locator("tbody tr", { hasText: "dry:3" }).waitFor();
  // Without a database, or with other filters, it does not offer to break all matches.
  for (const more of ["", "&db=0&owner=o"]) {
    await page.evaluate((to) => { location.hash = to; }, `#/locks?match=dry:*${more}`);
    await page.getByText("filter by key and database only").waitFor();
    assert.equal(await page.getByRole("button", { name: "Break all" }).count(), 0);
  }
  await page.evaluate(() => { location.hash = "#/locks?match=dry:*&db=0"; });
  assert.equal(await page.locator("tbody tr").count(), 7);
  await page.getByRole("button", { name: "Break all matches" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("7 holds on 7 locks would end at once").waitFor();
  assert.equal(await dialog.locator("li").count(), 7);
  assert.equal(await server.cli("LOCKED", "dry:3"), "1");
  await dialog.getByRole("button", { name: "Break them all" }).click();
  await page.getByText("No lock matches this filter").waitFor();
  assert.equal(await server.cli("LOCKED", "dry:3"), "0");
}));

test("places, limits, clients and settings are steered", () => withPage("", async (page) => {
  const confirmBy = async (name) => page.getByRole("dialog").getByRole("button", { name }).click();
  const go = (hash) => page.evaluate((to) => { location.hash = to; }, hash);
  const client = await server.connect();
  await client.ask("CLIENT", "SETNAME", "to-be-closed");
  client.send("LOCK", "order:42", "leaver", "WAIT", "100s");
  await until("it waits", async () => await server.cli("POSITION", "order:42", "leaver") !== "");
  await go("#/lock/0/order:42");
  await page.getByRole("button", { name: "Remove leaver" }).click();
  await confirmBy("Remove");
  await until("it left", async () => await server.cli("POSITION", "order:42", "leaver") === "");
  await go("#/clients");
  const row = page.locator("tbody tr", { hasText: "to-be-closed" });
  await row.getByRole("button").click();
  await confirmBy("Close connection");
  await row.waitFor({ state: "detached" });
  client.close();
  await go("#/settings");
  await page.getByRole("button", { name: "Set a limit" }).click();
  await page.getByLabel("Key pattern").fill("quota:*");
  await page.getByLabel("Maximum holders per key").fill("0");
  await confirmBy("Set limit");
  await page.locator("tbody tr", { hasText: "quota:*" }).getByText("drained").waitFor();
  await page.getByRole("button", { name: "End the override of quota:*" }).click();
  await confirmBy("End override");
  await page.locator("tbody tr", { hasText: "quota:*" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Change max_clients", exact: true }).click();
  await page.getByLabel("New value").fill("lots");
  await confirmBy("Change");
  await page.getByRole("dialog").getByRole("alert").waitFor();
  await page.getByLabel("New value").fill("777");
  await confirmBy("Change");
  await page.locator("tbody tr", { hasText: "max_clients" }).getByText("777").waitFor();
}));

test("a key that looks like markup is text, everywhere", () => withPage("", async (page) => {
  page.on("dialog", () => page.faults.push("a script of a key has run"));
  const holder = await server.connect();
  await holder.ask("CLIENT", "SETNAME", "x\"><script>alert(2)</script>");
  await holder.ask("LOCK", kEvil, kEvil, "EX", 600, "META", kEvil);
  const waiter = await server.connect();
  waiter.send("LOCK", kEvil, `${kEvil}2`, "WAIT", "100s");
  await page.evaluate(() => { location.hash = "#/locks?sort=wait&match=*onerror*"; });
  await page.getByRole("link", { name: kEvil, exact: true }).click();
  await page.getByText(`${kEvil} has held it for`).waitFor();
  assert.equal(await page.locator("h1").innerText(), kEvil);
  await page.getByRole("button", { name: "Break this lock" }).click();
  await page.getByRole("dialog").getByText(`${kEvil} loses ${kEvil}`).waitFor();
  await page.keyboard.press("Escape");
  for (const hash of ["#/overview", "#/clients"]) {
    await page.evaluate((to) => { location.hash = to; }, hash);
    await page.getByText("onerror").first().waitFor();
  }
  assert.equal(await page.locator("main img, main script").count(), 0);
  holder.close();
  waiter.close();
}));

test("bytes that are no text can be broken too", () => withPage("", async (page) => {
  const holder = await server.connect();
  holder.socket.write(Buffer.from("*3\r\n$4\r\nLOCK\r\n$3\r\nb\xff\x01\r\n$1\r\no\r\n", "latin1"));
  await page.evaluate(() => { location.hash = "#/locks?match=b*&owner=o"; });
  await page.locator("tbody a.key").first().click();
  await page.getByRole("button", { name: "Break this lock" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Break lock" }).click();
  await page.getByText("Nobody holds it.").waitFor();
  holder.close();
}));

test("a filter that seldom fits leads on", () => withPage("", async (page) => {
  const client = await server.connect();
  for (let n = 0; n < 4000; ++n) client.send("LOCK", `bulk:${n}`, "bulk", "EX", 600);
  await until("they are held", async () => await server.cli("LOCKED", "bulk:3999") === "1");
  await server.cli("LOCK", "seldom:1", "rare", "EX", "600");
  await page.evaluate(() => { location.hash = "#/locks?sort=none&owner=rare"; });
  // Reads and clicks within one step of the page's script, so that no answer arrives in between. A
  // click before the next page is drawn would request the same page again.
  await until("the pages led to it", () => page.evaluate(() => {
    const find = (elements, text) =>
      [...document.querySelectorAll(elements)].find((one) => one.innerText.includes(text));
    if (find("tbody tr", "seldom:1")) return true;
    find("button", "Next page")?.click();
    return false;
  }));
  await page.locator("tbody tr", { hasText: "seldom:1" }).waitFor();
  for (let n = 0; n < 4000; ++n) client.send("UNLOCK", `bulk:${n}`, "bulk");
  await until("they are free", async () => await server.cli("LOCKED", "bulk:3999") === "0");
  client.close();
}));

test("what a client waits for leads to that lock, whatever its bytes are", () =>
  withPage("", async (page) => {
    const holder = await server.connect();
    const waiter = await server.connect();
    const key = "$5\r\nc \xff\x01\\\r\n";
    holder.socket.write(Buffer.from(`*3\r\n$4\r\nLOCK\r\n${key}$1\r\no\r\n`, "latin1"));
    waiter.send("CLIENT", "SETNAME", "of-bytes");
    waiter.socket.write(Buffer.from(
      `*5\r\n$4\r\nLOCK\r\n${key}$1\r\nw\r\n$4\r\nWAIT\r\n$4\r\n100s\r\n`, "latin1"));
    await page.evaluate(() => { location.hash = "#/clients?waiting=1"; });
    await page.locator("tbody tr", { hasText: "of-bytes" }).locator("a.key").click();
    await page.getByText("o has held it for").waitFor();
    assert.match(await page.title(), /^c \ufffd.+ · fairlock$/s);
    holder.close();
    waiter.close();
  }));

test("what is typed into a filter stays when the view is drawn anew", () => withPage("#/locks",
  async (page) => {
    await settle(page, "Held and awaited locks");
    const filter = page.getByLabel("Key matches");
    await filter.click();
    await page.keyboard.type("ord");
    for (let n = 0; n < 2; ++n) await page.waitForResponse(/api\/v1\/locks/);
    await page.keyboard.type("er:*");
    assert.equal(await filter.inputValue(), "order:*");
    await page.keyboard.press("Enter");
    await until("it is filtered", async () => await page.locator("tbody tr").count() === 1);
    await page.getByRole("link", { name: "Settings" }).click();
    await settle(page, "Overrides of LIMIT");
    await page.getByLabel("Find").fill("max_locks");
    await page.waitForResponse(/api\/v1\/settings/);
    assert.equal(await page.getByLabel("Find").inputValue(), "max_locks");
    await page.keyboard.press("Enter");
    await until("it is found", async () => /match=max_locks/.test(page.url()));
  }));

test("works by keyboard alone", () => withPage("#/overview", async (page) => {
  await settle(page, "Locks with waiters");
  await page.keyboard.press("2");
  await page.getByRole("heading", { level: 1, name: "Locks" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("order:*");
  await page.keyboard.press("Enter");
  await until("it is filtered", async () => await page.locator("tbody tr").count() === 1);
  for (let n = 0; n < 30; ++n) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.classList.contains("key"))) break;
  }
  await page.keyboard.press("Enter");
  await page.getByText("worker-7 has held it for").waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}));

test("without the token it looks, and does not act", async () => {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${server.origin}/#/lock/0/order:42`);
  const button = page.getByRole("button", { name: "Break this lock" });
  await button.waitFor();
  assert.equal(await button.isDisabled(), true);
  await page.getByRole("button", { name: "Access: read only" }).click();
  await page.getByLabel("Password or token").fill(kToken);
  await page.getByRole("button", { name: "Log in" }).click();
  await until("it may act", async () => !await button.isDisabled());
  assert.deepEqual(await page.context().cookies(), []);
  await page.context().close();
});

test("a server that others can reach shows nothing without the token", async () => {
  const open_ = await Server.start("--http-bind", "0.0.0.0");
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${open_.origin}/`);
  await page.getByRole("button", { name: "Enter credentials" }).click();
  await page.getByLabel("Password or token").fill(kToken);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("Nobody is waiting").first().waitFor();
  await page.context().close();
  await open_.stop();
});

test("a user says who he is and acts", async () => {
  const closed = await Server.start("--requirepass", "öpen sesame");
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${closed.origin}/`);
  await page.getByRole("button", { name: "Enter credentials" }).click();
  await page.getByLabel("User (leave empty to use the token)").fill("default");
  await page.getByLabel("Password or token").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("dialog").getByText("The user or password is wrong.").waitFor();
  // A wrong password is sent only once: repeating it would lock out every client at this address.
  await until("it is forgotten", () => page.evaluate(() => sessionStorage.length === 0));
  await page.getByLabel("User (leave empty to use the token)").fill("default");
  await page.getByLabel("Password or token").fill("öpen sesame");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("Nobody is waiting").first().waitFor();
  await page.goto(`${closed.origin}/#/settings`);
  await page.getByText("(hidden)").first().waitFor();
  await page.context().close();
  await closed.stop();
});

// Sends a request as a browser does when a page of another site has led it here.
function request(method, target, headers) {
  return new Promise((resolve, reject) => {
    http.request({ host: "127.0.0.1", port: server.httpPort, method, path: target, headers },
      (answer) => { answer.resume(); resolve(answer); }).on("error", reject).end();
  });
}

test("foreign hosts and origins are refused, for the page and for the API", async () => {
  for (const target of ["/", "/page.js", "/api/v1/locks"]) {
    assert.equal((await request("GET", target, { Host: "evil.example" })).statusCode, 421);
    const origin = { Host: `127.0.0.1:${server.httpPort}`, Origin: "http://evil.example" };
    assert.equal((await request("GET", target, origin)).statusCode, 403);
  }
  const page = await (await browser.newContext()).newPage();
  const other = await Server.start();
  await page.goto(other.origin);
  const outcome = await page.evaluate((url) =>
    fetch(url).then(() => "read", () => "refused"), `${server.origin}/api/v1/locks`);
  assert.equal(outcome, "refused");
  await page.context().close();
  await other.stop();
});

test("each file has the headers that keep it safe", async () => {
  for (const target of ["/", "/page.js", "/page.css", "/icon.svg"]) {
    const { headers, statusCode } = await request("GET", target, {});
    assert.equal(statusCode, 200);
    assert.match(headers["content-security-policy"], /^default-src 'self';/);
    assert.doesNotMatch(headers["content-security-policy"], /unsafe/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["x-frame-options"], "DENY");
    assert.equal(headers["set-cookie"], undefined);
    assert.equal(headers["content-encoding"], "gzip");
    const again = await request("GET", target, { "If-None-Match": headers.etag });
    assert.equal(again.statusCode, 304);
  }
});

test("it recovers when the server comes back", () => withPage("#/overview", async (page) => {
  await settle(page, "Locks with waiters");
  await server.halt();
  await page.getByText("No connection to the server").waitFor();
  await page.getByText("no connection", { exact: true }).waitFor();
  assert.equal(await page.locator("main.old").count(), 1);
  await server.run();
  await page.getByText("No connection to the server").waitFor({ state: "detached" });
  await page.getByText("ready", { exact: true }).waitFor();
}));

test("an empty server has an empty page that says so", async () => {
  const idle = await Server.start();
  const page = await open(browser, idle, "#/overview");
  await page.getByText("Every requested lock has been granted.").waitFor();
  for (const [hash, text] of [["#/locks", "No lock is held or waited for."],
    ["#/labels", "No events in this period"], ["#/settings", "No overrides"],
    ["#/lock/0/unknown", "There are no events"]]) {
    await page.evaluate((to) => { location.hash = to; }, hash);
    await page.getByText(text).waitFor();
  }
  await page.evaluate(() => { location.hash = "#/lock/99/k"; });
  await page.getByText("The data cannot be shown").waitFor();
  await page.context().close();
  await idle.stop();
});
