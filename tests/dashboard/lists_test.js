// Filters, sorting and selection of locks, in a browser.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { column, goTo, launch, usePage } from "./browser.js";
import { Server, until } from "./server.js";

const kPhone = { viewport: { width: 390, height: 844 } };

let browser;
let server;
let holder;

before(async () => {
  browser = await launch();
  server = await Server.start();
  holder = await server.connect();
  await holder.ask("CLIENT", "SETNAME", "the-holder");
  for (const [key, owner, limit] of [["b:1", "zoe", 3], ["a:2", "ann", 1], ["c:3", "max", 2]]) {
    for (let n = 0; n < limit; ++n) {
      await holder.ask("LOCK", key, n ? `${owner}-${n}` : owner, "EX", 3600, "LIMIT", limit,
        "LABEL", `label-${key[0]}`);
    }
  }
});

after(async () => {
  holder.close();
  await browser.close();
  await server.stop();
});

const withPage = (hash, use, options) => usePage(browser, server, hash, use, options);

async function shows(page, name, texts) {
  await until(`${name} is ${texts}`, async () => (await column(page, name)).join() === texts);
}

const header = (page, name) => page.getByRole("columnheader", { name });

test("a filter that cannot be used shows an error and no rows", () =>
  withPage("#/locks", async (page) => {
    await page.locator("tbody tr").nth(2).waitFor();
    await page.getByLabel("Waited at least").fill("abc");
    await page.keyboard.press("Enter");
    await page.getByText("Invalid filter").waitFor();
    assert.equal(await page.locator("tbody tr").count(), 0);
    assert.match(await page.getByRole("alert").innerText(), /abc/);
    assert.match(await page.getByRole("alert").innerText(), /waiting/i);
    const field = page.getByLabel("Waited at least");
    assert.equal(await field.getAttribute("aria-invalid"), "true");
    await page.getByText("Not a time like 10s or 5m").waitFor();
    // Polling does not bring the rows back.
    await page.waitForResponse(/api\/v1\/locks/);
    assert.equal(await page.locator("tbody tr").count(), 0);
    await field.fill("0");
    await page.keyboard.press("Enter");
    await page.getByText("No lock matches this filter").waitFor();
    await field.fill("");
    await page.keyboard.press("Enter");
    await page.locator("tbody tr").nth(2).waitFor();
    for (const query of ["db=99", "sort=size", "waiting=5y", "held=-1s", "count=0"]) {
      await goTo(page, `#/locks?${query}`);
      await page.getByText("Invalid filter").waitFor();
      assert.equal(await page.locator("tbody tr").count(), 0, query);
      await goTo(page, "#/locks");
      await page.locator("tbody tr").nth(2).waitFor();
    }
    for (const [hash, text] of [["#/labels?minutes=0", "minutes"],
      ["#/clients?after=x", "after"]]) {
      await goTo(page, hash);
      await page.getByRole("alert").getByText(text).waitFor();
      assert.equal(await page.locator("tbody tr").count(), 0, hash);
    }
  }));

test("a header sorts all locks, and the other way round when it is pressed again", () =>
  withPage("#/locks", async (page) => {
    await page.locator("tbody tr").nth(2).waitFor();
    const press = (name) => page.getByRole("button", { name, exact: true }).click();
    await press("Lock");
    await shows(page, "Lock", "a:2,b:1,c:3");
    assert.equal(await header(page, "Lock").getAttribute("aria-sort"), "ascending");
    assert.equal(await header(page, "Holders").getAttribute("aria-sort"), "none");
    await press("Lock");
    await shows(page, "Lock", "c:3,b:1,a:2");
    assert.equal(await header(page, "Lock").getAttribute("aria-sort"), "descending");
    await press("Holders");
    await shows(page, "Lock", "b:1,c:3,a:2");
    assert.equal(await header(page, "Holders").getAttribute("aria-sort"), "descending");
    await press("First holder");
    await shows(page, "First holder", "ann,max,zoe");
    await press("Label");
    await shows(page, "Label", "label-a,label-b,label-c");
    // The order survives a reload. The server computes it, so this row comes first among all locks,
    // not only among those on the page.
    await goTo(page, "#/locks?sort=key&reverse=1&count=1");
    await shows(page, "Lock", "c:3");
    await page.reload();
    await shows(page, "Lock", "c:3");
  }));

test("labels, clients and options are sorted by their headers too", () =>
  withPage("#/labels", async (page) => {
    await shows(page, "Acquired", "1,3,2");
    await page.getByRole("button", { name: "Acquired", exact: true }).click();
    await shows(page, "Acquired", "3,2,1");
    // The total stays at the bottom.
    assert.match(await page.locator("tfoot tr").innerText(), /^Total\s+6/);
    await page.getByRole("button", { name: "Acquired", exact: true }).click();
    await shows(page, "Acquired", "1,2,3");
    await goTo(page, "#/clients");
    await page.locator("tbody tr", { hasText: "the-holder" }).waitFor();
    await page.getByRole("button", { name: "Name", exact: true }).click();
    await until("names first", async () => (await column(page, "Name"))[0].startsWith("http"));
    await page.getByRole("button", { name: "Name", exact: true }).click();
    await until("the other way", async () => (await column(page, "Name"))[0] === "the-holder");
    await goTo(page, "#/settings");
    await page.locator("tbody tr", { hasText: "acl_file" }).first().waitFor();
    await page.getByRole("button", { name: "Option", exact: true }).click();
    await until("options", async () => (await column(page, "Option"))[0].startsWith("acl_file"));
  }));

test("selected locks are tried dry and then broken, and no others", () =>
  withPage("", async (page) => {
    for (const n of [1, 2, 3, 4]) {
      await server.cli("LOCK", `sel:${n}`, `owner-${n}`, "EX", "600");
    }
    const waiter = await server.connect();
    waiter.send("LOCK", "sel:1", "next-one", "WAIT", "100s");
    await until("it waits",
      async () => await server.cli("POSITION", "sel:1", "next-one") === "1");
    await goTo(page, "#/locks?match=sel:*&sort=key");
    await page.getByLabel("Select sel:1").check();
    await page.getByLabel("Select sel:2").check();
    await page.getByLabel("Select sel:4").check();
    await page.getByText("3 selected").waitFor();
    // The list is frozen: no request is sent meanwhile.
    let asked = 0;
    page.on("request", (request) => { asked += /v1\/locks\?/.test(request.url()); });
    await page.waitForTimeout(3500);
    assert.equal(asked, 0);
    // Changes made between the selection and the break are respected.
    await server.cli("UNLOCK", "sel:2", "owner-2");
    await page.getByRole("button", { name: "Break selected" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("2 holds on 2 locks would end at once").waitFor();
    await dialog.getByText("1 selected lock is not held").waitFor();
    assert.match(await dialog.locator("li").first().innerText(),
      /^sel:1: owner-1 \(for .+\); next next-one$/);
    assert.equal(await dialog.locator("li").count(), 2);
    assert.equal(await server.cli("LOCKED", "sel:1", "owner-1"), "1");
    // A new owner has taken sel:4 meanwhile, and keeps it.
    await server.cli("UNLOCK", "sel:4", "owner-4");
    await server.cli("LOCK", "sel:4", "healthy", "EX", "600");
    await dialog.getByLabel("Reason").fill("both hang");
    await dialog.getByRole("button", { name: "Break them" }).click();
    await page.getByText("1 hold ended. 1 hold had already ended.").waitFor();
    assert.equal(await server.cli("LOCKED", "sel:1", "next-one"), "1");
    assert.equal(await server.cli("LOCKED", "sel:3", "owner-3"), "1");
    assert.equal(await server.cli("LOCKED", "sel:4", "healthy"), "1");
    assert.match(await server.cli("HISTORY", "sel:1", "COUNT", "2"), /both hang/);
    // The selection is cleared, and the list updates again.
    await page.getByText("selected", { exact: false }).waitFor({ state: "detached" });
    await page.waitForResponse(/v1\/locks\?/);
    waiter.close();
  }));

test("all that are shown are selected at once, and cleared again", () =>
  withPage("#/locks?sort=key", async (page) => {
    await page.locator("tbody tr").nth(2).waitFor();
    const all = await page.locator("tbody tr").count();
    await page.getByLabel("Select all shown").check();
    await page.getByText(`${all} selected`).waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    assert.equal(await page.locator("tbody input:checked").count(), 0);
  }));

test("a filter applies by itself soon after the last key, and is one step back", () =>
  withPage("#/overview", async (page) => {
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await goTo(page, "#/locks?sort=key");
    await page.locator("tbody tr").nth(2).waitFor();
    const field = page.getByLabel("Key matches");
    await field.pressSequentially("b:1");
    await shows(page, "Lock", "b:1");
    assert.match(page.url(), /match=b/);
    // What is typed goes on in the same field.
    assert.equal(await field.inputValue(), "b:1");
    assert.equal(await field.evaluate((one) => one === document.activeElement), true);
    await field.press("Backspace");
    await field.pressSequentially("*");
    await until("the next text", async () => /match=b%3A\*/.test(page.url()));
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  }));

test("clients are found by their names and addresses, on all pages", () =>
  withPage("", async (page) => {
    const named = [];
    const connect = async (name) => {
      const client = await server.connect();
      await client.ask("CLIENT", "SETNAME", name);
      named.push(client);
      return client;
    };
    await connect("web-1");
    await connect("web-2");
    const job = await connect("job-1");
    for (let n = 0; n < 220; ++n) named.push(await server.connect());
    await connect("far-away");
    await goTo(page, "#/clients");
    await page.locator("tbody tr", { hasText: "web-1" }).waitFor();
    await page.getByLabel("Name contains").fill("WEB");
    await shows(page, "Name", "web-1,web-2");
    await page.getByLabel("Name contains").fill("far");
    await shows(page, "Name", "far-away");
    await page.getByLabel("Name contains").fill("");
    await page.getByLabel("Address contains").fill(`127.0.0.1:${job.socket.localPort}`);
    await shows(page, "Name", "job-1");
    await page.getByLabel("only waiting").check();
    await page.getByText("No connection matches this filter.").waitFor();
    named.forEach((client) => client.close());
  }));

test("on a phone a lock has three lines, and filters are folded", () =>
  withPage("#/locks?match=b:1", async (page) => {
    const card = page.locator("tbody tr").first();
    await card.waitFor();
    const bottoms = await card.evaluate((row) => [...row.querySelectorAll("td")]
      .map((cell) => cell.getBoundingClientRect()).filter((box) => box.height > 0)
      .map((box) => box.bottom).sort((a, b) => a - b));
    const lines = bottoms.filter((bottom, n) => n === 0 || bottom - bottoms[n - 1] > 8);
    assert.equal(lines.length, 3, String(bottoms));
    assert.ok((await card.boundingBox()).height < 100);
    // Numbers have labels, and empty fields are omitted.
    const cell = (name) => card.locator(`td[data-name="${name}"]`);
    assert.equal(await cell("Holders").innerText(), "3 of 3");
    assert.match(await cell("Holders").evaluate((one) =>
      getComputedStyle(one, "::before").content), /Holders/);
    assert.equal(await cell("Longest wait").isVisible(), false);
    assert.equal(await page.getByRole("columnheader").count(), 0);
    const filter = page.getByLabel("Key matches");
    assert.equal(await filter.isVisible(), false);
    await page.getByRole("button", { name: "Filters (1 set)" }).click();
    assert.equal(await filter.isVisible(), true);
    await filter.fill("");
    await page.keyboard.press("Enter");
    await until("all are shown", async () => await page.locator("tbody tr").count() > 2);
    await page.getByLabel("Sort by").selectOption({ label: "Lock, Z to A" });
    await until("they are sorted", async () => /sort=key&reverse=1/.test(page.url()));
    assert.equal(await page.evaluate(() =>
      document.documentElement.scrollWidth > innerWidth), false);
  }, kPhone));
