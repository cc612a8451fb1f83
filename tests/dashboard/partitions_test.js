// The dashboard of a fleet of three partitions: each node shows and changes all of them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { checkBothWidths } from "./axe.js";
import { column, goTo, launch, settle, usePage } from "./browser.js";
import { Etcd } from "./etcd.js";
import { Server, until } from "./server.js";

const kPartitions = [0, 1, 2];

let browser;
let etcd;
let leaders;
let standby;  // the standby of partition 0
const clients = [];

const clusterOf = async ({ origin }) =>
  (await (await fetch(`${origin}/api/v1/cluster`)).json()).cluster;

// Leaders change only when a test wants that: m0 leads all partitions, and m1 none.
const nodeOptions = (partition, machine) =>
  ["--cluster-partition", partition, "--cluster-machine", machine, "--cluster-balance", "0"];

// Everyone may do everything, and these users can log in.
const writeUsers = (node, ...names) => fs.writeFileSync(path.join(node.folder, "users"),
  ["default nopass", ...names.map((name) => `${name} >secret`)].map((user) =>
    `user ${user} on ~* &* +@all owner:*\n`).join(""));

async function startLeader(partition) {
  const node = await Server.prepareNode(etcd, `lock${partition}`, ...nodeOptions(partition, "m0"));
  node.options.push("--acl-file", path.join(node.folder, "users"));
  writeUsers(node, ...(partition === 2 ? [] : ["viewer"]));
  await node.run();
  return node;
}

before(async () => {
  browser = await launch();
  etcd = await Etcd.start();
  execFileSync(process.env.FAIRLOCKD,
    ["--cluster-etcd", etcd.endpoint, "--create-fleet", String(kPartitions.length)]);
  leaders = await Promise.all(kPartitions.map(startLeader));
  standby = await Server.prepareNode(etcd, "lock3", ...nodeOptions(0, "m1"));
  standby.launch();
  await until("each node knows all leaders, and the standby follows", async () => {
    const seen = await Promise.all([...leaders, standby].map((node) =>
      clusterOf(node).catch(() => null)));
    return seen.every((cluster) => cluster && cluster.nodes.length === 4 &&
      cluster.nodes.every(({ in_sync: follows }) => follows) &&
      cluster.nodes.filter(({ role }) => role === "leader").length === 3);
  });
});

after(async () => {
  clients.forEach((client) => client.close());
  await browser.close();
  for (const node of [...leaders, standby]) await node.stop();
  await etcd.stop();
});

// Returns the first key of this name that the partition has, locked.
async function lockIn(partition, name, owner, ...options) {
  for (let number = 0; ; ++number) {
    const key = `${name}:${number}`;
    const answer = await leaders[partition].cli("LOCK", key, owner, "PX", "900000", ...options);
    if (/^\d+$/.test(answer)) return key;
    assert.match(answer, /^MOVED /);
  }
}

async function waitFor(partition, key, owner) {
  const client = await leaders[partition].connect();
  clients.push(client);
  client.send("LOCK", key, owner, "WAIT", "10m");
  await until("it waits", async () =>
    /^\d+$/.test(await leaders[partition].cli("POSITION", key, owner)));
}

const lockInEach = (name, owner, ...options) =>
  Promise.all(kPartitions.map((partition) => lockIn(partition, name, owner, ...options)));

const isHeld = async (partition, key) => await leaders[partition].cli("LOCKED", key) !== "0";

const figuresOf = async (page) => Object.fromEntries(await page.locator("dl.figures > div")
  .evaluateAll((all) => all.map((one) =>
    [one.querySelector("dt").innerText, one.querySelector("dd").innerText])));

const rowsOf = (page, table) => page.getByRole("region", { name: table, exact: true })
  .locator("tbody tr").evaluateAll((rows) => rows.map((row) =>
    Object.fromEntries([...row.cells].map((cell) => [cell.dataset.name, cell.innerText]))));

const choose = (page, partition) => page.locator("header label", { hasText: "Partition" })
  .locator("select").selectOption(partition);

test("each node's overview adds up the partitions and compares them", async () => {
  const keys = await lockInEach("sum", "worker-1");
  await waitFor(0, keys[0], "worker-2");
  await waitFor(2, keys[2], "worker-3");
  for (const node of [leaders[1], standby]) {
    await usePage(browser, node, "#/overview", async (page) => {
      await settle(page, "Partitions");
      await until("all locks are shown", async () => (await figuresOf(page)).Held === "3");
      assert.equal((await figuresOf(page)).Waiting, "2");
      assert.deepEqual((await rowsOf(page, "Partitions of the fleet")).map((row) =>
        [row.Partition, row.Leader, row.State, row.Held, row.Waiting, row["On standby"]]), [
        ["0", `lock0 at 127.0.0.1:${leaders[0].port}`, "answers", "1", "1", "1"],
        ["1", `lock1 at 127.0.0.1:${leaders[1].port}`, "answers", "1", "0", "none"],
        ["2", `lock2 at 127.0.0.1:${leaders[2].port}`, "answers", "1", "1", "none"]]);
      // The leaders measure waits that are about equal at different times, so either can be first.
      const waits = await rowsOf(page, "Locks with waiters, longest wait first");
      assert.deepEqual(waits.map((row) => [row.Lock, row.Partition]).sort(),
        [[keys[0], "0"], [keys[2], "2"]].sort());
      await page.locator("canvas").first().waitFor();
      await choose(page, "2");
      await until("one partition is shown", async () => (await figuresOf(page)).Held === "1");
      assert.equal(await page.getByRole("region", { name: "Partitions of the fleet" }).count(), 0);
      assert.equal(await page.locator("[role=alert]").count(), 0);
    });
  }
});

test("lists show the partition of each row, and can be limited to one", async () => {
  const keys = await lockInEach("list", "lister", "LABEL", "lists");
  await usePage(browser, standby, "#/locks?match=list:*&sort=key", async (page) => {
    await settle(page, "Held and awaited locks");
    await until("all are shown", async () => (await column(page, "Lock")).length === 3);
    const shown = (await rowsOf(page, "Locks")).map((row) => [row.Lock, row.Partition]);
    assert.deepEqual(Object.fromEntries(shown),
      Object.fromEntries(keys.map((key, partition) => [key, String(partition)])));
    assert.deepEqual(shown.map(([key]) => key), [...keys].sort());
    await page.getByText("3 of 3 locks").waitFor();
    await checkBothWidths(page);
    await choose(page, "1");
    await until("one is shown", async () => (await column(page, "Lock")).length === 1);
    assert.deepEqual(await column(page, "Partition"), ["1"]);
    await goTo(page, "#/locks?match=list:*&sort=none");
    await page.getByText("These are all.").waitFor();
    await until("all are shown", async () => (await column(page, "Lock")).length === 3);

    await goTo(page, "#/events?match=list:*");
    await until("the grants are shown", async () => (await column(page, "Event")).length === 3);
    assert.deepEqual((await column(page, "Partition")).sort(), ["0", "1", "2"]);
    await goTo(page, "#/labels");
    await page.getByRole("link", { name: "lists" }).waitFor();
    const label = (await rowsOf(page, "Counts, waits and holds by label"))
      .find((row) => row.Label === "lists");
    assert.equal(label.Acquired, "3");
    await page.getByText("longest of all partitions").waitFor();
    await page.getByRole("link", { name: "lists" }).click();
    await settle(page, "Total for this period");
    await goTo(page, "#/clients");
    await settle(page, "Connections");
    await until("clients of all are shown", async () =>
      new Set(await column(page, "Partition")).size === 3);
  });
});

test("older events of all partitions follow the newer ones without a gap", async () => {
  const shown = [];
  for (const partition of kPartitions) {
    for (let n = 0; n < 60; ++n) await lockIn(partition, `gap:${n}`, "x", "LABEL", "gap");
  }
  await usePage(browser, leaders[0], "#/events?match=gap:*&event=granted", async (page) => {
    for (let left = 180; left > 0;) {
      await settle(page, "Events, newest first");
      const locks = await column(page, "Lock");
      assert.ok(locks.length > 0 && locks.length <= 100, `${locks.length} on a page`);
      shown.push(...locks);
      left -= locks.length;
      if (left <= 0) break;
      await page.getByRole("button", { name: "Older" }).click();
      await until("older ones are shown", async () =>
        (await column(page, "Lock")).at(-1) !== locks.at(-1));
    }
  });
  assert.equal(shown.length, 180);
  assert.equal(new Set(shown).size, 180);
});

test("a lock is found wherever it is, and its actions go to its leader", async () => {
  const key = await lockIn(2, "act", "holder");
  await waitFor(2, key, "removed");
  await waitFor(2, key, "next");
  await usePage(browser, leaders[0], `#/lock/0/${key}`, async (page) => {
    await settle(page, "Holders");
    await page.getByText("partition 2").first().waitFor();
    await page.getByRole("button", { name: "Remove removed" }).click();
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("removed is no longer waiting.").waitFor();
    await page.getByRole("button", { name: "Break this lock" }).click();
    await page.getByRole("button", { name: "Break lock" }).click();
    await page.getByText(`1 hold of ${key} ended.`).waitFor();
    await until("the next one holds it", async () =>
      (await leaders[2].cli("LOCKINFO", key)).includes("next"));
  });
});

test("selected locks of several partitions are broken together", async () => {
  const keys = await lockInEach("select", "picked");
  await usePage(browser, standby, "#/locks?match=select:*", async (page) => {
    await until("all are shown", async () => (await column(page, "Lock")).length === 3);
    await page.getByLabel("Select all shown").check();
    await page.getByRole("button", { name: "Break selected" }).click();
    await page.getByRole("button", { name: "Break them" }).click();
    await page.getByText("3 holds ended.").waitFor();
  });
  for (const partition of kPartitions) {
    assert.equal(await isHeld(partition, keys[partition]), false);
  }
});

test("all matches are broken in the partitions that are shown", async () => {
  const keys = await lockInEach("every", "matched");
  const breakAll = async (page) => {
    await page.getByRole("button", { name: "Break all matches" }).click();
    await page.getByRole("button", { name: "Break them all" }).click();
  };
  await usePage(browser, leaders[0], "#/locks?match=every:*&db=0&partition=1", async (page) => {
    await breakAll(page);
    await page.getByText("1 hold ended on 1 lock.").waitFor();
    assert.deepEqual(await Promise.all(kPartitions.map((one) => isHeld(one, keys[one]))),
      [true, false, true]);
    await choose(page, "");
    await breakAll(page);
    await page.getByText("2 holds ended on 2 locks.").waitFor();
  });
});

test("a chain leads from one partition to another", async () => {
  const near = await lockIn(0, "near", "middle");
  const far = await lockIn(2, "far", "root");
  await waitFor(2, far, "middle");
  await waitFor(0, near, "last");
  await usePage(browser, leaders[1], `#/lock/0/${near}`, async (page) => {
    const chain = page.getByRole("region", { name: "Why it waits" });
    await chain.getByText(`root has held ${far} for`).first().waitFor();
    assert.match((await chain.innerText()).replace(/\s+/g, " "), new RegExp(
      `last waits for ${near}.*: middle has held ${near} for .*, and waits for ${far}: root has`));
    await goTo(page, "#/waits");
    const root = page.getByRole("list", { name: "Who waits for whom" })
      .locator("> li", { hasText: `root has held ${far}` });
    await root.getByText(`last waits for ${near}`).first().waitFor();
    await root.getByRole("link", { name: far }).first().click();
    await page.getByText("partition 2").first().waitFor();
    await chain.getByText(`root has held ${far}`).waitFor();
  });
});

test("clients are closed, and limits are set and ended, where they are", async () => {
  const client = await leaders[2].connect();
  await client.ask("CLIENT", "SETNAME", "to-be-closed");
  const closed = new Promise((resolve) => { client.socket.once("close", resolve); });
  await usePage(browser, leaders[1], "#/clients", async (page) => {
    const row = page.locator("tbody tr", { hasText: "to-be-closed" });
    await row.getByRole("button").click();
    await page.getByRole("button", { name: "Close connection", exact: true }).click();
    await closed;
    await goTo(page, "#/settings");
    await settle(page, "Options of this node");
    await page.getByRole("button", { name: "Set a limit" }).click();
    await page.getByLabel("Key pattern").fill("drained:*");
    await page.getByLabel("Maximum holders per key").fill("0");
    await page.getByRole("button", { name: "Set limit" }).click();
    await page.getByText("Drains keys that match drained:*").waitFor();
    await until("it is shown", async () => (await column(page, "Partitions")).length === 1);
    assert.deepEqual(await column(page, "Partitions"), ["all"]);
    for (const leader of leaders) assert.match(await leader.cli("LIMIT", "LIST"), /drained:/);
    await leaders[0].cli("LIMIT", "DEL", "drained:*");
    await until("it is shown", async () => (await column(page, "Partitions"))[0] === "1, 2");
    await page.getByRole("button", { name: "End the override" }).click();
    await page.getByRole("button", { name: "End override" }).click();
    await page.getByText("The override of drained:* has ended.").waitFor();
    for (const leader of leaders) assert.equal(await leader.cli("LIMIT", "LIST"), "");
  });
});

test("a leader that refuses the user is asked again after a minute", async () => {
  await lockInEach("refused", "holder");
  await usePage(browser, leaders[0], "#/settings", async (page) => {
    await page.clock.install();
    await page.evaluate((access) => sessionStorage.setItem("fairlock-access", access),
      `Basic ${btoa("viewer:secret")}`);
    await goTo(page, "#/locks?match=refused:*");
    await page.getByRole("alert").getByText("Partition 2 is missing: ").waitFor();
    const refusals = async () => /acl_access_denied_auth:(\d+)/
      .exec(await leaders[2].cli("INFO", "stats"))[1];
    const before = await refusals();
    writeUsers(leaders[2], "viewer");
    assert.equal(await leaders[2].cli("ACL", "LOAD"), "OK");
    await page.clock.runFor(30_000);
    await page.getByRole("alert").getByText("Partition 2 is missing: ").waitFor();
    assert.equal(await refusals(), before);
    await page.clock.runFor(31_000);
    await until("all are shown", async () => (await column(page, "Lock")).length === 3);
    assert.equal(await page.locator("[role=alert]").count(), 0);
  });
});

// The last test, because it ends a leader.
test("a leader that does not answer is named, and the others are shown", async () => {
  const keys = await lockInEach("lost", "keeper");
  await usePage(browser, leaders[0], "#/locks?match=lost:*", async (page) => {
    await until("all are shown", async () => (await column(page, "Lock")).length === 3);
    await leaders[2].halt("SIGKILL");
    await page.getByRole("alert").getByText("Partition 2 is missing: ").waitFor();
    assert.deepEqual((await column(page, "Lock")).sort(), keys.slice(0, 2).sort());
    await goTo(page, "#/overview");
    await settle(page, "Partitions");
    const states = (await rowsOf(page, "Partitions of the fleet")).map((row) => row.State);
    assert.deepEqual(states, ["answers", "answers", "does not answer"]);
    await checkBothWidths(page);
  });
});
