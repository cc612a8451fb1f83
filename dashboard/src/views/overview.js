// What is blocked now, and what happened in the last hours.
import { el } from "../el.js";
import { get } from "../api.js";
import { changeQuery, linkTo, state, withRates } from "../state.js";
import { button, empty, figure, heading, keyLink, panel, partitionChoice, partitionColumns,
  placeholder, running } from "../parts.js";
import { mergedMinutes, mergedWaits } from "../merge.js";
import { askEach, partitionCount } from "../partitions.js";
import { partitionsPanel } from "../partitions_panel.js";
import { table } from "../table.js";
import { bytes, count, duration, plural, rate } from "../format.js";
import { chart } from "../chart.js";
import { fleetPanel, isStandby, standbyText } from "../fleet.js";

const kRows = 10;
const kRanges = [["10", "10 m"], ["60", "1 h"], ["180", "3 h"], ["1440", "24 h"]];
const kMinutesEveryMs = 20000;

let minutes = null;
let minutesAt = 0;
let minutesRange = "";

async function loadMinutes(range, query) {
  const wanted = `${range} ${query.partition || ""}`;
  if (minutes === null || minutesRange !== wanted || Date.now() - minutesAt > kMinutesEveryMs) {
    const answers = await askEach(query, (partition) =>
      get("minutes", { minutes: range }, partition));
    minutes = mergedMinutes(answers.map(({ answer }) => answer));
    minutesAt = Date.now();
    minutesRange = wanted;
  }
  return minutes;
}

async function loadBlocked(query) {
  const answers = await askEach(query, (partition) =>
    get("locks", { waiting: "0", sort: "wait", count: kRows }, partition));
  return { locks: mergedWaits(answers, Date.now(), kRows),
    found: answers.reduce((sum, { answer }) => sum + answer.found, 0) };
}

// The newest status of each partition, to compare the next one with.
const statuses = new Map();

// The status of each partition's leader; null if there are no partitions.
async function loadParts(query) {
  if (!partitionCount()) return null;
  const answers = await askEach(query, (partition) => get("status", {}, partition));
  return answers.map(({ partition, answer }) => {
    const part = { ...withRates(answer, statuses.get(partition) || null), partition };
    statuses.set(partition, part);
    return part;
  });
}

async function load({ query }) {
  // A standby knows no locks, and asks no leader if there is only one; the status shows when it
  // leads.
  if (isStandby(state.server.fleet) && !partitionCount()) return {};
  const [blocked, perMinute, parts] = await Promise.all([loadBlocked(query),
    loadMinutes(query.minutes || "1440", query), loadParts(query)]);
  return { blocked, minutes: perMinute, parts };
}

// Most libraries do not store since when a lock is held.
function isAgeKnown(row) {
  return row.holders > 0 && !(row.library && row.oldest_hold_ms === 0);
}

const kColumns = [
  { name: "Lock", isWide: true, line: 1, isBare: true, cell: (row) => keyLink(row) },
  { name: "Waiting", isNumber: true, cell: (row) => count(row.waiters) },
  { name: "Longest wait", isNumber: true, isEmpty: (row) => row.library,
    cell: (row) => (row.library ? "–" : running(row.longest_wait_ms, { class: "strong" })) },
  { name: "Held by", isWide: true, line: 3, cell: (row) => (row.holders === 0
    ? el("span.muted", row.library ? "nobody" : "nobody: reserved, cooling down or drained")
    : el("span", row.first_owner,
      row.holders > 1 ? el("span.muted", ` and ${count(row.holders - 1)} more`) : null)) },
  { name: "Held for", isNumber: true, line: 3, isEmpty: (row) => !isAgeKnown(row),
    cell: (row) => (isAgeKnown(row) ? running(row.oldest_hold_ms) : "–") },
];

function blockedPanel(blocked) {
  const rows = blocked.locks;
  const { partition } = state.route.query;
  const tree = el("a", { href: linkTo("waits", [], { partition }) }, "Who waits for whom");
  const all = el("a", { href: linkTo("locks", [], { waiting: "0", sort: "wait", partition }) },
    "Show all");
  if (rows.length === 0) {
    return panel("Locks with waiters", null,
      empty("Nobody is waiting", "Every requested lock has been granted."));
  }
  return panel("Locks with waiters", [tree, blocked.found > rows.length ? all : null],
    table("Locks with waiters, longest wait first", [...kColumns, ...partitionColumns()], rows,
      (row) => `${row.db}/${row.key}`),
    blocked.found > rows.length
      ? el("p.muted.note",
        `The ${kRows} longest waits of ${plural(blocked.found, "lock", "locks")}.`)
      : null);
}

// A rate that is not known yet does not count.
const sumOf = (parts, valueOf) => parts.map(valueOf).filter((value) => !Number.isNaN(value))
  .reduce((sum, value) => (Number.isNaN(sum) ? value : sum + value), NaN);

function figures(blocked, parts) {
  const all = parts || [state.server];
  const now = (valueOf) => count(sumOf(all, ({ status }) => valueOf(status)));
  const often = (name) => rate(sumOf(all, ({ rates }) => rates[name]));
  const longest = blocked.locks.length ? blocked.locks[0].longest_wait_ms : 0;
  return el("dl.figures",
    figure("Waiting", now((status) => status.locks.waiters), "Current waiters"),
    figure("Longest wait", blocked.locks.length ? running(longest) : "–"),
    figure("Held", now((status) => status.locks.holders), "Current holds on all locks"),
    figure("Grants / s", often("granted")),
    figure("Handed over / s", often("handedOver"), "Grants to waiters"),
    figure("Leases expired / s", often("expired"), "Holds that ended by time"),
    figure("Requests / s", often("requests")),
    figure("Connections", now((status) => status.clients.connected_clients)));
}

const perSecond = (values, spans) =>
  values.map((value, i) => (spans[i] > 0 ? (value * 1000) / spans[i] : 0));

function charts(data) {
  const at = data.at;
  const of = (name) => perSecond(data[name], data.span_ms);
  const theme = state.theme;
  return el("div.charts",
    chart("Grants", "per second", [
      { name: "all", color: "c1", values: of("granted") },
      { name: "handed over", color: "c2", values: of("granted_after_wait") }], at, theme),
    chart("Waiting", "at the end of each minute", [
      { name: "waiting", color: "c3", values: data.waiting }], at, theme),
    chart("Requests", "per second", [
      { name: "requests", color: "c1", values: of("requests") }], at, theme),
    chart("Failures and denials", "per minute", [
      { name: "leases expired", color: "c4", values: data.expired },
      { name: "denied", color: "c3", values: data.denied },
      { name: "timed out", color: "c2", values: data.timed_out }], at, theme));
}

function serverPanel() {
  const { server, memory, persistence } = state.server.status;
  const facts = [
    ["Version", server.fairlock_version],
    ["Up for", duration(server.uptime_in_seconds * 1000)],
    ["Memory", bytes(memory.used_memory)],
    ["Durability", persistence.durability],
    ["Free disk", persistence.free_disk_bytes ? bytes(persistence.free_disk_bytes) : "–"],
    ["Newest token", count(state.server.status.locks.newest_token)],
  ];
  return panel(partitionCount() ? "This node" : "Server", null,
    el("dl.facts", facts.map(([name, value]) => el("div", { key: name },
      el("dt", name), el("dd", value)))));
}

function rangeButtons() {
  const chosen = state.route.query.minutes || "1440";
  return el("div.segments", { role: "group", "aria-label": "Time" },
    kRanges.map(([range, text]) => button(text, () => changeQuery({ minutes: range }),
      { key: range, "aria-pressed": String(range === chosen) })));
}

function view() {
  const { blocked, minutes: perMinute, parts } = state.data;
  if (!state.server) return [heading("Overview"), placeholder()];
  const { fleet } = state.server;
  if (!blocked) {
    return [heading("Overview", partitionChoice()), isStandby(fleet) && !partitionCount()
      ? empty("This node is on standby", standbyText(fleet)) : placeholder(), fleetPanel(fleet)];
  }
  return [
    heading("Overview", partitionChoice()),
    figures(blocked, parts),
    blockedPanel(blocked),
    partitionsPanel(fleet, parts),
    fleetPanel(fleet),
    panel("By minute", rangeButtons(), charts(perMinute)),
    serverPanel(),
  ];
}

export default { title: "Overview", everyMs: 2000, load, view };
