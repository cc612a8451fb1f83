// Combines the answers of several partitions into one.

const kMinuteMs = 60000;

const largest = (a, b) => (a === null || (b !== null && b > a) ? b : a);

function added(sum, row) {
  const result = { ...sum };
  for (const [name, value] of Object.entries(row)) {
    // A percentile cannot be computed from those of the parts; the highest is an upper bound.
    if (name.endsWith("_ms")) result[name] = largest(sum[name], value);
    else if (name === "since") result[name] = Math.min(sum[name], value);
    else if (name !== "at" && typeof value === "number") result[name] += value;
  }
  return result;
}

// Adds up the rows that have the same key; they stay in the order of their first one.
export function addedUp(rows, keyOf) {
  const sums = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    sums.set(key, sums.has(key) ? added(sums.get(key), row) : row);
  }
  return [...sums.values()];
}

// Combines several answers of `statistics` into one.
export function mergedStatistics(all) {
  if (all.length === 1) return all[0];
  const labels = addedUp(all.flatMap((one) => one.labels), (row) => row.label_base64 || row.label);
  const compared = (a, b) => (a.label < b.label ? -1 : 1);
  return {
    complete_since: Math.max(...all.map((one) => one.complete_since)),
    labels: [...labels.filter((row) => row.label === null),
      ...labels.filter((row) => row.label !== null).sort(compared)],
    total: addedUp(all.map((one) => one.total), () => "")[0],
  };
}

// Each server has minutes of its own, so they are aligned with those of the clock.
export const clockMinute = (at) => Math.floor(at / kMinuteMs) * kMinuteMs;

// Combines several answers of `minutes` into one: columns of the same length, by name.
export function mergedMinutes(all) {
  if (all.length === 1) return all[0];
  const names = Object.keys(all[0]);
  const rows = all.flatMap((one) => one.at.map((at, i) => ({
    ...Object.fromEntries(names.map((name) => [name, one[name][i]])), at: clockMinute(at) })));
  const sums = addedUp(rows, (row) => row.at).sort((a, b) => a.at - b.at);
  return Object.fromEntries(names.map((name) => [name, sums.map((row) => row[name])]));
}

// Merges the locks with waiters, longest wait first: [{partition, answer, at}], where `at` is the
// time at which the answer arrived. Its waits go on until `now`, when the last one has arrived.
export function mergedWaits(all, now, countMax) {
  const rows = all.flatMap(({ partition, answer, at }) => answer.locks.map((row) => ({
    ...row,
    longest_wait_ms: row.longest_wait_ms + now - at,
    oldest_hold_ms: row.oldest_hold_ms === null ? null : row.oldest_hold_ms + now - at,
    ...(partition === undefined ? {} : { partition }),
  })));
  return rows.sort((a, b) => b.longest_wait_ms - a.longest_wait_ms).slice(0, countMax);
}

// Merges pages of `history` by time: [{partition, history}] becomes {events, next_until}. Pages end
// at different times, so only events are shown that are newer than the end of every page; the next
// page begins there.
export function mergedHistory(pages, countMax) {
  const events = pages.flatMap(({ partition, history }) =>
    history.events.map((row) => ({ ...row, partition }))).sort((a, b) => b.at - a.at);
  const ends = pages.filter(({ history }) => history.next_before !== null)
    .map(({ history }) => history.next_until);
  if (events.length > countMax) ends.push(events[countMax].at);
  if (ends.length === 0) return { events, next_until: null };
  const end = Math.max(...ends);
  const newer = events.filter((row) => row.at > end);
  if (newer.length > 0) return { events: newer, next_until: end };
  // Nothing was found so far, or more events than fit on a page have the same time.
  const last = events.filter((row) => row.at === end);
  return { events: last, next_until: last.length > 0 ? end - 1 : end };
}
