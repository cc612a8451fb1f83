// Who waits for whom, as a tree: at the top are the owners that block others and wait for nothing.
import { el } from "../el.js";
import { Refusal, get, pathOf } from "../api.js";
import { linkTo, state } from "../state.js";
import { empty, heading, keyLink, ownerLink, panel, partitionChoice, placeholder, running } from
  "../parts.js";
import { mergedWaits } from "../merge.js";
import { askEach } from "../partitions.js";
import { behind, kPlacesMax, waitTree } from "../wait_tree.js";
import { count, plural } from "../format.js";

// A refresh sends one request for the list of locks, to each partition, and one for each of these
// locks: those with the longest waits.
const kLocksMax = 30;
const kWaitsMax = 30;
const kHoldsNamed = 3;

// Returns null for a lock that cannot be read.
async function lockOf(row) {
  try {
    const lock = await get(`locks/${row.db}/${pathOf(row, "key")}`, {}, row.partition);
    return { ...lock, partition: row.partition };
  } catch (error) {
    if (!(error instanceof Refusal) || error.status === 0 || error.status === 401) throw error;
    return null;
  }
}

async function load({ query }) {
  const answers = await askEach(query, (partition) =>
    get("locks", { waiting: "0", sort: "wait", count: kLocksMax }, partition));
  const rows = mergedWaits(answers, Date.now(), kLocksMax);
  const found = answers.reduce((sum, { answer }) => sum + answer.found, 0);
  const locks = (await Promise.all(rows.map(lockOf))).filter((lock) => lock !== null);
  return { roots: waitTree(locks, kWaitsMax, pathOf), found, rows: rows.length,
    unread: rows.length - locks.length };
}

const kStates = {
  drained: (lock) => [keyLink(lock), " is drained by an operator: see ",
    el("a", { href: linkTo("settings") }, "Settings")],
  cooling: (lock) => [keyLink(lock), " is in cooldown"],
  free: (lock) => ["Nobody holds ", keyLink(lock)],
};

// Most libraries do not store since when a lock is held.
const heldText = ({ lock, claim }) => [keyLink(lock), claim.held_ms > 0 || claim.token
  ? [" for ", running(claim.held_ms)] : "", lock.holder_count > 1
  ? ` with ${count(lock.holder_count - 1)} more` : ""];

function holdsText(node) {
  if (node.holds.length === 0) {
    return [node.claim.state === "reserved" ? " has a slot reserved for it, and is absent: "
      : " is ahead for ", keyLink(node.lock)];
  }
  const named = node.holds.slice(0, kHoldsNamed);
  const more = node.holds.length - named.length;
  return [" has held ", named.map((hold, n) => [n ? ", " : "", heldText(hold)]),
    more ? ` and ${plural(more, "more lock", "more locks")}` : ""];
}

function rootText(node) {
  if (node.state) return kStates[node.state](node.lock);
  const waits = node.isInLoop ? [" and waits for an owner below: ", el("strong.bad", "a loop")]
    : node.claim.state === "waiting" ? " and waits for a lock that is not shown" : "";
  return [ownerLink(node.claim, node.lock), holdsText(node), waits];
}

const kEnds = [["isLoop", "this closes a loop"], ["isRepeated", "who waits for it is shown " +
  "elsewhere"], ["isCut", "more wait for it: see its locks"]];

function waitText({ wait, holds, ...node }) {
  const { claim, lock } = wait;
  const ends = kEnds.filter(([name]) => node[name]);
  return [ownerLink(claim, lock), " waits for ",
    keyLink(lock, "key", lock.db, { why: pathOf(claim, "owner") }),
    claim.keys > 1 ? ` (${claim.keys} keys as one)` : "",
    el("span.muted", `, position ${count(claim.position)}`),
    holds && holds.length > 0 ? [" · holds ", holds.slice(0, kHoldsNamed).map((hold, n) =>
      [n ? ", " : "", heldText(hold)])] : "",
    ends.map(([name, text]) => el(name === "isLoop" ? "strong.bad" : "span.muted", { key: name },
      `: ${text}`))];
}

// Most libraries do not store since when an owner waits.
const waitedText = ({ lock, claim }) => (lock.library && !claim.waited_ms
  ? el("span.muted", "–") : running(claim.waited_ms, { class: "strong" }));

function below(node) {
  const { children, hidden } = node;
  if (children.length + hidden.length === 0) return null;
  return el("ul.waits", children.map((child) => el("li",
    { key: `${child.name} ${child.wait.lock.key}` },
    el("div.wait", el("span", waitText(child)), waitedText(child.wait)), below(child))),
  hidden.map(({ lock, count: more }) => el("li.muted", { key: `more ${lock.key}` },
    plural(more, "more owner waits for ", "more owners wait for "), keyLink(lock))));
}

function treeOf(roots) {
  return el("ul.waits.roots", { "aria-label": "Who waits for whom, longest wait first" },
    roots.map((root) => el("li", { key: root.name },
      el("div.wait", el("span", rootText(root)), el("span.tag",
        plural(behind(root), "owner waits", "owners wait"))), below(root))));
}

function notes({ found, rows, unread }) {
  const texts = [
    found > rows && `These are the ${rows} locks with the longest waits, of ${count(found)} with ` +
      "waiters. An owner at the top may wait for one of the others.",
    unread > 0 && `${plural(unread, "lock", "locks")} cannot be read with these credentials.`,
  ].filter(Boolean);
  return texts.map((text) => el("p.muted.note", { key: text }, text));
}

function view() {
  const { roots } = state.data;
  if (!roots) return [heading("Waits", partitionChoice()), placeholder()];
  const all = el("a", { href: linkTo("locks", [], { waiting: "0", sort: "wait",
    partition: state.route.query.partition }) }, "As a list of locks");
  return [heading("Waits", partitionChoice()),
    panel("Who waits for whom", roots.length ? all : null, roots.length === 0
      ? empty("Nobody is waiting", "Every requested lock has been granted.") : treeOf(roots),
    el("p.note.muted", `Longest wait first; at most ${kPlacesMax} waiters of each lock.`),
    notes(state.data))];
}

export default { title: "Waits", everyMs: 5000, load, view };
