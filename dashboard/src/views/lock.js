// One lock: who has it, who waits, what happened, and how to free it.
import { el } from "../el.js";
import { fieldOf, get, post } from "../api.js";
import { age, state } from "../state.js";
import { actButton, client, empty, heading, labelOf, left, panel, placeholder, running, table }
  from "../parts.js";
import { count, duration, moment, plural } from "../format.js";
import { confirm } from "../dialog.js";

async function load({ path: [db, key] }) {
  const [lock, { history }] = await Promise.all([
    get(`locks/${db}/${key}`),
    loadHistory(db, key),
  ]);
  return { lock, history };
}

// By the bytes of the key, as they stand in the path.
function loadHistory(db, key) { return get(`history?db=${db}&count=50&key=${key}`); }

function sentence(lock) {
  const { holders, waiters } = lock;
  const parts = [];
  if (lock.override === 0) parts.push("It is drained: nobody new is let in.");
  else if (lock.override !== null) parts.push(`An override sets its limit to ${lock.override}.`);
  if (holders.length === 1) {
    const [only] = holders;
    parts.push(`${only.owner} has held it for ${duration(only.held_ms + age())}.`);
  } else if (holders.length > 1) {
    parts.push(`${plural(holders.length, "owner holds", "owners hold")} it, up to ` +
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

function whoIsNext(lock) {
  const next = lock.line.find((place) => place.state === "waiting") || lock.line[0];
  return next ? `The next in line, ${next.owner}, is granted it at once.`
    : "Nobody waits, so it is free then.";
}

const kNotTold = "The holder is not told: what it does under the lock goes on until it notices. " +
  "Only a resource that refuses old tokens is safe from that.";

function breakHolds(lock, holder) {
  const who = holder ? holder.owner
    : plural(lock.holders.length, "holder", "holders");
  const lines = holder
    ? [`${holder.owner} loses ${lock.key}, which it has held for ` +
        `${duration(holder.held_ms + age())}.`]
    : lock.holders.map((one) => `${one.owner} loses ${lock.key}, held for ` +
        `${duration(one.held_ms + age())}.`).slice(0, 8);
  if (!holder && lock.holders.length > 8) {
    lines.push(`And ${count(lock.holders.length - 8)} more holders.`);
  }
  confirm({
    title: holder && lock.holders.length > 1 ? `End the hold of ${who}` : `Break ${lock.key}`,
    lines: [...lines, whoIsNext(lock), kNotTold],
    fields: [{ name: "reason", label: "Reason, for the history", maxLength: 256 }],
    confirm: "Break it",
    act: async ({ reason }) => {
      const body = { ...fieldOf(lock, "key"), db: lock.db, ...(reason ? { reason } : {}),
        ...(holder ? fieldOf(holder, "owner") : {}) };
      const { broken } = await post("break", body);
      return broken ? `${plural(broken, "hold", "holds")} of ${lock.key} ended.`
        : `Nothing to end: ${lock.key} was not held any more.`;
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
    { name: "Owner", isWide: true, cell: (row) => el("strong", row.owner) },
    { name: "Held for", isNumber: true, cell: (row) => running(row.held_ms) },
    { name: "Lease left", isNumber: true, cell: (row) => left(row.ttl_ms,
      row.session !== null ? "with its session" : "no end") },
    { name: "Client", isWide: true, cell: client },
    { name: "Token", isNumber: true, cell: (row) => row.token },
    { name: "Label", cell: labelOf },
    { name: "Meta", isWide: true, cell: (row) => (row.meta ? el("code", row.meta)
      : el("span.muted", "–")) },
    { name: "Act", isUnseen: true, cell: (row) => (lock.holders.length > 1
      ? actButton("End", () => breakHolds(lock, row),
        { "aria-label": `End the hold of ${row.owner}` }) : null) },
  ];
}

function placeColumns(lock) {
  return [
    { name: "Position", isNumber: true, cell: (row) => row.position },
    { name: "Owner", isWide: true, cell: (row) => el("strong", row.owner) },
    { name: "Waited", isNumber: true, cell: (row) => running(row.waited_ms) },
    { name: "Gives up in", isNumber: true,
      cell: (row) => left(row.state === "waiting" ? row.wait_left_ms : row.keep_ms, "never") },
    { name: "State", cell: (row) => el("span.tag", row.state) },
    { name: "Client", isWide: true, cell: client },
    { name: "Act", isUnseen: true, cell: (row) => actButton("Take out",
      () => cancelPlace(lock, row), { "aria-label": `Take out ${row.owner}` }) },
  ];
}

const kEventColumns = [
  { name: "When", cell: (row) => moment(row.last_at) },
  { name: "Event", cell: (row) => el("span.tag", { class: { bad: row.event === "broken" ||
    row.event === "expired" } }, row.event, row.count > 1 ? ` × ${count(row.count)}` : "") },
  { name: "Owner", isWide: true, cell: (row) => row.owner || "–" },
  { name: "After", isNumber: true, cell: (row) => (row.held_ms ? duration(row.held_ms)
    : row.waited_ms ? `${duration(row.waited_ms)} wait` : "–") },
  { name: "Why", isWide: true, cell: (row) => [row.reason, row.holder && `holder ${row.holder}`,
    row.by && `by ${row.by}`, row.comment && `“${row.comment}”`]
    .filter(Boolean).join(", ") || "–" },
];

function counters(lock) {
  const facts = [["Limit", count(lock.limit)], ["Mode", lock.mode || "–"],
    ["Acquired", count(lock.acquired)], ["After a wait", count(lock.granted_after_wait)],
    ["Denied", count(lock.denied)], ["Leases ended", count(lock.expired)],
    ["Mean hold", duration(lock.hold_mean_ms)], ["Mean wait", duration(lock.wait_mean_ms)]];
  return el("dl.facts", facts.map(([name, value]) =>
    el("div", { key: name }, el("dt", name), el("dd", value))));
}

function view() {
  const { lock, history } = state.data;
  if (!lock) return [heading("Lock"), placeholder()];
  const isHeld = lock.holders.length > 0 || lock.reserved > 0 || lock.cooling_ms > 0;
  return [
    heading(lock.key, lock.db ? el("span.tag", `db ${lock.db}`) : null,
      isHeld ? actButton("Break this lock …", () => breakHolds(lock)) : null),
    el("p.sentence", sentence(lock)),
    panel("Holders", null, lock.holders.length === 0
      ? empty("Nobody holds it", "What happened to it is below.")
      : table("Holders of this lock", holderColumns(lock), lock.holders, (row) => row.token)),
    panel("Line", null, lock.line.length === 0
      ? empty("Nobody waits", "The next to ask is granted it as soon as there is room.")
      : [table("Who waits, in order", placeColumns(lock), lock.line, (row) => row.position),
        lock.waiters > lock.line.length
          ? el("p.muted.note", `The first ${lock.line.length} of ${count(lock.waiters)}.`) : null]),
    panel("History", null, history.events.length === 0
      ? empty("Nothing is remembered", "History has a fixed size; the oldest is forgotten.")
      : table("What happened to this lock, the newest first", kEventColumns, history.events)),
    panel("Counted", null, counters(lock)),
  ];
}

export default { title: "Lock", everyMs: 1500, load, view };
