// The feed of lock events, in a browser.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { column, goTo, launch, usePage } from "./browser.js";
import { Server, until } from "./server.js";

const kFeed = "Events, newest first";

let browser;
let server;

before(async () => {
  browser = await launch();
  server = await Server.start();
});

after(async () => {
  await browser.close();
  await server.stop();
});

const withPage = (hash, use, options) => usePage(browser, server, hash, use, options);
const row = (page, text) => page.locator("tbody tr", { hasText: text });

test("what happens appears by itself, of every database, and is marked as new", () =>
  withPage("#/events", async (page) => {
    await server.cli("LOCK", "feed:old", "worker-1", "EX", "600");
    await row(page, "feed:old").waitFor();
    await server.cli("-n", "3", "LOCK", "feed:new", "worker-2", "EX", "600");
    await row(page, "feed:new").waitFor();
    await until("it is marked",
      async () => /fresh/.test(await row(page, "feed:new").getAttribute("class")), 2);
    assert.match(await row(page, "feed:new").innerText(),
      /\d\d:\d\d:\d\d\.\d{3}\s+granted\s+feed:newdb 3\s+worker-2\s/);
    // The newest event is first.
    assert.match((await column(page, "Lock"))[0], /feed:new/);
    await page.getByText("Live", { exact: true }).waitFor();
    await row(page, "feed:new").getByRole("link").click();
    await page.getByText("worker-2 has held it for").waitFor();
  }));

test("it is filtered by key, owner, database and kind", () => withPage("", async (page) => {
  await server.cli("LOCK", "pick:a", "worker-1", "EX", "600");
  await server.cli("LOCK", "pick:b", "worker-2", "EX", "600");
  await server.cli("-n", "2", "LOCK", "pick:c", "worker-1", "EX", "600");
  await server.cli("LOCK", "pick:a", "impatient");
  await server.cli("BREAK", "pick:b", "REASON", "it hangs");
  await server.cli("LOCK", "other:a", "worker-1", "EX", "600");
  const shows = async (hash, keys) => {
    await goTo(page, hash);
    await until(`${hash} shows ${keys}`, async () =>
      (await column(page, "Lock")).map((text) => text.replace(/\s*db \d/, "")).join() === keys);
  };
  await shows("#/events?match=pick:*", "pick:b,pick:a,pick:c,pick:b,pick:a");
  await shows("#/events?match=pick:*&db=2", "pick:c");
  await shows("#/events?match=pick:*&owner=worker-1", "pick:c,pick:a");
  await shows("#/events?match=pick:*&event=broken,denied", "pick:b,pick:a");
  await row(page, "broken").getByText("“it hangs”").waitFor();
  // The same filters, entered by hand.
  await goTo(page, "#/events");
  await page.getByRole("combobox", { name: "Events" }).selectOption({ label: "broken" });
  await until("only what was broken",
    async () => (await column(page, "Event")).join() === "broken");
  assert.match(page.url(), /event=broken/);
  await page.getByLabel("Key matches").fill("nobody:*");
  await page.keyboard.press("Enter");
  await page.getByText("No event matches this filter").waitFor();
}));

test("older events are found page by page, and what few pass too", () =>
  withPage("", async (page) => {
    await server.cli("LOCK", "rare:1", "seldom", "EX", "600");
    const client = await server.connect();
    for (let n = 0; n < 60; ++n) {
      client.send("LOCK", `many:${n}`, "busy", "EX", 600);
      client.send("UNLOCK", `many:${n}`, "busy");
    }
    await until("all is done", () => client.answered >= 120);
    await goTo(page, "#/events?owner=busy");
    await until("the first page", async () => (await column(page, "Lock")).length === 100);
    assert.equal((await column(page, "Lock"))[0], "many:59");
    await page.getByRole("button", { name: "Older", exact: true }).click();
    await until("the second page", async () => (await column(page, "Lock")).length === 20);
    await page.getByText("Older events").waitFor();
    await page.getByRole("button", { name: "Newest" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    await goTo(page, "#/events?match=rare:*");
    await row(page, "rare:1").waitFor();
    assert.equal((await column(page, "Lock")).length, 1);
    client.close();
  }));

test("a filter that the server refuses shows why, and no events", () =>
  withPage("#/events", async (page) => {
    await page.locator("tbody tr").first().waitFor();
    await goTo(page, "#/events?event=exploded");
    await page.getByText("Invalid filter").waitFor();
    await page.getByText(/event is 'exploded'; allowed values, separated by commas: granted/)
      .waitFor();
    assert.equal(await page.locator("tbody tr").count(), 0);
    await goTo(page, "#/events?db=77");
    await page.getByText("Not a number from 0 to 15").waitFor();
    assert.equal(await page.locator("tbody tr").count(), 0);
    await goTo(page, "#/events");
    await page.getByRole("region", { name: kFeed }).locator("tbody tr").first().waitFor();
  }));

test("keys of markup and of bytes are text, and lead to their locks", () =>
  withPage("#/events", async (page) => {
    const client = await server.connect();
    client.send("LOCK", "<img src=x onerror=alert(1)>", "<b>o</b>", "EX", 600);
    client.socket.write(Buffer.from("*3\r\n$4\r\nLOCK\r\n$3\r\nz\xff\x01\r\n$1\r\no\r\n",
      "latin1"));
    await row(page, "onerror").waitFor();
    assert.equal(await page.locator("main img, main b").count(), 0);
    await page.locator("tbody tr", { hasText: "z\ufffd" }).getByRole("link").click();
    await page.getByText("o has held it for").waitFor();
    client.close();
  }));

test("events are limited to a time, on a lock's page too", () =>
  withPage("", async (page) => {
    await server.cli("LOCK", "time:1", "worker-1", "EX", "600");
    await goTo(page, "#/events?match=time:*&since=2s");
    await page.getByText("No event matches this filter").waitFor();
    await page.getByRole("combobox", { name: "Time" }).selectOption({ label: "last 10 minutes" });
    await row(page, "time:1").waitFor();
    assert.match(page.url(), /match=time.*since=10m/);
    await goTo(page, "#/lock/0/time:1?since=2s");
    await page.getByText("There are no events in this period").waitFor();
    await page.getByRole("combobox", { name: "Time" }).selectOption({ label: "last 24 hours" });
    await page.getByRole("region", { name: "Events of this lock" }).getByText("granted").waitFor();
  }));

test("a paused list stays as it is, and says how many events have come since", () =>
  withPage("#/events", async (page) => {
    const since = page.locator(".news");
    const locks = async (...keys) => {
      for (const key of keys) await server.cli("LOCK", key, "worker-1", "EX", "600");
    };
    await locks("pause:old");
    await row(page, "pause:old").waitFor();
    await page.getByRole("button", { name: "Pause the list" }).click();
    await page.getByText("Paused", { exact: true }).waitFor();
    await since.getByText("0 events have come since").waitFor();
    await locks("pause:1", "pause:2", "pause:3");
    await since.getByText("3 events have come since").waitFor();
    assert.equal(await row(page, "pause:1").count(), 0);
    await page.getByRole("button", { name: "Resume the list" }).click();
    await row(page, "pause:3").waitFor();
    assert.equal(await since.count(), 0);
    // With a filter, only what matches it counts.
    await goTo(page, "#/events?match=pause:*");
    await until("only these", async () => (await column(page, "Lock")).length === 4);
    await page.keyboard.press("p");
    await locks("pause:4", "other:1");
    await since.getByText("1 event has come since").waitFor();
    // What is filtered meanwhile is shown as it is now.
    await page.getByLabel("Key matches").fill("other:1");
    await page.keyboard.press("Enter");
    await row(page, "other:1").waitFor();
    await page.getByText("Paused", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Resume the list" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
  }));

test("thousands of events a second leave the list short, drawn once a second, and pausable", () =>
  withPage("#/events", async (page) => {
    const client = await server.connect();
    const timer = setInterval(() => {
      for (let n = 0; n < 50; ++n) {
        client.send("LOCK", `flood:${n}`, "busy", "EX", 600);
        client.send("UNLOCK", `flood:${n}`, "busy");
      }
    }, 50);
    try {
      await page.getByText(/These 100 events are of \d+ m?s: filter them, or pause/).waitFor();
      await page.evaluate(() => {
        window.drawn = 0;
        new MutationObserver(() => { ++window.drawn; }).observe(document.querySelector("main"),
          { childList: true, subtree: true });
      });
      let answers = 0;
      page.on("response", (response) => { answers += /v1\/history/.test(response.url()); });
      await until("some answers", () => answers >= 4);
      const drawn = await page.evaluate(() => window.drawn);
      assert.ok(drawn <= answers + 1, `drawn ${drawn} times for ${answers} answers`);
      assert.ok((await column(page, "Lock")).length <= 100);
      assert.equal(await page.locator("tr.fresh").count(), 0);
      await page.getByRole("button", { name: "Pause the list" }).click();
      await page.locator(".news").waitFor();
      const shown = await column(page, "When");
      await until("thousands have come", async () =>
        Number(/^([\d,]+) events/.exec(await page.locator(".news").innerText())[1]
          .replace(",", "")) > 2000);
      assert.deepEqual(await column(page, "When"), shown);
      // A filter by owner counts, too, up to a bound.
      await goTo(page, "#/events?owner=busy");
      await page.getByText(/more than \d+ events have come since/).waitFor();
    } finally {
      clearInterval(timer);
      client.close();
    }
  }));
