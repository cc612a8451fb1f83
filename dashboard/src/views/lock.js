// One lock: its holders, its waiters, its history, and how to free it.
import { el } from "../el.js";
import { Refusal, fieldOf, get, pathOf, post } from "../api.js";
import { age, changeQuery, state } from "../state.js";
import { chosenPartition, partitionCount } from "../partitions.js";
import { actButton, button, client, empty, heading, labelOf, left, paging, panel, placeholder,
  running, timeChoice } from "../parts.js";
import { table } from "../table.js";
import { chainPanel, loadChain } from "../chain_panel.js";
import { nodeOfMoved } from "../moved.js";
import { afterOf, eventTag, whyOf } from "./events.js";
import { count, duration, moment, plural } from "../format.js";
import { confirm } from "../dialog.js";

// The number of waiters that the lock's own response contains.
const kPlaces = 100;
const kNamedInLines = 8;

async function load({ path: [db, key], query }) {
  const from = Number(query.from || 0);
  const partition = await partitionOf(db, key, query);
  const [found, { history }, further] = await Promise.all([
    get(`locks/${db}/${key}`, {}, partition),
    loadHistory(db, key, query, partition),
    from ? get(`locks/${db}/${key}/line`, { start: from, count: kPlaces }, partition) : null,
  ]);
  const lock = { ...found, partition };
  const places = further ? further.line : lock.line;
  return { lock, history, from, places, chain: await loadChain(lock, places, query.why) };
}

// Requests the history of the percent-encoded key in the URL.
function loadHistory(db, key, { before, since }, partition) {
  const page = (before ? `&before=${before}` : "") +
    (since ? `&since=${encodeURIComponent(since)}` : "");
  return get(`history?db=${db}&count=50&key=${key}${page}`, {}, partition);
}

// The partition of the key: links on this page name it. For other links, the server says where the
// key is; undefined if the server itself serves it.
async function partitionOf(db, key, query) {
  const chosen = chosenPartition(query);
  if (chosen !== undefined || !partitionCount()) return chosen;
  try {
    await get(`locks/${db}/${key}`);
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== "MOVED") throw error;
    const leader = nodeOfMoved(error.message, state.server.fleet.nodes);
    if (!leader) throw error;
    return leader.partition;
  }
}

// Most libraries store neither since when a lock is held nor since when owners wait for it.
const isKnown = (lock, elapsed) => !(lock.library && elapsed === 0);

const waitOf = (lock, place) => (isKnown(lock, place.waited_ms)
  ? `, for ${duration(place.waited_ms + age())}` : "");

const elapsed = (lock, ms) => (isKnown(lock, ms) ? running(ms) : el("span.muted", "–"));

function sentence(lock) {
  const { holders, waiters } = lock;
  const parts = [];
  if (lock.override === 0) parts.push("It is drained: there are no new grants.");
  else if (lock.override !== null) parts.push(`An override sets its limit to ${lock.override}.`);
  if (lock.library) {
    parts.push(lock.holder_count > 0
      ? `${plural(lock.holder_count, "owner holds", "owners hold")} it, with ${lock.library}.`
      : `Nobody holds it. It is a lock of ${lock.library}.`);
  } else if (holders.length === 1) {
    const [only] = holders;
    parts.push(`${only.owner} has held it for ${duration(only.held_ms + age())}.`);
  } else if (holders.length > 1) {
    parts.push(`${plural(lock.holder_count, "owner holds", "owners hold")} it (the limit is ` +
      `${count(lock.limit)}), the oldest for ${duration(holders[0].held_ms + age())}.`);
  } else if (lock.cooling_ms > 0) {
    parts.push(`Nobody holds it; its cooldown ends in ${duration(lock.cooling_ms)}.`);
  } else if (lock.reserved > 0) {
    parts.push("Nobody holds it; it is reserved for a waiter that is away.");
  } else if (lock.type) {
    parts.push(`It has a ${lock.type}, which is no lock of a library that fairlock knows.`);
  } else parts.push("Nobody holds it.");
  if (waiters === 0) parts.push("Nobody is waiting.");
  else {
    const first = lock.line.find((place) => place.state === "waiting") || lock.line[0];
    parts.push(`${plural(waiters, "owner is waiting", "owners are waiting")}` +
      (first ? `; the first, ${first.owner}${waitOf(lock, first)}.` : "."));
  }
  return parts.join(" ");
}

// Whether that waiter can be granted the lock once the holds in `ending` have ended.
function isGrantedThen(lock, next, ending) {
  const others = lock.holder_count - ending.length;
  const limit = lock.override === null ? Math.min(next.limit, lock.limit) : lock.override;
  if (next !== lock.line[0] || next.state !== "waiting" || next.keys > 1) return false;
  if (lock.reserved > 0 || lock.cooling_ms > 0) return false;
  return others === 0 || (next.mode === lock.mode && limit > others);
}

function whoIsNext(lock, ending) {
  const next = lock.line.find((place) => place.state === "waiting") || lock.line[0];
  if (lock.override === 0) {
    return "It is drained: nobody is granted it while the override is in force.";
  }
  if (!next) {
    return lock.holder_count > ending.length ? "Nobody is waiting."
      : "Nobody is waiting, so the lock becomes free.";
  }
  if (lock.library) return `${next.owner} is notified and tries again.`;
  return isGrantedThen(lock, next, ending)
    ? `The next waiter, ${next.owner}, is granted it at once.`
    : `The next waiter is ${next.owner}, which is granted it when a slot is free.`;
}

const kNotTold = "The holder is not notified: it continues to work under the lock until it " +
  "notices. Only a resource that refuses old tokens is protected from this.";

const nothingToEnd = (lock) => `Nothing to end: they no longer held ${lock.key}.`;

// Ends holds one at a time, each by its owner, so that an owner that came later keeps its hold.
async function endHolds(lock, ending, body) {
  let ended = 0;
  for (const holder of ending) {
    ended += (await post("break", { ...body, ...fieldOf(holder, "owner") }, lock.partition))
      .broken;
  }
  return ended ? `${plural(ended, "hold", "holds")} of ${lock.key} ended.` : nothingToEnd(lock);
}

// Ends reservations and cooldowns, which have no holder to name.
async function endRooms(lock, body) {
  const { path: [db, key] } = state.route;
  const { holders } = await get(`locks/${db}/${key}`, {}, lock.partition);
  if (holders.length > 0) return `Nothing to end: ${holders[0].owner} holds ${lock.key} now.`;
  const { broken } = await post("break", body, lock.partition);
  return broken ? `${plural(broken, "hold", "holds")} of ${lock.key} ended.`
    : `${lock.key} is free.`;
}

function whoLosesIt(lock, ending) {
  const lines = ending.length > kNamedInLines
    ? [`${plural(ending.length, "holder loses", "holders lose")} ${lock.key}:`]
    : ending.map((one) => `${one.owner} loses ${lock.key}` + (isKnown(lock, one.held_ms)
        ? `, which it has held for ${duration(one.held_ms + age())}.` : "."));
  const others = lock.holder_count - lock.holders.length;
  return others > 0 && ending.length > 1
    ? [...lines, `${plural(others, "holder that is not shown keeps",
      "holders that are not shown keep")} it.`]
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
    fields: [{ name: "reason", label: "Reason (recorded in the history)", maxLength: 256 }],
    confirm: "Break lock",
    act: async ({ reason }) => {
      const body = { ...fieldOf(lock, "key"), db: lock.db, ...(reason ? { reason } : {}) };
      return ending.length > 0 ? endHolds(lock, ending, body) : endRooms(lock, body);
    },
  });
}

function cancelPlace(lock, place) {
  confirm({
    title: `Remove ${place.owner} from the queue`,
    lines: [`It has waited for ${lock.key} for ${duration(place.waited_ms + age())}, at position ` +
      `${place.position}.`, "Its request is answered with the error CANCELLED. If it asks again, " +
      "it joins at the end of the queue."],
    confirm: "Remove",
    act: async () => {
      const { cancelled } = await post("cancel",
        { ...fieldOf(lock, "key"), db: lock.db, ...fieldOf(place, "owner") }, lock.partition);
      return cancelled ? `${place.owner} is no longer waiting.`
        : `${place.owner} was no longer in the queue.`;
    },
  });
}

function holderColumns(lock) {
  return [
    { name: "Owner", isWide: true, line: 1, isBare: true, cell: (row) => el("strong", row.owner) },
    { name: "Held for", isNumber: true, cell: (row) => elapsed(lock, row.held_ms) },
    { name: "Lease left", isNumber: true, cell: (row) => [row.leaving ? "leaving: " : null,
      left(row.ttl_ms, row.session !== null ? "with its session" : "no expiry")] },
    { name: "Client", isWide: true, line: 3, isBare: true, cell: client },
    { name: "Token", isNumber: true, cell: (row) => row.token || el("span.muted", "–") },
    { name: "Label", line: 1, isBare: true, isEmpty: (row) => !row.label, cell: labelOf },
    { name: "Meta", isWide: true, line: 3, isBare: true, isEmpty: (row) => !row.meta,
      cell: (row) => (row.meta ? el("code", row.meta)
: el("span.muted", "–")) },
    { name: "Act", isUnseen: true, line: 1, cell: (row) => (lock.holder_count > 1
      ? actButton("break", "End", () => breakHolds(lock, row),
        { "aria-label": `End the hold of ${row.owner}` }) : null) },
  ];
}

// Chooses the waiter that the chain is about.
function whyButton(row) {
  if (row.state !== "waiting") return null;
  const why = pathOf(row, "owner");
  const isChosen = state.route.query.why === why;
  return button("Why", () => changeQuery({ why: isChosen ? "" : why }),
    { "aria-label": `Why ${row.owner} waits`, "aria-pressed": String(isChosen) });
}

function placeColumns(lock) {
  return [
    { name: "Position", isNumber: true, line: 1, isBare: true, cell: (row) => row.position },
    { name: "Owner", isWide: true, line: 1, isBare: true, cell: (row) => el("strong", row.owner) },
    { name: "Waited", isNumber: true, cell: (row) => elapsed(lock, row.waited_ms) },
    { name: "Times out in", isNumber: true,
      cell: (row) => left(row.state === "waiting" ? row.wait_left_ms : row.keep_ms, "never") },
    { name: "State", line: 1, isBare: true, cell: (row) => el("span.tag", row.state) },
    { name: "Client", isWide: true, line: 3, isBare: true, cell: client },
    { name: "Act", isUnseen: true, line: 1, cell: (row) => (lock.library ? null
      : el("span.acts", whyButton(row), actButton("cancel", "Remove",
        () => cancelPlace(lock, row), { "aria-label": `Remove ${row.owner}` }))) },
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
    ["Denied", count(lock.denied)], ["Leases expired", count(lock.expired)],
    ["Mean hold", duration(lock.hold_mean_ms)], ["Mean wait", duration(lock.wait_mean_ms)]];
  return el("dl.facts", facts.map(([name, value]) =>
    el("div", { key: name }, el("dt", name), el("dd", value))));
}

function holdersPanel(lock) {
  if (lock.holders.length === 0) {
    return panel("Holders", null, empty("Nobody holds it", "Its history is below."));
  }
  return panel("Holders", null,
    table("Holders of this lock", holderColumns(lock), lock.holders,
      (row) => (lock.library ? row.owner : row.token)),
    lock.holder_count > lock.holders.length ? el("p.muted.note",
      `The first ${lock.holders.length} holders; there are ` +
      `${count(lock.holder_count - lock.holders.length)} more.`) : null);
}

function linePanel({ lock, places, from }) {
  const first = from ? button("First page", () => changeQuery({ from: "" })) : null;
  if (places.length === 0) {
    return panel("Queue", null, from ? empty("No waiters here", "The queue is shorter than that.")
      : empty("Nobody is waiting", "The next request is granted as soon as a slot is free."),
    first && paging(first));
  }
  const isMore = places.length === kPlaces;
  return panel("Queue", null,
    table("Waiters in queue order", placeColumns(lock), places, (row) => row.position),
    from || isMore ? paging(el("span.muted",
      `Waiters ${count(from + 1)} to ${count(from + places.length)} of ${count(lock.waiters)}`),
    first, isMore ? button("Next page",
      () => changeQuery({ from: String(from + places.length) })) : null) : null);
}

function historyPanel(history) {
  const { before, since } = state.route.query;
  return panel("History", timeChoice({ before: "" }), history.events.length === 0
    ? empty(before ? "There are no older events" : since ? "There are no events in this period"
      : "There are no events", "The history has a fixed size and drops the oldest events.")
    : table("Events of this lock, newest first", kEventColumns, history.events),
  before || history.next_before !== null ? paging(
    before ? button("Newest", () => changeQuery({ before: "" })) : null,
    history.next_before !== null ? button("Older",
      () => changeQuery({ before: String(history.next_before) })) : null) : null);
}

function view() {
  const { lock, history, chain } = state.data;
  if (!lock) return [heading("Lock"), placeholder()];
  const isHeld = lock.holders.length > 0 || lock.reserved > 0 || lock.cooling_ms > 0;
  return [
    heading(lock.key, lock.db ? el("span.tag", `db ${lock.db}`) : null,
      lock.partition === undefined ? null : el("span.tag", `partition ${lock.partition}`),
      isHeld ? actButton("break", "Break this lock …", () => breakHolds(lock)) : null),
    el("p.sentence", sentence(lock)),
    chainPanel(chain, lock),
    holdersPanel(lock),
    linePanel(state.data),
    historyPanel(history),
    panel("Counters", null, counters(lock)),
  ];
}

export default { title: "Lock", everyMs: 1500, load, view };
