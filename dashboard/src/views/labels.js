// Counts, waits and holds of the locks of each label.
import { el } from "../el.js";
import { get, pathOf } from "../api.js";
import { changeQuery, linkTo, state } from "../state.js";
import { choice, empty, heading, panel, partitionChoice, placeholder } from "../parts.js";
import { mergedStatistics } from "../merge.js";
import { askEach, isSpread } from "../partitions.js";
import { filters, orderOf, sortChoice, sorted, table } from "../table.js";
import { chart } from "../chart.js";
import { count, duration, moment } from "../format.js";
import { kMinutesMax, minutesOf, perSecond, times } from "../minutes.js";

const kRanges = [["10", "last 10 minutes"], ["15", "last 15 minutes"], ["60", "last hour"],
  ["240", "last 4 hours"], ["1440", "last 24 hours"]];
const kColors = ["c1", "c2", "c3", "c4"];
const kNoLabel = "no label";

const labelPath = (row) => (row.label === null ? "" : pathOf(row, "label"));

async function load({ query }) {
  const range = query.minutes || "60";
  const answers = await askEach(query, (partition) =>
    get("statistics", { minutes: range }, partition));
  const statistics = mergedStatistics(answers.map(({ answer }) => answer.statistics));
  const busiest = statistics.labels.filter((row) => row.acquired + row.denied > 0)
    .sort((a, b) => b.acquired + b.denied - (a.acquired + a.denied)).slice(0, kColors.length);
  const minutes = Math.min(Number(range) || 0, kMinutesMax);
  const drawn = await Promise.all(busiest.map(async (row) => ({ name: row.label || kNoLabel,
    minutes: await minutesOf(labelPath(row), minutes, query) })));
  return { statistics, drawn };
}

const failures = (row) => row.expired + row.timed_out + row.broken + row.disconnected;

const number = (name, sort, sortBy, hint, cell, line) =>
  ({ name, sort, sortBy, isNumber: true, hint, cell, line });
const counted = (name, field, hint) =>
  number(name, field, (row) => row[field], hint, (row) => count(row[field]));
const timed = (name, field, hint) => ({ ...number(name, field, (row) => row[field], hint,
  (row) => duration(row[field]), 3), isEmpty: (row) => row[field] === null });

const kColumns = [
  { name: "Label", sort: "label", sortBy: (row) => row.label, isWide: true, line: 1,
    isBare: true,
    cell: (row) => (row.isTotal ? "Total"
      : el("a.key", { href: linkTo("label", [labelPath(row)],
        { partition: state.route.query.partition }) }, row.label || kNoLabel)) },
  counted("Acquired", "acquired"),
  counted("After a wait", "granted_after_wait"),
  counted("Denied", "denied", "Answered with nil immediately"),
  counted("Released", "released"),
  number("Failures", "failures", failures, "Expired leases, timed-out waits, broken holds, " +
    "lost sessions", (row) => el("span", { class: { bad: failures(row) > 0 } },
    count(failures(row)))),
  timed("Wait p50", "wait_p50_ms", "50 % of the waits were at most this long"),
  timed("Wait p99", "wait_p99_ms", "99 % of the waits were at most this long"),
  timed("Hold p50", "hold_p50_ms", "50 % of the holds were at most this long"),
  timed("Hold p99", "hold_p99_ms", "99 % of the holds were at most this long"),
];

// Puts the labels on one time axis; each label has data from its first minute on.
function aligned(drawn, valuesOf, nothing) {
  const at = [...new Set(drawn.flatMap(({ minutes }) => minutes.at))].sort((a, b) => a - b);
  const series = drawn.map(({ name, minutes }, n) => {
    const values = valuesOf(minutes);
    const byTime = new Map(minutes.at.map((time, i) => [time, values[i]]));
    return { name, color: kColors[n],
      values: at.map((time) => (byTime.has(time) ? byTime.get(time) : nothing)) };
  });
  return { at, series };
}

function chartsPanel(drawn, range) {
  if (drawn.every((one) => one.minutes.at.length === 0)) return null;
  const acquired = aligned(drawn, (one) => perSecond(one, "acquired"), 0);
  const waits = aligned(drawn, (one) => times(one, "wait_p99_ms"), null);
  const holds = aligned(drawn, (one) => times(one, "hold_p99_ms"), null);
  const title = Number(range) > kMinutesMax ? `Last ${kMinutesMax / 60} hours`
    : (kRanges.find(([value]) => value === range) || ["", "Over time"])[1].replace("last", "Last");
  return panel(title, el("span.muted", "the labels with the most requests"),
    el("div.charts.three",
      chart("Acquired", "per second", acquired.series, acquired.at, state.theme),
      chart("Wait p99", "per minute", waits.series, waits.at, state.theme, duration),
      chart("Hold p99", "per minute", holds.series, holds.at, state.theme, duration)));
}

function view() {
  const { statistics, drawn } = state.data;
  const range = state.route.query.minutes || "60";
  const beside = [partitionChoice(), choice("Time", kRanges, range,
    (value) => changeQuery({ minutes: value }))];
  if (!statistics) return [heading("Labels", beside), placeholder()];
  const order = orderOf(state.route.query, "label");
  const rows = sorted(kColumns, statistics.labels, order);
  const since = Math.max(statistics.complete_since, statistics.total.since);
  return [
    heading("Labels", beside),
    chartsPanel(drawn, range),
    el("div.narrow-only", filters("Sort labels", 0, sortChoice(kColumns, order))),
    panel("By label", null, rows.length === 0
      ? empty("No events in this period", "Events of locks are counted here by LABEL.")
      : table("Counts, waits and holds by label", kColumns, rows, (row) => row.label || "",
        { order, foot: rows.length > 1 ? { ...statistics.total, isTotal: true } : null }),
    el("p.muted.note", `Counted since ${moment(since)}.` + (isSpread(state.route.query)
      ? " Each time is the longest of all partitions." : ""))),
  ];
}

export default { title: "Labels", everyMs: 5000, load, view };
