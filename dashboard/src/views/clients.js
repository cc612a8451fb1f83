// The connected clients.
import { el } from "../el.js";
import { get, pathOf, post } from "../api.js";
import { changeQuery, linkTo, state } from "../state.js";
import { actButton, button, empty, filter, heading, paging, panel, partitionChoice,
  partitionColumns, placeholder } from "../parts.js";
import { askEach, chosenPartition, isSpread, partitionCount, rowsIn } from "../partitions.js";
import { filters, orderOf, sortChoice, sorted, table } from "../table.js";
import { count, duration } from "../format.js";
import { confirm } from "../dialog.js";

const kPage = 100;
const kSortedMax = 200;
// The smallest number of clients to ask for from each of many partitions.
const kPageMin = 10;
// The server does not filter by name and address, so the page does. A refresh searches at most this
// many connections, with one request for each page; in a fleet, of all partitions together.
const kSearchPage = 200;
const kSearchedMax = 2000;

const isSearch = ({ name, addr }) => Boolean(name || addr);

const contains = (text, part) =>
  String(text || "").toLowerCase().includes((part || "").toLowerCase());

// `ask` returns one page of clients. Returns such a page: those that fit, and where to continue.
async function searched(ask, { name, addr }, after, countMax, lookMax) {
  const found = { clients: [], connected: 0, next: after, looked: 0 };
  do {
    const page = await ask({ after: found.next, count: kSearchPage });
    found.clients.push(...page.clients.filter((row) =>
      contains(row.name, name) && contains(row.addr, addr)));
    found.looked += page.clients.length;
    found.connected = page.connected;
    found.next = page.next;
  } while (found.next && found.clients.length < countMax && found.looked < lookMax);
  return found;
}

async function load({ query }) {
  const countMax = query.sort ? kSortedMax : kPage;
  const ask = (position, partition) => get("clients",
    { ...position, waiting: query.waiting === "1" }, partition);
  const askFor = (after, count, parts, partition) => (isSearch(query)
    ? searched((position) => ask(position, partition), query, after, count, kSearchedMax / parts)
    : ask({ after, count }, partition));
  if (isSpread(query)) {
    const parts = partitionCount();
    const each = Math.max(kPageMin, Math.floor(countMax / parts));
    const answers = await askEach(query, (partition) => askFor("", each, parts, partition));
    const sum = (field) => answers.reduce((total, { answer }) => total + (answer[field] || 0), 0);
    return { clients: {
      clients: answers.flatMap(({ partition, answer }) => rowsIn(partition, answer.clients)),
      connected: sum("connected"), looked: sum("looked"),
      isPart: answers.some(({ answer }) => answer.next) } };
  }
  const partition = chosenPartition(query);
  const clients = await askFor(query.after, countMax, 1, partition);
  return { clients: { ...clients, clients: rowsIn(partition, clients.clients) } };
}

function kill(row) {
  confirm({
    title: `Close connection ${row.id}`,
    lines: [`${row.addr}${row.name ? ` (${row.name})` : ""} loses its connection.`,
      row["wait-key"] ? `It stops waiting for ${row["wait-key"]}.` : "It is not waiting.",
      "Its sessions end. Most clients reconnect automatically."],
    confirm: "Close connection",
    act: async () => {
      const { killed } = await post("clients/kill", { id: row.id }, row.partition);
      return `Connection ${row.id} ${killed ? "is closed" : "was already closed"}.`;
    },
  });
}

const waitedMs = (row) => (row["wait-key"] ? row["waited-ms"] : null);

const kColumns = [
  { name: "Number", sort: "id", sortBy: (row) => -row.id, isNumber: true, line: 3,
    cell: (row) => row.id },
  { name: "Address", sort: "addr", sortBy: (row) => row.addr, isWide: true, line: 1, isBare: true,
    cell: (row) => row.addr },
  { name: "Name", sort: "name", sortBy: (row) => row.name, isWide: true, line: 1, isBare: true,
    isEmpty: (row) => !row.name, cell: (row) => row.name || el("span.muted", "–") },
  { name: "User", sort: "user", sortBy: (row) => row.user, line: 3, cell: (row) => row.user },
  { name: "Connected", sort: "age", sortBy: (row) => row.age, isNumber: true, line: 3,
    cell: (row) => duration(row.age * 1000) },
  { name: "Idle", sort: "idle", sortBy: (row) => row.idle, isNumber: true,
    cell: (row) => duration(row.idle * 1000) },
  { name: "Last command", sort: "cmd", sortBy: (row) => row.cmd,
    cell: (row) => (row.cmd === "NULL" ? "–" : row.cmd) },
  { name: "Waits for", sort: "key", sortBy: (row) => row["wait-key"], isWide: true,
    isEmpty: (row) => !row["wait-key"], cell: (row) => (row["wait-key"]
      ? el("a.key", { href: linkTo("lock", [row.db, pathOf(row, "wait-key")],
        { partition: row.partition }) }, row["wait-key"]) : el("span.muted", "–")) },
  { name: "Waited", sort: "waited", sortBy: waitedMs, isNumber: true,
    isEmpty: (row) => !row["wait-key"],
    cell: (row) => (row["wait-key"] ? duration(row["waited-ms"]) : "–") },
  { name: "Act", isUnseen: true, line: 1, cell: (row) => actButton("clients", "Close",
    () => kill(row), { "aria-label": `Close connection ${row.id}` }) },
];

function pages(clients) {
  const { query } = state.route;
  const isPart = query.sort && (clients.next || query.after || clients.isPart);
  const looked = isSearch(query) && (clients.next || query.after || clients.isPart)
    ? `; searched ${count(clients.looked)} of them` : "";
  return paging(el("span.muted", `${count(clients.connected)} connected in total${looked}` +
    `${isPart ? `; only these ${count(clients.clients.length)} are sorted` : ""}`),
  clients.isPart ? el("span.muted", "Choose a partition to see all of its clients.") : null,
  query.after ? button("First page", () => changeQuery({ after: "" })) : null,
  clients.next ? button("Next page", () => changeQuery({ after: String(clients.next) })) : null);
}

function filterForm(order) {
  const { query } = state.route;
  const set = ["name", "addr", "waiting"].filter((name) => query[name]).length;
  const change = (name) => (value) => changeQuery({ [name]: value, after: "" });
  return filters("Client filter", set,
    filter("Name contains", "name", change("name"), { placeholder: "worker", id: "filter" }),
    filter("Address contains", "addr", change("addr"), { placeholder: "10.0.0.7" }),
    el("label.check", el("input", { type: "checkbox", checked: query.waiting === "1",
      onchange: (event) => change("waiting")(event.target.checked ? "1" : "") }), "only waiting"),
    sortChoice(kColumns, order, [["", "in order of connection"]]));
}

function emptyText({ waiting, ...query }) {
  if (isSearch(query)) return "No connection matches this filter.";
  return waiting === "1" ? "No connection is waiting for a lock."
    : "There are no more connections.";
}

function view() {
  const { clients } = state.data;
  const { query } = state.route;
  const order = orderOf(query, "");
  const top = [heading("Clients", partitionChoice()), filterForm(order)];
  if (!clients) return [...top, placeholder()];
  const rows = sorted(kColumns, clients.clients, order);
  return [
    ...top,
    panel("Connections", null, rows.length === 0
      ? empty("No connections", emptyText(query))
      : table("Connections", [...kColumns, ...partitionColumns()], rows,
        (row) => `${row.partition}/${row.id}`, { order }),
    pages(clients)),
  ];
}

export default { title: "Clients", everyMs: 3000, load, view };
