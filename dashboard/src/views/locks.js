// All locks, with filters.
import { el } from "../el.js";
import { get } from "../api.js";
import { changeQuery, state } from "../state.js";
import { actButton, button, empty, filter, heading, keyLink, labelOf, paging, panel,
  partitionChoice, partitionColumns, placeholder, running } from "../parts.js";
import { filters, orderOf, sortChoice, sorted, table } from "../table.js";
import { askEach, chosenPartition, isSpread, postToAll, rowsIn } from "../partitions.js";
import { breakSelected, identityOf, selection } from "../selection.js";
import { count, kDatabaseFormat, kDurationFormat, plural } from "../format.js";
import { confirm } from "../dialog.js";

const kPage = 50;
const kRowsMax = 1000;
// A page of a scan may be empty although later ones are not.
const kEmptyPagesMax = 10;
const kUnsorted = "none";
const kFilters = ["match", "label", "owner", "waiting", "held", "db", "endless"];

async function load({ query }) {
  const order = orderOf(query, "wait");
  const sort = order.by === kUnsorted ? "" : order.by;
  const pageSize = Number(query.count) || kPage;
  const ask = (cursor, partition) => get("locks", {
    match: query.match, label: query.label, owner: query.owner, db: query.db,
    waiting: query.waiting, held: query.held, no_expiry: query.endless === "1",
    sort, reverse: sort && order.isReversed, count: query.count || kPage, cursor,
  }, partition);
  if (isSpread(query)) {
    const answers = await askEach(query, (partition) => ask("", partition));
    return { locks: mergedLocks(answers, order, pageSize) };
  }
  const partition = chosenPartition(query);
  let locks = await ask(sort ? "" : query.cursor, partition);
  for (let n = 1; n < kEmptyPagesMax && !locks.locks.length && locks.cursor !== "0"; ++n) {
    locks = await ask(locks.cursor, partition);
  }
  return { locks: { ...locks, locks: rowsIn(partition, locks.locks) } };
}

function mergedLocks(answers, order, countMax) {
  const rows = answers.flatMap(({ partition, answer }) => rowsIn(partition, answer.locks));
  const isPart = answers.some(({ answer }) => answer.cursor !== "0");
  return { locks: sorted(kColumns, rows, order).slice(0, countMax), cursor: "0",
    found: answers.reduce((sum, { answer }) => sum + answer.found, 0), isPart };
}

// Most libraries do not store since when a lock is held.
function isAgeKnown(row) {
  return row.holders > 0 && !(row.library && row.oldest_hold_ms === 0);
}

const kColumns = [
  { name: "Lock", sort: "key", sortBy: (row) => row.key, isWide: true, line: 1, isBare: true,
    cell: (row) => keyLink(row) },
  { name: "Waiting", sort: "waiters", sortBy: (row) => row.waiters, isNumber: true,
    cell: (row) => count(row.waiters) },
  { name: "Longest wait", sort: "wait", sortBy: (row) => row.longest_wait_ms, isNumber: true,
    isEmpty: (row) => !row.waiters || row.library,
    cell: (row) => (row.waiters && !row.library ? running(row.longest_wait_ms) : "–") },
  { name: "Holders", sort: "holders", sortBy: (row) => row.holders, isNumber: true,
    cell: (row) => (row.limit > 1 ? `${count(row.holders)} of ${count(row.limit)}`
      : count(row.holders)) },
  { name: "Held for", sort: "hold", sortBy: (row) => row.oldest_hold_ms, isNumber: true, line: 3,
    isEmpty: (row) => !isAgeKnown(row),
    cell: (row) => (isAgeKnown(row) ? running(row.oldest_hold_ms) : "–") },
  { name: "First holder", sort: "owner", sortBy: (row) => row.first_owner, isWide: true, line: 3,
    isBare: true,
    cell: (row) => row.first_owner || el("span.muted", "–") },
  { name: "Label", sort: "label", sortBy: (row) => row.label, line: 1, isBare: true,
    isEmpty: (row) => !row.label && !row.library,
    cell: (row) => labelOf(row) },
];

function textFilter(label, name, attributes, format) {
  return filter(label, name, (text) => changeQuery({ [name]: text, cursor: "", count: "" }),
    attributes, format);
}

function filterForm() {
  const query = state.route.query;
  return filters("Lock filter", kFilters.filter((name) => query[name]).length,
    textFilter("Key matches", "match", { placeholder: "order:*", id: "filter" }),
    textFilter("Label", "label"),
    textFilter("Owner", "owner"),
    textFilter("Waited at least", "waiting", { placeholder: "10s", class: "short" },
      kDurationFormat),
    textFilter("Held at least", "held", { placeholder: "5m", class: "short" }, kDurationFormat),
    textFilter("Database", "db", { placeholder: "all", class: "short" }, kDatabaseFormat),
    el("label.check", el("input", { type: "checkbox", checked: query.endless === "1",
      onchange: (event) => changeQuery({ endless: event.target.checked ? "1" : "", cursor: "",
        count: "" }) }), "no expiry"),
    el("label.check", el("input", { type: "checkbox",
      checked: orderOf(query, "wait").by === kUnsorted,
      onchange: (event) => changeQuery({ sort: event.target.checked ? kUnsorted : "", reverse: "",
        cursor: "", count: "" }) }), "unsorted, page by page"),
    sortChoice(kColumns, orderOf(query, "wait"), [[kUnsorted, "unsorted"]]));
}

function linesOfDryRun(answer, match) {
  if (answer.locks === 0) return [`No held lock in this database matches ${match}.`];
  const more = answer.locks - answer.keys.length;
  return [
    `${plural(answer.broken, "hold", "holds")} on ${plural(answer.locks, "lock", "locks")} would ` +
      `end at once. The first waiter in each queue is granted its lock.`,
    "Holders are not notified: they continue to work under the lock until they notice.",
    more > 0 ? `The first ${answer.keys.length} of them (${count(more)} more):` : "These:",
  ];
}

// Adds up the answers of the partitions that the page shows.
async function breakAll(body) {
  const { answers, unreached } =
    await postToAll("break-matching", body, chosenPartition(state.route.query));
  const sum = (field) => answers.reduce((total, one) => total + one[field], 0);
  return { unreached, answer: { locks: sum("locks"), broken: sum("broken"),
    keys: answers.flatMap((one) => one.keys) } };
}

function breakMatching() {
  const match = state.route.query.match;
  const db = Number(state.route.query.db || 0);
  confirm({
    title: `Break all locks that match ${match} in database ${db}`,
    prepare: async () => {
      const { answer, unreached } = await breakAll({ match, db, dry_run: true });
      return { lines: [...unreached, ...linesOfDryRun(answer, match)],
        keys: answer.keys.map((one) => one.key), isPossible: answer.locks > 0 };
    },
    fields: [{ name: "reason", label: "Reason (recorded in the history)", maxLength: 256 }],
    confirm: "Break them all",
    act: async ({ reason }) => {
      const { answer, unreached } =
        await breakAll({ match, db, ...(reason ? { reason } : {}) });
      return [`${plural(answer.broken, "hold", "holds")} ended on ` +
        `${plural(answer.locks, "lock", "locks")}.`, ...unreached].join(" ");
    },
  });
}

function pages(locks) {
  const { query } = state.route;
  if (orderOf(query, "wait").by !== kUnsorted) {
    const shownNow = locks.locks.length;
    const more = Math.min(shownNow * 4, kRowsMax);
    const isMore = locks.found > shownNow && shownNow < kRowsMax;
    return paging(el("span.muted", `${count(shownNow)} of ` +
      `${plural(locks.found, "lock", "locks")}`),
    isMore ? button(`Show ${count(more)}`, () => changeQuery({ count: String(more) })) : null,
    locks.found > kRowsMax && shownNow >= kRowsMax
      ? el("span.muted", "Narrow the filter to see others.") : null);
  }
  if (isSpread(query)) {
    return paging(el("span.muted", locks.isPart
      ? "There are more locks: choose a partition to see all of its locks." : "These are all."));
  }
  return paging(
    query.cursor ? button("First page", () => changeQuery({ cursor: "" })) : null,
    locks.cursor !== "0" ? button("Next page", () => changeQuery({ cursor: locks.cursor }))
      : el("span.muted", "This is the last page."));
}

// The command knows only the key and the database; with any other filter, it would end locks that
// are not shown.
function breakButton(query) {
  if (!query.match || selection.count()) return null;
  const isExact = query.db && !["label", "owner", "waiting", "held", "endless"]
    .some((name) => query[name]);
  return isExact ? actButton("break", "Break all matches …", breakMatching)
    : el("span.muted", "To break all matches, filter by key and database only.");
}

function selectionBar() {
  if (!selection.count()) return null;
  return el("div.selected", { role: "group", "aria-label": "Selected locks" },
    el("strong", `${count(selection.count())} selected`),
    el("span.muted", selection.isFull() ? "You cannot select more at once."
      : "The list is not updated meanwhile."),
    button("Clear", selection.clear),
    actButton("break", "Break selected …", breakSelected));
}

function contentOf(locks) {
  if (!locks) return placeholder();
  const { query } = state.route;
  if (locks.locks.length > 0) {
    return [table("Locks", [...kColumns, ...partitionColumns()], locks.locks, identityOf,
      { order: orderOf(query, "wait"), selection }), pages(locks)];
  }
  if (query.cursor || locks.cursor !== "0") {
    return [locks.cursor === "0" ? empty("No more locks", "This was the last page.")
      : empty("None on this page", "The next page may have locks that match this filter."),
    pages(locks)];
  }
  return kFilters.some((name) => query[name])
    ? empty("No lock matches this filter", "Clear a field to see more.")
    : empty("No locks", "No lock is held or waited for.");
}

function view() {
  const { locks } = state.data;
  return [heading("Locks", partitionChoice(), breakButton(state.route.query)), filterForm(),
    selectionBar(), panel("Held and awaited locks", null, contentOf(locks))];
}

export default { title: "Locks", everyMs: 3000, load, view };
