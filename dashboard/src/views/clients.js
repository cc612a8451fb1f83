// Who is connected.
import { el } from "../el.js";
import { get, pathOf, post } from "../api.js";
import { changeQuery, linkTo, state } from "../state.js";
import { actButton, button, empty, heading, paging, panel, placeholder,
  table } from "../parts.js";
import { count, duration } from "../format.js";
import { confirm } from "../dialog.js";

const kPage = 100;

async function load({ query }) {
  const clients = await get("clients",
    { after: query.after, count: kPage, waiting: query.waiting === "1" });
  return { clients };
}

function kill(row) {
  confirm({
    title: `Close connection ${row.id}`,
    lines: [`${row.addr}${row.name ? ` (${row.name})` : ""} loses its connection.`,
      row["wait-key"] ? `It stops waiting for ${row["wait-key"]}.` : "It waits for nothing now.",
      "Sessions that are bound to it end. Most clients connect again by themselves."],
    confirm: "Close it",
    act: async () => {
      const { killed } = await post("clients/kill", { id: row.id });
      return killed ? `Connection ${row.id} is closed.` : `Connection ${row.id} was gone already.`;
    },
  });
}

const kColumns = [
  { name: "Number", isNumber: true, cell: (row) => row.id },
  { name: "Address", isWide: true, cell: (row) => row.addr },
  { name: "Name", isWide: true, cell: (row) => row.name || el("span.muted", "–") },
  { name: "User", cell: (row) => row.user },
  { name: "Connected", isNumber: true, cell: (row) => duration(row.age * 1000) },
  { name: "Idle", isNumber: true, cell: (row) => duration(row.idle * 1000) },
  { name: "Last command", cell: (row) => (row.cmd === "NULL" ? "–" : row.cmd) },
  { name: "Waits for", isWide: true, cell: (row) => (row["wait-key"]
    ? el("a.key", { href: linkTo("lock", [row.db, pathOf(row, "wait-key")]) },
      row["wait-key"]) : el("span.muted", "–")) },
  { name: "Waited", isNumber: true,
    cell: (row) => (row["wait-key"] ? duration(row["waited-ms"]) : "–") },
  { name: "Act", isUnseen: true, cell: (row) => actButton("Close", () => kill(row),
    { "aria-label": `Close connection ${row.id}` }) },
];

function view() {
  const { clients } = state.data;
  const { query } = state.route;
  const onlyWaiting = el("label.check", el("input", { type: "checkbox", id: "filter",
    checked: query.waiting === "1",
    onchange: (event) => changeQuery({ waiting: event.target.checked ? "1" : "", after: "" }) }),
  "only those that wait");
  if (!clients) return [heading("Clients", onlyWaiting), placeholder()];
  const rows = clients.clients;
  return [
    heading("Clients", onlyWaiting),
    panel("Connections", null, rows.length === 0
      ? empty("None", query.waiting === "1" ? "No connection waits for a lock."
        : "There are no further connections.")
      : table("Connections", kColumns, rows, (row) => row.id),
    paging(el("span.muted", `${count(clients.connected)} connected in all`),
      query.after ? button("First page", () => changeQuery({ after: "" })) : null,
      clients.next ? button("Next page", () => changeQuery({ after: String(clients.next) }))
        : null)),
  ];
}

export default { title: "Clients", everyMs: 3000, load, view };
