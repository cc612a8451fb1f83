// Charts of labels, and the layout of charts.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { goTo, launch, settle, usePage } from "./browser.js";
import { Server, fillWithTrouble, startLoad, until } from "./server.js";

let browser;
let server;
let endTrouble;
let stopLoad;

before(async () => {
  browser = await launch();
  server = await Server.start();
  endTrouble = await fillWithTrouble(server);
  stopLoad = await startLoad(server, 6);
});

after(async () => {
  stopLoad();
  endTrouble();
  await browser.close();
  await server.stop();
});

const withPage = (hash, use, options) => usePage(browser, server, hash, use, options);

// How many charts are in each row of a view.
async function rowsOfCharts(page) {
  const tops = await page.locator("figure.chart .canvas").evaluateAll((charts) =>
    charts.map((one) => Math.round(one.getBoundingClientRect().top)));
  return [...new Set(tops)].sort((a, b) => a - b)
    .map((top) => tops.filter((other) => other === top).length);
}

test("four charts stand in one row, two by two, or one by one", () =>
  withPage("#/overview", async (page) => {
    await settle(page, "By minute");
    for (const [width, rows] of [[1440, [4]], [1280, [4]], [1100, [2, 2]], [800, [2, 2]],
      [390, [1, 1, 1, 1]]]) {
      await page.setViewportSize({ width, height: 900 });
      await until(`at ${width} px ${rows}`, async () =>
        JSON.stringify(await rowsOfCharts(page)) === JSON.stringify(rows));
    }
  }));

test("labels are drawn over time, and each has its own charts", () =>
  withPage("#/labels", async (page) => {
    await settle(page, "By label");
    await until("three charts", async () => await page.locator("figure.chart").count() === 3);
    const said = (title) => page.locator("figure.chart", { hasText: title }).first()
      .getByRole("img").getAttribute("aria-label");
    await until("they tell of shop", async () => /shop: last/.test(await said("Acquired")));
    assert.match(await said("Hold p99"), /shop: last [\d.]+ m?s, highest/);
    await page.getByRole("link", { name: "shop", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
    await until("four charts", async () => await page.locator("figure.chart").count() === 4);
    assert.match(await said("Acquired"), /all: last [\d.,]+, highest .+; after a wait: last/);
    assert.match(await said("Holds"), /p50: last .+; p99: last/);
    // The charts show the server's counts.
    const figures = page.locator("section", { hasText: "Total for this period" });
    await figures.getByText("Acquired").waitFor();
    await page.getByRole("link", { name: "Show its locks" }).click();
    await until("its locks", async () => /label=shop/.test(page.url()));
    // Locks without a label have charts, too.
    await goTo(page, "#/label/");
    await page.getByRole("heading", { level: 1, name: "Locks without a label" }).waitFor();
    await goTo(page, "#/label/unheard-of");
    await page.getByText("No events in this period").waitFor();
  }));

test("charts show the last ten minutes, an hour or a day", () =>
  withPage("#/overview", async (page) => {
    await settle(page, "By minute");
    for (const [view, label, range] of [["overview", "10 m", "10"], ["overview", "24 h", "1440"],
      ["label/shop", "10 m", "10"], ["label/shop", "3 h", "180"]]) {
      await goTo(page, `#/${view}`);
      const button = page.getByRole("group", { name: "Time" }).getByRole("button", { name: label });
      await button.click();
      await until(`${label} is chosen`, async () =>
        await button.getAttribute("aria-pressed") === "true");
      assert.match(page.url(), new RegExp(`minutes=${range}$`));
      await page.locator("canvas").first().waitFor();
    }
    await goTo(page, "#/labels");
    await page.getByLabel("Time").selectOption({ label: "last 10 minutes" });
    await page.getByRole("region", { name: "Last 10 minutes" }).locator("canvas").first().waitFor();
  }));
