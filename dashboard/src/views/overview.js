// What is blocked now, and what happened in the last hours.
import { el } from "../el.js";
import { get } from "../api.js";
import { changeQuery, linkTo, state } from "../state.js";
import { button, empty, figure, heading, keyLink, panel, placeholder, running } from "../parts.js";
import { table } from "../table.js";
import { bytes, count, duration, plural, rate } from "../format.js";
import { chart } from "../chart.js";
import { fleetPanel, isStandby, standbyText } from "../fleet.js";

const kRows = 10;
const kRanges = [["60", "1 h"], ["180", "3 h"], ["1440", "24 h"]];
const kMinutesEveryMs = 20000;

let minutes = null;
let minutesAt = 0;
let minutesRange = "";

async function loadMinutes(range) {
  if (minutes === null || minutesRange !== range || Date.now() - minutesAt > kMinutesEveryMs) {
    minutes = await get("minutes", { minutes: range });
    minutesAt = Date.now();
    minutesRange = range;
  }
  return minutes;
}

async function load(route) {
  // A standby knows no locks; the status shows when it leads.
  if (state.server && isStandby(state.server.fleet)) return {};
  const [blocked, perMinute] = await Promise.all([
    get("locks", { waiting: "0", sort: "wait", count: kRows }),
    loadMinutes(route.query.minutes || "1440"),
  ]);
  return { blocked, minutes: perMinute };
}

const kColumns = [
  { name: "Lock", isWide: true, line: 1, isBare: true, cell: (row) => keyLink(row) },
  { name: "Waiting", isNumber: true, cell: (row) => count(row.waiters) },
  { name: "Longest wait", isNumber: true,
    cell: (row) => running(row.longest_wait_ms, { class: "strong" }) },
  { name: "Held by", isWide: true, line: 3, cell: (row) => (row.holders === 0
    ? el("span.muted", "nobody: reserved, cooling down or drained")
    : el("span", row.first_owner,
      row.holders > 1 ? el("span.muted", ` and ${count(row.holders - 1)} more`) : null)) },
  { name: "Held for", isNumber: true, line: 3, isEmpty: (row) => !row.holders,
    cell: (row) => (row.holders ? running(row.oldest_hold_ms) : "–") },
];

function blockedPanel(blocked) {
  const rows = blocked.locks;
  const all = el("a", { href: linkTo("locks", [], { waiting: "0", sort: "wait" }) },
    "Show all");
  if (rows.length === 0) {
    return panel("Locks with waiters", null,
      empty("Nobody is waiting", "Every requested lock has been granted."));
  }
  return panel("Locks with waiters", blocked.found > rows.length ? all : null,
    table("Locks with waiters, longest wait first", kColumns, rows,
      (row) => `${row.db}/${row.key}`),
    blocked.found > rows.length
      ? el("p.muted.note",
        `The ${kRows} longest waits of ${plural(blocked.found, "lock", "locks")}.`)
      : null);
}

function figures(blocked) {
  const { status, rates } = state.server;
  const longest = blocked.locks.length ? blocked.locks[0].longest_wait_ms : 0;
  return el("dl.figures",
    figure("Waiting", count(status.locks.waiters), "Current waiters"),
    figure("Longest wait", blocked.locks.length ? running(longest) : "–"),
    figure("Held", count(status.locks.holders), "Current holds on all locks"),
    figure("Grants / s", rate(rates.granted)),
    figure("Handed over / s", rate(rates.handedOver), "Grants to waiters"),
    figure("Leases expired / s", rate(rates.expired), "Holds that ended by time"),
    figure("Requests / s", rate(rates.requests)),
    figure("Connections", count(status.clients.connected_clients)));
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
  return panel("Server", null,
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
  const { blocked, minutes: perMinute } = state.data;
  if (!state.server) return [heading("Overview"), placeholder()];
  const { fleet } = state.server;
  if (!blocked) {
    return [heading("Overview"), isStandby(fleet)
      ? empty("This node is on standby", standbyText(fleet)) : placeholder(), fleetPanel(fleet)];
  }
  return [
    heading("Overview"),
    figures(blocked),
    blockedPanel(blocked),
    fleetPanel(fleet),
    panel("By minute", rangeButtons(), charts(perMinute)),
    serverPanel(),
  ];
}

export default { title: "Overview", everyMs: 2000, load, view };
