// How the page puts the answers of several partitions together. Needs neither server nor browser.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

const source = fs.readFileSync(new URL("../../dashboard/src/merge.js", import.meta.url), "utf8");
const { mergedHistory, mergedMinutes, mergedStatistics, mergedWaits } =
  await import(`data:text/javascript,${encodeURIComponent(source)}`);

const pageOf = (partition, times, end) => ({ partition, history: {
  events: times.map((at) => ({ at })), next_before: end === null ? null : 7, next_until: end } });

const timesOf = ({ events }) => events.map(({ at }) => at);

const waitsOf = (partition, waits, at) => ({ partition, at, answer: {
  locks: waits.map((wait) => ({ key: `${partition}:${wait}`, longest_wait_ms: wait,
    oldest_hold_ms: wait === 5 ? null : 7 })) } });

test("waits go on until the last answer has arrived, and the longest are first", () => {
  const merged = mergedWaits([waitsOf(0, [50, 5], 1000), waitsOf(1, [70], 1030)], 1030, 10);
  assert.deepEqual(merged.map((row) => [row.key, row.longest_wait_ms, row.oldest_hold_ms]),
    [["0:50", 80, 37], ["1:70", 70, 7], ["0:5", 35, null]]);
  assert.deepEqual(merged.map(({ partition }) => partition), [0, 1, 0]);
  assert.deepEqual(mergedWaits([waitsOf(undefined, [1, 2, 3], 9)], 9, 2).map((row) =>
    [row.longest_wait_ms, "partition" in row]), [[3, false], [2, false]]);
});

test("a page of events ends where the first of the partitions' pages ends", () => {
  const merged = mergedHistory([pageOf(0, [90, 80, 30], 20), pageOf(1, [95, 85], 70)], 100);
  assert.deepEqual(timesOf(merged), [95, 90, 85, 80]);
  assert.equal(merged.next_until, 70);
  assert.deepEqual(merged.events.map(({ partition }) => partition), [1, 0, 1, 0]);
});

test("the last page shows everything", () => {
  const merged = mergedHistory([pageOf(0, [3, 1], null), pageOf(1, [2], null)], 100);
  assert.deepEqual(timesOf(merged), [3, 2, 1]);
  assert.equal(merged.next_until, null);
});

test("a page has no more events than asked for, and the next one continues", () => {
  const merged = mergedHistory([pageOf(0, [9, 7, 5], null), pageOf(1, [8, 6], null)], 3);
  assert.deepEqual(timesOf(merged), [9, 8, 7]);
  assert.equal(merged.next_until, 6);
});

test("events of one millisecond that do not fit on a page do not stop the paging", () => {
  const merged = mergedHistory([pageOf(0, [5, 5, 5], 5), pageOf(1, [5, 4], null)], 2);
  assert.deepEqual(timesOf(merged), [5, 5, 5, 5]);
  assert.equal(merged.next_until, 4);
});

test("a page without a match continues where its search ended", () => {
  const merged = mergedHistory([pageOf(0, [], 40), pageOf(1, [30], 20)], 100);
  assert.deepEqual(timesOf(merged), []);
  assert.equal(merged.next_until, 40);
});

test("any way through the pages shows each event once", () => {
  // Each partition has these events, and returns pages of 4, whole milliseconds at least.
  const all = [[99, 97, 97, 96, 90, 90, 90, 90, 90, 70, 12], [98, 97, 50, 49, 48, 47, 46, 1], []];
  const ask = (partition, until) => {
    const left = all[partition].filter((at) => at <= until);
    let end = Math.min(4, left.length);
    while (end < left.length && left[end] === left[end - 1]) ++end;
    return pageOf(partition, left.slice(0, end), end < left.length ? left[end] : null);
  };
  const shown = [];
  let until = 1000;
  for (let n = 0; until !== null && n < 20; ++n) {
    const merged = mergedHistory([0, 1, 2].map((one) => ask(one, until)), 6);
    shown.push(...timesOf(merged));
    until = merged.next_until;
  }
  assert.equal(until, null);
  assert.deepEqual(shown, all.flat().sort((a, b) => b - a));
});

test("counts are added up; of times, the longest is shown", () => {
  const row = (label, since, acquired, p99) =>
    ({ label, since, acquired, wait_p99_ms: p99 });
  const merged = mergedStatistics([
    { complete_since: 5, labels: [row(null, 9, 1, null), row("b", 8, 2, 30)],
      total: row(null, 8, 3, 30) },
    { complete_since: 7, labels: [row("a", 3, 4, null), row("b", 4, 5, 10)],
      total: row(null, 3, 9, 10) }]);
  assert.deepEqual(merged, { complete_since: 7,
    labels: [row(null, 9, 1, null), row("a", 3, 4, null), row("b", 4, 7, 30)],
    total: row(null, 3, 12, 30) });
});

test("minutes are added up by the clock", () => {
  const merged = mergedMinutes([
    { granted: [1, 2], at: [60_500, 120_500], span_ms: [60_000, 1_000] },
    { granted: [10, 20], at: [119_000, 179_000], span_ms: [60_000, 30_000] }]);
  assert.deepEqual(merged,
    { granted: [11, 22], at: [60_000, 120_000], span_ms: [60_000, 30_000] });
});
