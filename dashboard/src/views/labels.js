// What happened to the locks of each label.
import { el } from "../el.js";
import { get } from "../api.js";
import { changeQuery, state } from "../state.js";
import { choice, empty, heading, labelOf, panel, placeholder, table } from "../parts.js";
import { count, duration, moment } from "../format.js";

const kRanges = [["15", "last 15 minutes"], ["60", "last hour"], ["240", "last 4 hours"],
  ["1440", "last 24 hours"]];

async function load(route) {
  const { statistics } = await get("statistics", { minutes: route.query.minutes || "60" });
  return { statistics };
}

const failures = (row) => row.expired + row.timed_out + row.broken + row.disconnected;

const number = (name, value, hint) => ({ name, isNumber: true, hint, cell: value });
const counted = (name, field, hint) => number(name, (row) => count(row[field]), hint);
const timed = (name, field, hint) => number(name, (row) => duration(row[field]), hint);

const kColumns = [
  { name: "Label", isWide: true, cell: (row) => (row.isTotal ? "Total" : labelOf(row)) },
  counted("Acquired", "acquired"),
  counted("After a wait", "granted_after_wait"),
  counted("Denied", "denied", "Answered nil at once"),
  counted("Released", "released"),
  number("Failures", (row) => el("span", { class: { bad: failures(row) > 0 } },
    count(failures(row))), "Leases that ended, waits that timed out, breaks, lost sessions"),
  timed("Wait p50", "wait_p50_ms", "Half of the waits were no longer"),
  timed("Wait p99", "wait_p99_ms", "99 of 100 waits were no longer"),
  timed("Hold p50", "hold_p50_ms"),
  timed("Hold p99", "hold_p99_ms"),
];

function view() {
  const { statistics } = state.data;
  const range = state.route.query.minutes || "60";
  const beside = choice("Time", kRanges, range, (value) => changeQuery({ minutes: value }));
  if (!statistics) return [heading("Labels", beside), placeholder()];
  const rows = statistics.labels;
  const since = Math.max(statistics.complete_since, statistics.total.since);
  return [
    heading("Labels", beside),
    panel("By label", null, rows.length === 0
      ? empty("Nothing happened in this time", "Locks are counted here by their LABEL.")
      : table("Counts, waits and holds by label", kColumns, rows, (row) => row.label || "",
        rows.length > 1 ? { ...statistics.total, isTotal: true } : null),
    el("p.muted.note", `Counted since ${moment(since)}.`)),
  ];
}

export default { title: "Labels", everyMs: 5000, load, view };
