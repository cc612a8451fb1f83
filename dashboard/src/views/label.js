// One label: the events of its locks, minute by minute.
import { el } from "../el.js";
import { get } from "../api.js";
import { changeQuery, linkTo, state } from "../state.js";
import { button, empty, heading, panel, partitionChoice, placeholder } from "../parts.js";
import { mergedStatistics } from "../merge.js";
import { askEach } from "../partitions.js";
import { chart } from "../chart.js";
import { count, duration } from "../format.js";
import { minutesOf, perMinute, perSecond, times } from "../minutes.js";

const kRanges = [["10", "10 m"], ["30", "30 m"], ["60", "1 h"], ["180", "3 h"]];
const rangeOf = (query) => query.minutes || "60";

async function load({ path: [label = ""], query }) {
  const range = rangeOf(query);
  const [minutes, answers] = await Promise.all([minutesOf(label, Number(range), query),
    askEach(query, (partition) =>
      get(`statistics?minutes=${range}&label=${label}`, {}, partition))]);
  const statistics = mergedStatistics(answers.map(({ answer }) => answer.statistics));
  return { minutes, total: statistics.labels[0] || null };
}

function charts(minutes) {
  const { at } = minutes;
  const line = (name, color, values) => ({ name, color, values });
  return el("div.charts",
    chart("Acquired", "per second", [
      line("all", "c1", perSecond(minutes, "acquired")),
      line("after a wait", "c2", perSecond(minutes, "granted_after_wait"))], at, state.theme),
    chart("Failures and denials", "per minute", [
      line("leases expired", "c4", perMinute(minutes, "expired")),
      line("denied", "c3", perMinute(minutes, "denied")),
      line("timed out", "c2", perMinute(minutes, "timed_out"))], at, state.theme),
    chart("Waits", "duration", [
      line("p50", "c2", times(minutes, "wait_p50_ms")),
      line("p99", "c3", times(minutes, "wait_p99_ms"))], at, state.theme, duration),
    chart("Holds", "duration", [
      line("p50", "c1", times(minutes, "hold_p50_ms")),
      line("p99", "c3", times(minutes, "hold_p99_ms"))], at, state.theme, duration));
}

function facts(total) {
  const rows = [["Acquired", count(total.acquired)],
    ["After a wait", count(total.granted_after_wait)], ["Denied", count(total.denied)],
    ["Leases expired", count(total.expired)], ["Timed out", count(total.timed_out)],
    ["Broken", count(total.broken)], ["Wait p99", duration(total.wait_p99_ms)],
    ["Longest wait", duration(total.wait_max_ms)], ["Hold p99", duration(total.hold_p99_ms)],
    ["Longest hold", duration(total.hold_max_ms)]];
  return el("dl.facts", rows.map(([name, value]) =>
    el("div", { key: name }, el("dt", name), el("dd", value))));
}

function view() {
  const { minutes, total } = state.data;
  const name = state.route.title || "Locks without a label";
  const range = el("div.segments", { role: "group", "aria-label": "Time" },
    kRanges.map(([value, text]) => button(text, () => changeQuery({ minutes: value }),
      { key: value, "aria-pressed": String(value === rangeOf(state.route.query)) })));
  const toLocks = state.route.title
    ? el("a", { href: linkTo("locks", [], { label: state.route.title,
      partition: state.route.query.partition }) }, "Show its locks") : null;
  if (!minutes) return [heading(name, partitionChoice(), range), placeholder()];
  return [
    heading(name, toLocks, partitionChoice(), range),
    panel("By minute", null, minutes.at.length === 0
      ? empty("No events in this period", "No lock with this label was requested.")
      : charts(minutes)),
    total ? panel("Total for this period", null, facts(total)) : null,
  ];
}

export default { title: "Label", everyMs: 5000, load, view };
