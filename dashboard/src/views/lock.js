// One lock: who has it, who waits, what happened, and how to free it.
import { el } from "../el.js";
import { fieldOf, get, post } from "../api.js";
import { age, changeQuery, state } from "../state.js";
import { actButton, button, client, empty, heading, labelOf, left, paging, panel, placeholder,
  running } from "../parts.js";
import { table } from "../table.js";
import { afterOf, eventTag, whyOf } from "./events.js";
import { count, duration, moment, plural } from "../format.js";
import { confirm } from "../dialog.js";

// Those of a line that the lock itself comes with.
const kPlaces = 100;
const kNamedInLines = 8;

async function load({ path: [db, key], query }) {
  const from = Number(query.from || 0);
  const [lock, { history }, further] = await Promise.all([
    get(`locks/${db}/${key}`),
    loadHistory(db, key, query),
    from ? get(`locks/${db}/${key}/line`, { start: from, count: kPlaces }) : null,
  ]);
  return { lock, history, from, places: further ? further.line : lock.line };
}

// By the bytes of the key, as they stand in the path.
function loadHistory(db, key, { before }) {
  const page = before ? `&before=${before}` : "";
  return get(`history?db=${db}&count=50&key=${key}${page}`);
}

function sentence(lock) {
  const { holders, waiters } = lock;
  const parts = [];
  if (lock.override === 0) parts.push("It is drained: nobody new is let in.");
  else if (lock.override !== null) parts.push(`An override sets its limit to ${lock.override}.`);
  if (holders.length === 1) {
    const [only] = holders;
    parts.push(`${only.owner} has held it for ${duration(only.held_ms + age())}.`);
  } else if (holders.length > 1) {
    parts.push(`${plural(lock.holder_count, "owner holds", "owners hold")} it, up to ` +
      `${count(lock.limit)} may; the oldest for ${duration(holders[0].held_ms + age())}.`);
  } else if (lock.cooling_ms > 0) {
    parts.push(`Nobody holds it; it cools for ${duration(lock.cooling_ms)}.`);
  } else if (lock.reserved > 0) {
    parts.push("Nobody holds it: it is kept for one who is away.");
  } else parts.push("Nobody holds it.");
  if (waiters === 0) parts.push("Nobody waits.");
  else {
    const first = lock.line.find((place) => place.state === "waiting") || lock.line[0];
    parts.push(`${plural(waiters, "owner waits", "owners wait")}` +
      (first ? `; the first, ${first.owner}, for ${duration(first.waited_ms + age())}.` : "."));
  }
  return parts.join(" ");
}

// Whether there is room for that place once the holds of `ending` are gone.
function isGrantedThen(lock, next, ending) {
  const others = lock.holder_count - ending.length;
  const limit = lock.override === null ? Math.min(next.limit, lock.limit) : lock.override;
  if (next !== lock.line[0] || next.state !== "waiting" || next.keys > 1) return false;
  if (lock.reserved > 0 || lock.cooling_ms > 0) return false;
  return others === 0 || (next.mode === lock.mode && limit > others);
}

function whoIsNext(lock, ending) {
  const next = lock.line.find((place) => place.state === "waiting") || lock.line[0];
  if (lock.override === 0) return "It is drained: nobody is granted it while the override holds.";
  if (!next) {
    return lock.holder_count > ending.length ? "Nobody waits."
      : "Nobody waits, so it is free then.";
  }
  return isGrantedThen(lock, next, ending)
    ? `The next in line, ${next.owner}, is granted it at once.`
    : `The next in line is ${next.owner}; it is granted it when there is room for it.`;
}

const kNotTold = "The holder is not told: what it does under the lock goes on until it notices. " +
  "Only a resource that refuses old tokens is safe from that.";

const nothingToEnd = (lock) => `Nothing to end: ${lock.key} was not held by them any more.`;

// One by one by their names: whoever has come meanwhile keeps it.
async function endHolds(lock, ending, body) {
  let ended = 0;
  for (const holder of ending) {
    ended += (await post("break", { ...body, ...fieldOf(holder, "owner") })).broken;
  }
  return ended ? `${plural(ended, "hold", "holds")} of ${lock.key} ended.` : nothingToEnd(lock);
}

// A room that is kept or cools has no holder to name.
async function endRooms(lock, body) {
  const { path: [db, key] } = state.route;
  const { holders } = await get(`locks/${db}/${key}`);
  if (holders.length > 0) return `Nothing to end: ${holders[0].owner} holds ${lock.key} now.`;
  const { broken } = await post("break", body);
  return broken ? `${plural(broken, "hold", "holds")} of ${lock.key} ended.`
    : `${lock.key} is free.`;
}

function whoLosesIt(lock, ending) {
  const lines = ending.length > kNamedInLines
    ? [`${plural(ending.length, "holder loses", "holders lose")} ${lock.key}:`]
    : ending.map((one) => `${one.owner} loses ${lock.key}, which it has held for ` +
        `${duration(one.held_ms + age())}.`);
  const others = lock.holder_count - lock.holders.length;
  return others > 0 && ending.length > 1
    ? [...lines, `${plural(others, "holder that is", "holders that are")} not shown keep theirs.`]
    : lines;
}

function breakHolds(lock, holder) {
  const ending = holder ? [holder] : lock.holders;
  confirm({
    title: holder && lock.holder_count > 1 ? `End the hold of ${holder.owner}`
      : `Break ${lock.key}`,
    lines: [...whoLosesIt(lock, ending), whoIsNext(lock, ending), kNotTold],
    keys: ending.length > kNamedInLines ? ending.map((one) => one.owner) : [],
    listed: "Holders",
    fields: [{ name: "reason", label: "Reason, for the history", maxLength: 256 }],
    confirm: "Break it",
    act: async ({ reason }) => {
      const body = { ...fieldOf(lock, "key"), db: lock.db, ...(reason ? { reason } : {}) };
      return ending.length > 0 ? endHolds(lock, ending, body) : endRooms(lock, body);
    },
  });
}

function cancelPlace(lock, place) {
  confirm({
    title: `Take ${place.owner} out of the line`,
    lines: [`It has waited for ${lock.key} for ${duration(place.waited_ms + age())}, at position ` +
      `${place.position}.`, "Its request is answered with the error CANCELLED. If it asks again, " +
      "it stands at the end of the line."],
    confirm: "Take it out",
    act: async () => {
      const { cancelled } = await post("cancel",
        { ...fieldOf(lock, "key"), db: lock.db, ...fieldOf(place, "owner") });
      return cancelled ? `${place.owner} does not wait any more.`
        : `${place.owner} was not in the line any more.`;
    },
  });
}

function holderColumns(lock) {
  return [
    { name: "Owner", isWide: true, line: 1, isBare: true, cell: (row) => el("strong", row.owner) },
    { name: "Held for", isNumber: true, cell: (row) => running(row.held_ms) },
    { name: "Lease left", isNumber: true, cell: (row) => left(row.ttl_ms,
      row.session !== null ? "with its session" : "no end") },
    { name: "Client", isWide: true, line: 3, isBare: true, cell: client },
    { name: "Token", isNumber: true, cell: (row) => row.token },
    { name: "Label", line: 1, isBare: true, isEmpty: (row) => !row.label, cell: labelOf },
    { name: "Meta", isWide: true, line: 3, isBare: true, isEmpty: (row) => !row.meta,
      cell: (row) => (row.meta ? el("code", row.meta)
: el("span.muted", "–")) },
    { name: "Act", isUnseen: true, line: 1, cell: (row) => (lock.holder_count > 1
      ? actButton("break", "End", () => breakHolds(lock, row),
        { "aria-label": `End the hold of ${row.owner}` }) : null) },
  ];
}

function placeColumns(lock) {
  return [
    { name: "Position", isNumber: true, line: 1, isBare: true, cell: (row) => row.position },
    { name: "Owner", isWide: true, line: 1, isBare: true, cell: (row) => el("strong", row.owner) },
    { name: "Waited", isNumber: true, cell: (row) => running(row.waited_ms) },
    { name: "Gives up in", isNumber: true,
      cell: (row) => left(row.state === "waiting" ? row.wait_left_ms : row.keep_ms, "never") },
    { name: "State", line: 1, isBare: true, cell: (row) => el("span.tag", row.state) },
    { name: "Client", isWide: true, line: 3, isBare: true, cell: client },
    { name: "Act", isUnseen: true, line: 1, cell: (row) => actButton("cancel", "Take out",
      () => cancelPlace(lock, row), { "aria-label": `Take out ${row.owner}` }) },
  ];
}

const kEventColumns = [
  { name: "When", line: 1, isBare: true, cell: (row) => moment(row.at) },
  { name: "Event", line: 1, isBare: true, cell: eventTag },
  { name: "Owner", isWide: true, isBare: true, cell: (row) => row.owner || "–" },
  { name: "After", isNumber: true, isEmpty: (row) => !row.held_ms && !row.waited_ms,
    cell: afterOf },
  { name: "Why", isWide: true, line: 3, isBare: true, isEmpty: (row) => !whyOf(row),
    cell: (row) => whyOf(row) || "–" },
];

function counters(lock) {
  const facts = [["Limit", count(lock.limit)], ["Mode", lock.mode || "–"],
    ["Acquired", count(lock.acquired)], ["After a wait", count(lock.granted_after_wait)],
    ["Denied", count(lock.denied)], ["Leases ended", count(lock.expired)],
    ["Mean hold", duration(lock.hold_mean_ms)], ["Mean wait", duration(lock.wait_mean_ms)]];
  return el("dl.facts", facts.map(([name, value]) =>
    el("div", { key: name }, el("dt", name), el("dd", value))));
}

function holdersPanel(lock) {
  if (lock.holders.length === 0) {
    return panel("Holders", null, empty("Nobody holds it", "What happened to it is below."));
  }
  return panel("Holders", null,
    table("Holders of this lock", holderColumns(lock), lock.holders, (row) => row.token),
    lock.holder_count > lock.holders.length ? el("p.muted.note",
      `The first ${lock.holders.length}; ${count(lock.holder_count - lock.holders.length)} more ` +
      "hold it.") : null);
}

function linePanel({ lock, places, from }) {
  const first = from ? button("First places", () => changeQuery({ from: "" })) : null;
  if (places.length === 0) {
    return panel("Line", null, from ? empty("Nobody is so far behind", "The line is shorter.")
      : empty("Nobody waits", "The next to ask is granted it as soon as there is room."),
    first && paging(first));
  }
  const isMore = places.length === kPlaces;
  return panel("Line", null,
    table("Who waits, in order", placeColumns(lock), places, (row) => row.position),
    from || isMore ? paging(el("span.muted",
      `Places ${count(from + 1)} to ${count(from + places.length)} of ${count(lock.waiters)}`),
    first, isMore ? button("Next places",
      () => changeQuery({ from: String(from + places.length) })) : null) : null);
}

function historyPanel(history) {
  const { before } = state.route.query;
  return panel("History", null, history.events.length === 0
    ? empty(before ? "Nothing older is remembered" : "Nothing is remembered",
      "History has a fixed size; the oldest is forgotten.")
    : table("What happened to this lock, the newest first", kEventColumns, history.events),
  before || history.next_before !== null ? paging(
    before ? button("Newest", () => changeQuery({ before: "" })) : null,
    history.next_before !== null ? button("Older",
      () => changeQuery({ before: String(history.next_before) })) : null) : null);
}

function view() {
  const { lock, history } = state.data;
  if (!lock) return [heading("Lock"), placeholder()];
  const isHeld = lock.holders.length > 0 || lock.reserved > 0 || lock.cooling_ms > 0;
  return [
    heading(lock.key, lock.db ? el("span.tag", `db ${lock.db}`) : null,
      isHeld ? actButton("break", "Break this lock …", () => breakHolds(lock)) : null),
    el("p.sentence", sentence(lock)),
    holdersPanel(lock),
    linePanel(state.data),
    historyPanel(history),
    panel("Counted", null, counters(lock)),
  ];
}

export default { title: "Lock", everyMs: 1500, load, view };
