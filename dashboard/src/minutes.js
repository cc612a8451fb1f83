// The minutes of one label for charts, in order and without gaps.
import { get } from "./api.js";
import { addedUp, clockMinute } from "./merge.js";
import { askEach, isSpread } from "./partitions.js";

const kMinuteMs = 60000;
const kEveryMs = 15000;
// The server returns one row per minute, and at most this many rows.
export const kMinutesMax = 180;

const loaded = new Map();

function withoutGaps(rows, minutes) {
  if (rows.length === 0) return { at: [], rows: [], spans: [] };
  const last = rows.at(-1).since;
  const end = Math.max(last, last + Math.floor((Date.now() - last) / kMinuteMs) * kMinuteMs);
  const begin = Math.max(rows[0].since, end - (minutes - 1) * kMinuteMs);
  const byMinute = new Map(rows.map((row) => [Math.round((row.since - begin) / kMinuteMs), row]));
  const at = [];
  const filled = [];
  const spans = [];
  for (let n = 0; begin + n * kMinuteMs <= end; ++n) {
    at.push(begin + n * kMinuteMs);
    filled.push(byMinute.get(n) || null);
    // The current minute is not over yet, so its span is shorter.
    spans.push(Math.min(kMinuteMs, Math.max(Date.now() - at[n], 1000)));
  }
  return { at, rows: filled, spans };
}

// The minutes of several partitions are aligned with those of the clock and added up.
async function ask(label, minutes, query) {
  const answers = await askEach(query, (partition) =>
    get(`statistics?by_minute=true&minutes=${minutes}&label=${label}`, {}, partition));
  const rows = answers.flatMap(({ answer }) => answer.statistics.labels);
  if (!isSpread(query)) return rows;
  return addedUp(rows.map((row) => ({ ...row, since: clockMinute(row.since) })), (row) => row.since)
    .sort((a, b) => a.since - b.since);
}

// `label` is percent-encoded; empty means locks without a label. Returns {at, rows: row or null,
// spans}.
export async function minutesOf(label, minutes, query) {
  const question = `${label} ${minutes} ${query.partition || ""}`;
  const before = loaded.get(question);
  if (before && Date.now() - before.loadedAt < kEveryMs) return before.minutes;
  const answer = withoutGaps(await ask(label, minutes, query), minutes);
  // Drop data that the current view no longer requests.
  for (const [name, { loadedAt }] of loaded) {
    if (Date.now() - loadedAt > 4 * kEveryMs) loaded.delete(name);
  }
  loaded.set(question, { minutes: answer, loadedAt: Date.now() });
  return answer;
}

export const perSecond = ({ rows, spans }, field) =>
  rows.map((row, n) => (row === null ? 0 : (row[field] * 1000) / spans[n]));

export const perMinute = ({ rows }, field) => rows.map((row) => (row === null ? 0 : row[field]));

// null for minutes in which nothing was waited for or held.
export const times = ({ rows }, field) => rows.map((row) => (row === null ? null : row[field]));
