// Components that several views use.
import { el } from "./el.js";
import { pathOf } from "./api.js";
import { age, changeQuery, kFailed, kLoading, linkTo, state, whileTyping } from "./state.js";
import { partitionCount } from "./partitions.js";
import { duration } from "./format.js";

export function heading(title, ...beside) {
  return el("header.heading", el("h1", { tabindex: "-1", id: "title" }, title),
    el("div.beside", ...beside));
}

export function panel(title, beside, ...children) {
  return el("section.panel", { "aria-label": title },
    el("header", el("h2", title), beside ? el("div.beside", beside) : null), ...children);
}

export function empty(title, text) {
  return el("div.empty", el("strong", title), el("p", text));
}

// Shown instead of content while loading, or after a failure.
export function placeholder() {
  if (state.phase === kLoading) {
    return el("div.skeleton", { "aria-busy": "true", "aria-label": "Loading", role: "status" },
      [1, 2, 3, 4, 5].map((line) => el("div.bar", { key: line })));
  }
  if (state.phase !== kFailed) return null;
  if (state.lostSince) {
    return empty("No connection yet", "The server does not respond. The page keeps trying.");
  }
  return el("div.empty.wrong", { role: "alert" },
    el("strong", state.isFilterWrong ? "Invalid filter" : "The data cannot be shown"),
    el("p", state.error));
}

export function button(text, act, attributes = {}) {
  return el("button", { type: "button", onclick: act, ...attributes }, text);
}

// The line below a table: the current position and buttons for other pages.
export function paging(...parts) { return el("p.note.paging", ...parts); }

// A button that changes something. `what` is one of the permissions that `access` lists; without it
// the button is disabled and says why.
export function actButton(what, text, act, attributes = {}) {
  const mayAct = state.may.includes(what);
  const why = mayAct ? undefined : state.may.length || state.user
    ? `${state.user || "This user"} lacks permission for this`
    : "Requires a user or the token: see Access above";
  return button(text, act, { class: "danger", disabled: !mayAct, title: why, ...attributes });
}

export function keyLink(row, key = "key", db = row.db, query = {}) {
  const { partition } = row;
  const href = linkTo("lock", [db, pathOf(row, key)], { partition, ...query });
  return el("a.key", { href }, row[key],
    db ? el("span.tag", `db ${db}`) : null);
}

// Leads to the locks that the owner of a hold or place holds or waits for. `lock` is one of them.
export function ownerLink(claim, lock) {
  const name = el("strong", claim.owner);
  // The address cannot name bytes that are not UTF-8.
  if (claim.owner_base64 !== undefined) return name;
  return el("a.owner", { href: linkTo("locks", [], { owner: claim.owner, db: lock.db }) }, name);
}

// Shows a duration that keeps growing after it was received.
export function running(ms, attributes = {}) {
  return el("span.time", attributes, ms === null ? "–" : duration(ms + age()));
}

// Shows a duration that counts down.
export function left(ms, never) {
  if (ms === null || ms === undefined) return el("span.muted", never);
  const rest = ms - age();
  return el("span.time", { class: { soon: rest < 10000 } }, rest <= 0 ? "now" : duration(rest));
}

export function figure(name, value, hint, attributes = {}) {
  return el("div.figure", { title: hint, ...attributes }, el("dt", name), el("dd", value));
}

export function field(label, input, ...beneath) {
  return el("label.field", el("span", label), input, ...beneath);
}

// A text filter is applied this long after the last key was pressed.
const kTypingMs = 400;
const timers = new Map();

function applyLater(name, apply) {
  clearTimeout(timers.get(name));
  timers.set(name, setTimeout(() => {
    timers.delete(name);
    const text = state.typed[name];
    // Undefined: another view is shown by now.
    if (text !== undefined) whileTyping(() => apply(text.trim()));
  }, kTypingMs));
}

// A text filter in the URL's query, applied soon after the last key was pressed, and at once when
// the field loses focus or Enter is pressed. Views are redrawn constantly, so text that is being
// typed is stored separately. `format` is {pattern, example} for valid values; an applied value
// that does not match is marked, and the server's error explains it.
export function filter(label, name, apply, attributes = {}, format = null) {
  const applied = state.route.query[name] || "";
  const typed = state.typed[name];
  const isTyped = typed !== undefined && (timers.has(name) || typed.trim() === applied);
  const value = isTyped ? typed : applied;
  const isWrong = format && applied !== "" && !new RegExp(`^(?:${format.pattern})$`).test(applied);
  const hint = `${name}-hint`;
  return field(label, el("input", { type: "search", value, spellcheck: "false",
    autocomplete: "off", ...attributes, "aria-invalid": isWrong ? "true" : undefined,
    "aria-describedby": isWrong ? hint : undefined,
    oninput: (event) => {
      state.typed[name] = event.target.value;
      applyLater(name, apply);
    },
    onchange: (event) => {
      clearTimeout(timers.get(name));
      timers.delete(name);
      delete state.typed[name];
      apply(event.target.value.trim());
    } }), isWrong ? el("small.wrong", { id: hint }, `Not ${format.example}`) : null);
}

export function choice(label, options, value, choose) {
  return field(label, el("select", {
    onchange: (event) => choose(event.target.value),
  }, options.map(([key, text]) =>
    el("option", { key, value: key, selected: key === value }, text))));
}

// Chooses how far back events are shown. `reset` are the positions of other pages.
const kTimes = [["", "all"], ["10m", "last 10 minutes"], ["1h", "last hour"],
  ["24h", "last 24 hours"]];
export function timeChoice(reset) {
  const since = state.route.query.since || "";
  const isOther = !kTimes.some(([value]) => value === since);
  return choice("Time", isOther ? [...kTimes, [since, `since ${since}`]] : kTimes, since,
    (value) => changeQuery({ since: value, ...reset }));
}

// Chooses one partition or all of them; null: there are none to choose from.
export function partitionChoice() {
  const count = partitionCount();
  if (!count) return null;
  const options = [...Array(count).keys()].map((number) => [String(number), String(number)]);
  // The position in a list is one of the partitions that were chosen before.
  return choice("Partition", [["", "all"], ...options], state.route.query.partition || "",
    (partition) => changeQuery({ partition, cursor: "", count: "", before: "", until: "",
      after: "" }));
}

// For tables: no column if there are no partitions.
export function partitionColumns() {
  if (!partitionCount()) return [];
  return [{ name: "Partition", isNumber: true, line: 3, cell: (row) => row.partition }];
}

export function labelOf(row) {
  if (row.library) return el("span.muted", `(${row.library})`);
  return row.label ? el("a.tag", { href: linkTo("locks", [], { label: row.label }) }, row.label)
    : el("span.muted", "none");
}

// Shows the client of a hold or a waiter.
export function client(row) {
  if (!row.address) return el("span.muted", "unknown");
  const isOpen = row.connected === 1;
  return el("span.client",
    el("span.dot", { class: isOpen ? "good" : "bad", "aria-hidden": "true" }),
    row.name ? `${row.name} ` : "", row.address,
    row.user && row.user !== "default" ? ` as ${row.user}` : "",
    el("span.muted", isOpen ? "" : ", disconnected"));
}
