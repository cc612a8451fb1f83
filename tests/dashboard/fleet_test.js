// The fleet on the dashboard of its nodes, and its absence on a single server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkBothWidths } from "./axe.js";
import { launch, open, usePage } from "./browser.js";
import { Etcd } from "./etcd.js";
import { Server, until } from "./server.js";

let browser;
let etcd;
let leader;
let standby;

before(async () => {
  browser = await launch();
  etcd = await Etcd.start();
  leader = await Server.startNode(etcd, "lock1");
  standby = await Server.startNode(etcd, "lock2");
  await until("both nodes and etcd are known to both", async () => {
    const [one, other] = await Promise.all([leader, standby].map(async ({ origin }) =>
      (await (await fetch(`${origin}/api/v1/cluster`)).json()).cluster));
    return [one, other].every(({ nodes, etcd: members }) =>
      nodes.length === 2 && members.length === 1);
  });
});

after(async () => {
  await browser.close();
  await leader.stop();
  await standby.stop();
  await etcd.stop();
});

const fleetOf = (page) => page.getByRole("region", { name: "Fleet main" });

async function factsOf(page) {
  const names = await fleetOf(page).locator("dt").allInnerTexts();
  const values = await fleetOf(page).locator("dd").allInnerTexts();
  return Object.fromEntries(names.map((name, index) => [name, values[index]]));
}

// The cells of a table of the panel, row by row.
const rowsOf = (page, table) => fleetOf(page).getByRole("region", { name: table })
  .locator("tbody tr").evaluateAll((rows) => rows.map((row) =>
    Object.fromEntries([...row.cells].map((cell) => [cell.dataset.name, cell.innerText]))));

const pillOf = (page) => page.locator(".pill").innerText();

test("the leader shows its fleet below the locks", () =>
  usePage(browser, leader, "#/overview", async (page) => {
    await fleetOf(page).waitFor();
    // A node describes itself once a second, so it takes a moment until all know that it follows.
    await fleetOf(page).getByText(/^\d+ frames?$/).waitFor();
    const facts = await factsOf(page);
    assert.equal(facts["This node"], "lock1, leader");
    assert.equal(facts.Leader, `lock1 at 127.0.0.1:${leader.port}`);
    assert.match(facts["Leads since"], /\d\d:\d\d:\d\d$/);
    assert.match(facts.Epoch, /^[1-9]\d*$/);
    assert.match(facts["Mean time of a commit"], /^\d+\.\d ms$/);
    const nodes = await rowsOf(page, "Nodes of the fleet");
    assert.deepEqual(nodes.map((node) => [node.Node, node.Role, node.Address]), [
      ["lock1", "leader", `127.0.0.1:${leader.port}`],
      ["lock2", "standby", `127.0.0.1:${standby.port}`]]);
    assert.match(nodes[1].Behind, /^\d+ frames?$/);
    const [member] = await rowsOf(page, "Members of etcd");
    assert.equal(member["Member of etcd"], etcd.endpoint);
    assert.equal(member.State, "leads etcd");
    assert.match(member.Database, /^[\d.]+ [KM]B$/);
    assert.match(member["Of the quota"], /^\d+ %$/);
    assert.equal(await fleetOf(page).locator("p.bad").count(), 0);
    assert.equal(await pillOf(page), "ready");
    // The locks are above it.
    await page.getByText("Nobody is waiting").waitFor();
    await checkBothWidths(page);
  }));

test("a standby names the leader in place of the locks", () =>
  usePage(browser, standby, "#/overview", async (page) => {
    await page.getByText("This node is on standby").waitFor();
    await page.getByText("open the dashboard of lock1").waitFor();
    assert.equal((await factsOf(page))["This node"], "lock2, standby");
    assert.equal((await rowsOf(page, "Nodes of the fleet")).length, 2);
    assert.equal(await pillOf(page), "standby");
    assert.equal(await page.locator("[role=alert]").count(), 0);
    await checkBothWidths(page);
  }, { colorScheme: "dark" }));

test("a single server has no fleet", async () => {
  const single = await Server.start();
  try {
    await usePage(browser, single, "#/overview", async (page) => {
      const asked = [];
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      await page.getByText("Nobody is waiting").waitFor();
      await until("the page asks again", () => asked.includes("/api/v1/status"));
      assert.equal(asked.includes("/api/v1/cluster"), false);
      assert.equal(await page.getByText("Fleet").count(), 0);
    });
  } finally {
    await single.stop();
  }
});

// The last test, because it ends the leader.
test("the page of a standby follows it to leadership", async () => {
  const page = await open(browser, standby, "#/overview");
  await page.getByText("This node is on standby").waitFor();
  await leader.halt("SIGKILL");
  await until("it leads", async () => (await factsOf(page))["This node"] === "lock2, leader");
  await page.getByText("Nobody is waiting").waitFor();
  await until("the pill says so", async () => await pillOf(page) === "ready");
  // The record of the node that is gone disappears with its lease.
  await fleetOf(page).getByText("No other node is on standby.").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
