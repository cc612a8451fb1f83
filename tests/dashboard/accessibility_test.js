// axe-core finds no fault on any view, in light and dark, wide and narrow.
import { after, before, test } from "node:test";
import { checkAccessibility, checkBothWidths } from "./axe.js";
import { kViews, launch, open, settle } from "./browser.js";
import { Server, fillWithChain, fillWithTrouble } from "./server.js";

let browser;
let server;
let endTrouble;
let endChain;

before(async () => {
  browser = await launch();
  server = await Server.start();
  endTrouble = await fillWithTrouble(server);
  endChain = await fillWithChain(server);
});

after(async () => {
  endTrouble();
  endChain();
  await browser.close();
  await server.stop();
});

for (const colorScheme of ["light", "dark"]) {
  for (const [name, hash, text] of kViews) {
    test(`${name}, ${colorScheme}`, async () => {
      const page = await open(browser, server, hash, { colorScheme });
      await settle(page, text);
      await checkBothWidths(page);
      await page.context().close();
    });
  }

  test(`a question, ${colorScheme}`, async () => {
    const page = await open(browser, server, "#/lock/0/order:42", { colorScheme });
    await page.getByRole("button", { name: "Break this lock" }).click();
    await page.getByRole("dialog").waitFor();
    await checkAccessibility(page);
    await page.context().close();
  });
}
