// What several views are made of.
import { el } from "./el.js";
import { pathOf } from "./api.js";
import { age, kFailed, kLoading, linkTo, state } from "./state.js";
import { count, duration } from "./format.js";

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

// While there is nothing to show yet, or nothing at all.
export function placeholder() {
  if (state.phase === kLoading) {
    return el("div.skeleton", { "aria-busy": "true", "aria-label": "Loading", role: "status" },
      [1, 2, 3, 4, 5].map((line) => el("div.bar", { key: line })));
  }
  if (state.phase !== kFailed) return null;
  if (state.lostSince) {
    return empty("No connection yet", "The server does not answer. The page keeps asking.");
  }
  return el("div.empty.wrong", { role: "alert" }, el("strong", "This cannot be shown"),
    el("p", state.error));
}

export function button(text, act, attributes = {}) {
  return el("button", { type: "button", onclick: act, ...attributes }, text);
}

// Beneath a table: where it is, and buttons that lead on.
export function paging(...parts) { return el("p.note.paging", ...parts); }

// A button that changes something; it says why if it cannot.
export function actButton(text, act, attributes = {}) {
  const why = state.mayAct ? undefined : "Needs a user or the token: see Access, above";
  return button(text, act, { class: "danger", disabled: !state.mayAct, title: why, ...attributes });
}

export function keyLink(row, key = "key", db = row.db) {
  return el("a.key", { href: linkTo("lock", [db, pathOf(row, key)]) }, row[key],
    db ? el("span.tag", `db ${db}`) : null);
}

// A time that goes on since it was asked for.
export function running(ms, attributes = {}) {
  return el("span.time", attributes, ms === null ? "–" : duration(ms + age()));
}

// One that runs out.
export function left(ms, never) {
  if (ms === null || ms === undefined) return el("span.muted", never);
  const rest = ms - age();
  return el("span.time", { class: { soon: rest < 10000 } }, rest <= 0 ? "now" : duration(rest));
}

// columns: {name, isNumber, cell(row), hint, isWide}
export function table(caption, columns, rows, keyOf, foot) {
  const cellClass = (column) => ({ num: column.isNumber, wide: column.isWide });
  return el("div.scroll", { tabindex: "0", role: "region", "aria-label": caption },
    el("table", el("caption.unseen", caption),
      el("thead", el("tr", columns.map((column) =>
        el("th", { key: column.name, scope: "col", class: cellClass(column), title: column.hint },
          column.isUnseen ? el("span.unseen", column.name) : column.name)))),
      el("tbody", rows.map((row, index) =>
        el("tr", { key: keyOf ? keyOf(row) : index }, columns.map((column) =>
          el("td", { class: cellClass(column), key: column.name, "data-name": column.name },
            column.cell(row)))))),
      foot ? el("tfoot", el("tr", columns.map((column, index) =>
        el(index === 0 ? "th" : "td", { scope: index === 0 ? "row" : undefined,
          class: cellClass(column), "data-name": column.name },
        column.cell(foot))))) : null));
}

export function figure(name, value, hint, attributes = {}) {
  return el("div.figure", { title: hint, ...attributes }, el("dt", name), el("dd", value));
}

export function field(label, input) {
  return el("label.field", el("span", label), input);
}

// A text of the query, applied when it is left or Enter is pressed. Views are drawn anew all the
// time: what is typed meanwhile stays.
export function filter(label, name, apply, attributes = {}) {
  const value = state.typed[name] === undefined ? state.route.query[name] : state.typed[name];
  return field(label, el("input", { type: "search", value: value || "", spellcheck: "false",
    autocomplete: "off", ...attributes,
    oninput: (event) => { state.typed[name] = event.target.value; },
    onchange: (event) => {
      if (!event.target.checkValidity()) return;
      delete state.typed[name];
      apply(event.target.value.trim());
    } }));
}

export function choice(label, options, value, choose) {
  return field(label, el("select", {
    onchange: (event) => choose(event.target.value),
  }, options.map(([key, text]) =>
    el("option", { key, value: key, selected: key === value }, text))));
}

export function labelOf(row) {
  return row.label ? el("a.tag", { href: linkTo("locks", [], { label: row.label }) }, row.label)
    : el("span.muted", "none");
}

// Who is behind a hold or a place.
export function client(row) {
  if (!row.address) return el("span.muted", "unknown");
  const isOpen = row.connected === 1;
  return el("span.client",
    el("span.dot", { class: isOpen ? "good" : "bad", "aria-hidden": "true" }),
    row.name ? `${row.name} ` : "", row.address,
    row.user && row.user !== "default" ? ` as ${row.user}` : "",
    el("span.muted", isOpen ? "" : ", gone"));
}

export function shown(number, noun, many) {
  return el("p.muted.note", `${count(number)} ${number === 1 ? noun : many}`);
}
