// Tables whose rows can be sorted and selected, and which become cards of three lines on phones.
import { el } from "./el.js";
import { changeQuery, state } from "./state.js";
import { choice } from "./parts.js";

// A column is {name, cell(row), isNumber, isWide, hint, isUnseen, line: 1 to 3 on the card (default
// 2), isBare: no name on the card, isEmpty(row): omitted from the card, sort: its name in the URL,
// sortBy(row)}.
const classOf = (column, row) => [{ num: column.isNumber, wide: column.isWide,
  bare: column.isBare, none: row && column.isEmpty && column.isEmpty(row) },
`line${column.line || 2}`];

// By default, numbers are sorted with the largest first, and texts alphabetically.
const isFalling = (column, order) => Boolean(column.isNumber) !== order.isReversed;

export function orderOf(query, otherwise) {
  return { by: query.sort === undefined ? otherwise : query.sort,
    isReversed: query.reverse === "1" };
}

function chooseOrder(by, isReversed) {
  changeQuery({ sort: by, reverse: isReversed ? "1" : "", cursor: "", count: "", after: "" });
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a) < String(b) ? -1 : Number(String(a) > String(b));
}

const isNothing = (value) => value === null || value === undefined || value === "";

// Empty values come last in both directions; rows with equal values keep their order.
export function sorted(columns, rows, order) {
  const column = columns.find((one) => one.sort === order.by && one.sortBy);
  if (!column) return rows;
  const sign = isFalling(column, order) ? -1 : 1;
  return rows.map((row) => ({ row, value: column.sortBy(row) })).sort((a, b) => {
    if (isNothing(a.value) || isNothing(b.value)) return isNothing(a.value) - isNothing(b.value);
    return sign * compare(a.value, b.value);
  }).map((one) => one.row);
}

function headerOf(column, order) {
  const name = column.isUnseen ? el("span.unseen", column.name) : column.name;
  const attributes = { key: column.name, scope: "col", class: classOf(column), title: column.hint };
  if (!order || !column.sort) return el("th", attributes, name);
  const isChosen = order.by === column.sort;
  const direction = !isChosen ? "none" : isFalling(column, order) ? "descending" : "ascending";
  const arrow = { none: "", ascending: "▲", descending: "▼" }[direction];
  return el("th", { ...attributes, "aria-sort": direction },
    el("button.sort", { type: "button",
      onclick: () => chooseOrder(column.sort, isChosen && !order.isReversed) },
    name, el("span.arrow", { "aria-hidden": "true" }, arrow)));
}

// A menu of the sort orders, for screens that are too narrow for table headers.
export function sortChoice(columns, order, further = []) {
  const options = columns.filter((column) => column.sort).flatMap((column) => {
    const [first, second] = column.isNumber ? ["most first", "least first"] : ["A to Z", "Z to A"];
    return [[column.sort, `${column.name}, ${first}`], [`${column.sort} 1`,
      `${column.name}, ${second}`]];
  });
  return el("span.narrow-only", choice("Sort by", [...options, ...further],
    order.by + (order.isReversed ? " 1" : ""), (value) => {
      const [by, reversed] = value.split(" ");
      chooseOrder(by, reversed === "1");
    }));
}

function selectionCell(selection, row) {
  return el("td.line1.pick", { key: "Select", "data-name": "Select" },
    el("input", { type: "checkbox", checked: selection.has(row),
      "aria-label": `Select ${selection.nameOf(row)}`, onchange: () => selection.toggle(row) }));
}

function selectionHeader(selection, rows) {
  const isAll = rows.length > 0 && rows.every((row) => selection.has(row));
  return el("th.pick", { key: "Select", scope: "col" }, el("input", { type: "checkbox",
    checked: isAll, "aria-label": "Select all shown",
    onchange: (event) => selection.setAll(rows, event.target.checked) }));
}

// Options: {foot: a row, order, selection, rowClass(row)}.
export function table(caption, columns, rows, keyOf, { foot, order, selection, rowClass } = {}) {
  const cells = (row) => columns.map((column) =>
    el("td", { class: classOf(column, row), key: column.name, "data-name": column.name },
      column.cell(row)));
  return el("div.scroll", { tabindex: "0", role: "region", "aria-label": caption },
    el("table", el("caption.unseen", caption),
      el("thead", el("tr", selection ? selectionHeader(selection, rows) : null,
        columns.map((column) => headerOf(column, order)))),
      el("tbody", rows.map((row, index) => el("tr", { key: keyOf ? keyOf(row) : index,
        class: rowClass && rowClass(row) }, selection ? selectionCell(selection, row) : null,
      cells(row)))),
      foot ? el("tfoot", el("tr", columns.map((column, index) =>
        el(index === 0 ? "th" : "td", { scope: index === 0 ? "row" : undefined,
          class: classOf(column, foot), "data-name": column.name },
        column.cell(foot))))) : null));
}

// Filters, which are collapsed on phones. `set` is the number of active filters.
export function filters(name, set, ...fields) {
  const isOpen = state.areFiltersOpen;
  return el("form.filters", { role: "search", "aria-label": name, class: { folded: !isOpen },
    onsubmit: (event) => event.preventDefault() },
  el("button.narrow-only.fold", { type: "button", "aria-expanded": String(isOpen),
    onclick: () => { state.areFiltersOpen = !isOpen; } },
  set ? `Filters (${set} set)` : "Filters"), ...fields);
}
