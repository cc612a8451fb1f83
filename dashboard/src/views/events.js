// Events of all locks, newest first, updated live.
import { el } from "../el.js";
import { get } from "../api.js";
import { changeQuery, state, togglePause } from "../state.js";
import { button, choice, empty, filter, heading, keyLink, paging, panel, partitionChoice,
  partitionColumns, placeholder, timeChoice } from "../parts.js";
import { mergedHistory } from "../merge.js";
import { askEach, chosenPartition, isSpread, partitionCount, rowsIn } from "../partitions.js";
import { filters, table } from "../table.js";
import { count, duration, exactMoment, kDatabaseFormat, moment, plural } from "../format.js";

const kEveryMs = 1000;
const kPage = 100;
// The smallest page of one of many partitions.
const kPageMin = 25;
const kWrongKinds = ["denied", "expired", "disconnected", "broken", "undone", "cancelled",
  "timeout", "lapsed", "refused"];
const kKinds = ["granted", "reacquired", "denied", "queued", "released", "expired", "disconnected",
  "renewed", "broken", "transferred", "undone", "cancelled", "timeout", "lapsed", "vacated",
  "refused", "leaving"];
const kChoices = [["", "all"], [kWrongKinds.join(","), "failures and denials"],
  ["granted,reacquired,transferred,released", "grants and releases"],
  ["broken,cancelled,vacated,leaving", "by force"], ...kKinds.map((kind) => [kind, kind])];
// Denials are normal answers, and cancellations are intended, so neither counts as bad.
const kBad = new Set(kWrongKinds.filter((kind) => kind !== "denied" && kind !== "cancelled"));
const kFilters = ["match", "owner", "event", "db", "since"];
// While the list is paused, one request counts at most this many events that have come since.
const kNewsMax = 500;

// The events of the previous response: comparing with them shows which new ones to highlight.
let known = null;
let knownFilter = "";

const identityOf = (row) => [row.at, row.event, row.db, row.key, row.owner, row.token,
  row.holder_token, row.waited_ms, row.held_ms, row.partition].join("/");

// Assigns numbers to events that have the same kind, key, owner and millisecond, to tell them
// apart.
function numbered(events) {
  const seen = new Map();
  return events.map((row) => {
    const identity = identityOf(row);
    const times = seen.get(identity) || 0;
    seen.set(identity, times + 1);
    return { ...row, identity: `${identity}/${times}` };
  });
}

const asker = (query) => (position, partition) => get("history", { db: query.db || "*",
  match: query.match, owner: query.owner, event: query.event, since: query.since, ...position },
partition);

async function loadHistory(query) {
  const ask = asker(query);
  if (isSpread(query)) {
    const answers = await askEach(query, (partition) => ask({ until: query.until,
      count: Math.max(kPageMin, Math.ceil((2 * kPage) / partitionCount())) }, partition));
    return mergedHistory(answers.map(({ partition, answer }) =>
      ({ partition, history: answer.history })), kPage);
  }
  const partition = chosenPartition(query);
  const { history } = await ask({ before: query.before, count: kPage }, partition);
  return { ...history, events: rowsIn(partition, history.events) };
}

async function load({ query }) {
  const history = await loadHistory(query);
  const events = numbered(history.events);
  const asked = JSON.stringify(query);
  const isFresh = (row) => known !== null && knownFilter === asked && !known.has(row.identity);
  const fresh = new Set(events.filter(isFresh).map((row) => row.identity));
  // If a whole page has come since, a highlight of every row says nothing.
  if (fresh.size >= kPage) fresh.clear();
  known = new Set(events.map((row) => row.identity));
  knownFilter = asked;
  return { history, events, fresh };
}

// How many events that match the filters have come since those that are shown, in words. Without
// filters, the difference of the events' numbers says so; otherwise they are counted up to
// kNewsMax.
async function countNews({ query }, { history, events }) {
  if (query.before || query.until) return "";
  const isPlain = !kFilters.some((name) => query[name]) && !isSpread(query);
  if (isPlain && history.next_before !== null) {
    const newest = await asker(query)({ count: 1 }, chosenPartition(query));
    // `next_before` is the number of the last event of a page, and the numbers have no gaps.
    const more = newest.history.next_before - (history.next_before + events.length - 1);
    return `${plural(Math.max(0, more), "event has", "events have")} come since`;
  }
  const since = events.length > 0 ? events[0].at : undefined;
  const answers = await askEach(query, (partition) =>
    asker(query)({ ...(since ? { since } : {}), count: kNewsMax }, partition));
  const pages = answers.map(({ partition, answer }) => rowsIn(partition, answer.history.events));
  const shown = new Set(events.map((row) => row.identity));
  const more = numbered(pages.flat()).filter((row) => !shown.has(row.identity)).length;
  const isMore = pages.some((page) => page.length >= kNewsMax);
  return `${isMore ? "more than " : ""}${plural(more, "event has", "events have")} come since`;
}

// What most events have, the memory of the server, needs no words.
const kSources = { file: "from the file", lock: "says the lock" };

// Events are ordered by their first occurrence; a repeated event also shows its last occurrence.
export function whyOf(row) {
  return [row.reason, row.holder && `holder ${row.holder}`, row.by && `by ${row.by}`,
    row.comment && `“${row.comment}”`, row.count > 1 && `last at ${moment(row.last_at)}`,
    kSources[row.source]]
    .filter(Boolean).join(", ");
}

export function afterOf(row) {
  if (row.held_ms) return duration(row.held_ms);
  return row.waited_ms ? `${duration(row.waited_ms)} wait` : "–";
}

export function eventTag(row) {
  return el("span.tag", { class: { bad: kBad.has(row.event) } }, row.event,
    row.count > 1 ? ` × ${count(row.count)}` : "");
}

const kColumns = [
  { name: "When", line: 1, isBare: true, cell: (row) => el("span.time", exactMoment(row.at)) },
  { name: "Event", line: 1, isBare: true, cell: eventTag },
  { name: "Lock", isWide: true, isBare: true, cell: (row) => keyLink(row) },
  { name: "Owner", isWide: true, line: 3, isBare: true, isEmpty: (row) => !row.owner,
    cell: (row) => row.owner || el("span.muted", "–") },
  { name: "After", isNumber: true, line: 3, isEmpty: (row) => !row.held_ms && !row.waited_ms,
    cell: afterOf },
  { name: "Token", isNumber: true, line: 3, isEmpty: (row) => row.token === null,
    cell: (row) => (row.token === null ? "–" : row.token) },
  { name: "Why", isWide: true, line: 3, isBare: true, isEmpty: (row) => !whyOf(row),
    cell: (row) => whyOf(row) || el("span.muted", "–") },
];

const change = (name) => (value) => changeQuery({ [name]: value, before: "", until: "" });

function filterForm() {
  const { query } = state.route;
  const chosen = query.event || "";
  const choices = kChoices.some(([value]) => value === chosen) ? kChoices
    : [...kChoices, [chosen, chosen]];
  return filters("Event filter", kFilters.filter((name) => query[name]).length,
    filter("Key matches", "match", change("match"), { placeholder: "order:*", id: "filter" }),
    filter("Owner", "owner", change("owner")),
    filter("Database", "db", change("db"), { placeholder: "all", class: "short" },
      kDatabaseFormat),
    choice("Events", choices, chosen, change("event")),
    timeChoice({ before: "", until: "" }));
}

// For a list that is replaced as a whole by each response.
function hurryText(events) {
  const { query } = state.route;
  if (events.length < kPage || query.before || query.until || state.isPaused) return "";
  const spanMs = events[0].at - events.at(-1).at;
  return spanMs < kEveryMs ? `These ${count(events.length)} events are of ${duration(spanMs)}: ` +
    "filter them, or pause." : "";
}

// Each request searches only a part of the history, so more events may match further back.
function pages(history, events) {
  const { query } = state.route;
  // Events of several partitions have no common position but their time.
  const by = isSpread(query) ? "until" : "before";
  const next = history[`next_${by}`];
  const isMore = next !== null;
  const searchedTo = isMore && events.length < kPage && history.next_until
    ? `Searched back to ${moment(history.next_until)}.` : "";
  return paging(
    el("span.muted", searchedTo || hurryText(events) || (isMore || query[by] || query.since ? ""
      : `${count(events.length)} events: the whole history.`)),
    query[by] ? button("Newest", () => changeQuery({ [by]: "" })) : null,
    isMore ? button("Older", () => changeQuery({ [by]: String(next) })) : null);
}

function contentOf({ history, events, fresh }) {
  if (!history) return placeholder();
  if (events.length === 0) {
    const isFiltered = kFilters.some((name) => state.route.query[name]);
    return [empty(isFiltered ? "No event matches this filter" : "The history is empty",
      isFiltered ? "Older or future events may match." : "Events of locks appear here."),
    pages(history, events)];
  }
  return [table("Events", [...kColumns, ...partitionColumns()], events, (row) => row.identity,
    { rowClass: (row) => (fresh.has(row.identity) ? "fresh" : "") }), pages(history, events)];
}

function view() {
  const { before, until } = state.route.query;
  const live = before || until ? "Older events" : state.isPaused ? "Paused" : "Live";
  const pause = before || until ? null : button(state.isPaused ? "Resume the list"
    : "Pause the list", togglePause, { title: "Key p" });
  return [heading("Events", partitionChoice(),
    el("span.pill", { class: live === "Live" ? "good" : "soon" },
      el("span.dot", { class: live === "Live" ? "good" : "soon", "aria-hidden": "true" }), live)),
  filterForm(), panel("Events, newest first", [
    state.isPaused && state.news ? el("span.news", state.news) : null, pause],
  contentOf(state.data))];
}

// The list has at most kPage rows, and is drawn once for each response, so its cost does not grow
// with the rate of the events.
export default { title: "Events", everyMs: kEveryMs, load, view, countNews };
