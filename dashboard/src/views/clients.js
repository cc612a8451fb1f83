// The connected clients.
import { el } from "../el.js";
import { get, pathOf, post } from "../api.js";
import { changeQuery, linkTo, state } from "../state.js";
import { actButton, button, empty, heading, paging, panel, partitionChoice, partitionColumns,
  placeholder } from "../parts.js";
import { askEach, chosenPartition, isSpread, partitionCount, rowsIn } from "../partitions.js";
import { orderOf, sortChoice, sorted, table } from "../table.js";
import { count, duration } from "../format.js";
import { confirm } from "../dialog.js";

const kPage = 100;
const kSortedMax = 200;
// The smallest number of clients to ask for from each of many partitions.
const kPageMin = 10;

async function load({ query }) {
  const countMax = query.sort ? kSortedMax : kPage;
  const ask = (position, partition) => get("clients",
    { ...position, waiting: query.waiting === "1" }, partition);
  if (isSpread(query)) {
    const each = Math.max(kPageMin, Math.floor(countMax / partitionCount()));
    const answers = await askEach(query, (partition) => ask({ count: each }, partition));
    return { clients: {
      clients: answers.flatMap(({ partition, answer }) => rowsIn(partition, answer.clients)),
      connected: answers.reduce((sum, { answer }) => sum + answer.connected, 0),
      isPart: answers.some(({ answer }) => answer.next) } };
  }
  const partition = chosenPartition(query);
  const clients = await ask({ after: query.after, count: countMax }, partition);
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
  return paging(el("span.muted", `${count(clients.connected)} connected in total` +
    `${isPart ? `; only these ${count(clients.clients.length)} are sorted` : ""}`),
  clients.isPart ? el("span.muted", "Choose a partition to see all of its clients.") : null,
  query.after ? button("First page", () => changeQuery({ after: "" })) : null,
  clients.next ? button("Next page", () => changeQuery({ after: String(clients.next) })) : null);
}

function view() {
  const { clients } = state.data;
  const { query } = state.route;
  const order = orderOf(query, "");
  const onlyWaiting = el("label.check", el("input", { type: "checkbox", id: "filter",
    checked: query.waiting === "1",
    onchange: (event) => changeQuery({ waiting: event.target.checked ? "1" : "", after: "" }) }),
  "only waiting");
  const choices = sortChoice(kColumns, order, [["", "in order of connection"]]);
  const beside = [choices, partitionChoice(), onlyWaiting];
  if (!clients) return [heading("Clients", beside), placeholder()];
  const rows = sorted(kColumns, clients.clients, order);
  return [
    heading("Clients", beside),
    panel("Connections", null, rows.length === 0
      ? empty("No connections", query.waiting === "1" ? "No connection is waiting for a lock."
        : "There are no more connections.")
      : table("Connections", [...kColumns, ...partitionColumns()], rows,
        (row) => `${row.partition}/${row.id}`, { order }),
    pages(clients)),
  ];
}

export default { title: "Clients", everyMs: 3000, load, view };
