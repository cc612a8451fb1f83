// All locks, by filters.
import { el } from "../el.js";
import { get, post } from "../api.js";
import { changeQuery, state } from "../state.js";
import { actButton, button, choice, empty, filter, heading, keyLink, labelOf, paging, panel,
  placeholder, running, table } from "../parts.js";
import { count, kDurationPattern, plural } from "../format.js";
import { confirm } from "../dialog.js";

const kPage = 50;
const kRowsMax = 1000;
// A page of a walk may be empty with others behind it.
const kEmptyPagesMax = 10;
const kSorts = [["wait", "longest wait"], ["hold", "longest hold"], ["waiters", "most waiters"],
  ["holders", "most holders"], ["", "none, page by page"]];

const sortOf = (query) => (query.sort === undefined ? "wait" : query.sort === "none" ? ""
  : query.sort);

async function load({ query }) {
  const sort = sortOf(query);
  const ask = (cursor) => get("locks", {
    match: query.match, label: query.label, owner: query.owner, db: query.db,
    waiting: query.waiting, held: query.held, no_expiry: query.endless === "1",
    sort, count: query.count || kPage, cursor,
  });
  let locks = await ask(sort ? "" : query.cursor);
  for (let n = 1; n < kEmptyPagesMax && !locks.locks.length && locks.cursor !== "0"; ++n) {
    locks = await ask(locks.cursor);
  }
  return { locks };
}

const kColumns = [
  { name: "Lock", isWide: true, cell: (row) => keyLink(row) },
  { name: "Waiting", isNumber: true, cell: (row) => count(row.waiters) },
  { name: "Longest wait", isNumber: true,
    cell: (row) => (row.waiters ? running(row.longest_wait_ms) : "–") },
  { name: "Holders", isNumber: true,
    cell: (row) => (row.limit > 1 ? `${count(row.holders)} of ${count(row.limit)}`
      : count(row.holders)) },
  { name: "Held for", isNumber: true,
    cell: (row) => (row.holders ? running(row.oldest_hold_ms) : "–") },
  { name: "First holder", isWide: true, cell: (row) => row.first_owner || el("span.muted", "–") },
  { name: "Label", cell: (row) => labelOf(row) },
];

function textFilter(label, name, attributes) {
  return filter(label, name, (text) => changeQuery({ [name]: text, cursor: "", count: "" }),
    attributes);
}

function filters() {
  const query = state.route.query;
  return el("form.filters", { role: "search", "aria-label": "Filter of locks",
    onsubmit: (event) => event.preventDefault() },
  textFilter("Key matches", "match", { placeholder: "order:*", id: "filter" }),
  textFilter("Label", "label"),
  textFilter("Owner", "owner"),
  textFilter("Waited at least", "waiting", { placeholder: "10s", pattern: kDurationPattern,
    class: "short" }),
  textFilter("Held at least", "held", { placeholder: "5m", pattern: kDurationPattern,
    class: "short" }),
  textFilter("Database", "db", { placeholder: "all", pattern: "[0-9]|1[0-5]", class: "short" }),
  choice("Sort by", kSorts, sortOf(query),
    (value) => changeQuery({ sort: value || "none", cursor: "", count: "" })),
  el("label.check", el("input", { type: "checkbox", checked: query.endless === "1",
    onchange: (event) => changeQuery({ endless: event.target.checked ? "1" : "" }) }),
  "without end"));
}

function linesOfDryRun(answer, match) {
  if (answer.locks === 0) return [`No lock in this database that is held matches ${match}.`];
  const more = answer.locks - answer.keys.length;
  return [
    `${plural(answer.broken, "hold", "holds")} on ${plural(answer.locks, "lock", "locks")} would ` +
      `end at once. Whoever waits next for each of them is granted it.`,
    "The holders are not told: what they do under the lock goes on until they notice.",
    more > 0 ? `The first ${answer.keys.length} of them (${count(more)} more):` : "These:",
  ];
}

function breakMatching() {
  const match = state.route.query.match;
  const db = Number(state.route.query.db || 0);
  confirm({
    title: `Break all that match ${match} in database ${db}`,
    prepare: async () => {
      const answer = await post("break-matching", { match, db, dry_run: true });
      return { lines: linesOfDryRun(answer, match), keys: answer.keys.map((one) => one.key),
        isPossible: answer.locks > 0 };
    },
    fields: [{ name: "reason", label: "Reason, for the history", maxLength: 256 }],
    confirm: "Break them all",
    act: async ({ reason }) => {
      const answer = await post("break-matching", { match, db, ...(reason ? { reason } : {}) });
      return `${plural(answer.broken, "hold", "holds")} ended on ` +
        `${plural(answer.locks, "lock", "locks")}.`;
    },
  });
}

function pages(locks) {
  const { query } = state.route;
  if (sortOf(query)) {
    const shownNow = locks.locks.length;
    const more = Math.min(shownNow * 4, kRowsMax);
    const isMore = locks.found > shownNow && shownNow < kRowsMax;
    return paging(el("span.muted", `${count(shownNow)} of ` +
      `${plural(locks.found, "lock", "locks")}`),
    isMore ? button(`Show ${count(more)}`, () => changeQuery({ count: String(more) })) : null,
    locks.found > kRowsMax && shownNow >= kRowsMax
      ? el("span.muted", "Narrow the filter to see others.") : null);
  }
  return paging(
    query.cursor ? button("First page", () => changeQuery({ cursor: "" })) : null,
    locks.cursor !== "0" ? button("Next page", () => changeQuery({ cursor: locks.cursor }))
      : el("span.muted", "This is the last page."));
}

// It knows the key and the database only: with another filter it would end what is not shown.
function breakButton(query) {
  if (!query.match) return null;
  const isExact = query.db && !["label", "owner", "waiting", "held", "endless"]
    .some((name) => query[name]);
  return isExact ? actButton("Break all that match …", breakMatching)
    : el("span.muted", "To break all that match, filter by key and database only.");
}

function view() {
  const { locks } = state.data;
  const { query } = state.route;
  const breakAll = breakButton(query);
  const isFiltered = Object.keys(query).some((name) => name !== "sort" && query[name]);
  let content = placeholder();
  if (locks && locks.locks.length === 0 && (query.cursor || locks.cursor !== "0")) {
    content = [locks.cursor === "0" ? empty("No further lock", "This was the last page.")
      : empty("None so far", "The next page may have locks that pass this filter."),
    pages(locks)];
  } else if (locks && locks.locks.length === 0) {
    content = isFiltered
      ? empty("No lock passes this filter", "Empty a field to see more.")
      : empty("No locks", "Nobody holds or waits for anything.");
  } else if (locks) {
    content = [table("Locks", kColumns, locks.locks, (row) => `${row.db}/${row.key}`),
      pages(locks)];
  }
  return [heading("Locks", breakAll), filters(), panel("Locks that are held or waited for", null,
    content)];
}

export default { title: "Locks", everyMs: 3000, load, view };
