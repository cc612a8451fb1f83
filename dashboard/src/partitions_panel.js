// The partitions of a fleet beside each other.
import { el } from "./el.js";
import { linkTo, state } from "./state.js";
import { panel } from "./parts.js";
import { table } from "./table.js";
import { isSpread } from "./partitions.js";
import { count, kNone, rate } from "./format.js";

// `part` is the status of the partition's leader; undefined if it did not answer.
function rowOf(fleet, partition, part) {
  const nodes = fleet.nodes.filter((node) => node.partition === partition);
  const leader = nodes.find((node) => node.role === "leader");
  return { partition, part, leader, standbys: nodes.filter((node) => node !== leader),
    inSync: nodes.filter((node) => node !== leader && node.in_sync).length };
}

function standbys(row) {
  if (row.standbys.length === 0) return el("span.tag.bad", "none");
  return row.inSync === row.standbys.length ? count(row.inSync)
    : el("span.bad", `${row.inSync} of ${row.standbys.length} in sync`);
}

const figure = (name, valueOf) => ({ name, isNumber: true, isEmpty: (row) => !row.part,
  cell: (row) => (row.part ? valueOf(row.part) : kNone) });

const kColumns = [
  { name: "Partition", line: 1, isBare: true, cell: (row) => el("a.strong",
    { href: linkTo("locks", [], { partition: row.partition }) }, String(row.partition)) },
  { name: "Leader", isWide: true, line: 1, isBare: true, cell: (row) => (row.leader
    ? `${row.leader.name} at ${row.leader.address}` : el("span.tag.bad", "none")) },
  { name: "State", line: 1, isBare: true, cell: (row) => (row.part ? "answers"
    : el("span.tag.bad", { title: state.missing[row.partition] }, "does not answer")) },
  figure("Waiting", ({ status }) => count(status.locks.waiters)),
  figure("Held", ({ status }) => count(status.locks.holders)),
  figure("Grants / s", ({ rates }) => rate(rates.granted)),
  figure("Requests / s", ({ rates }) => rate(rates.requests)),
  figure("Connections", ({ status }) => count(status.clients.connected_clients)),
  { name: "On standby", isNumber: true, cell: standbys },
];

// Null if there is nothing to compare.
export function partitionsPanel(fleet, parts) {
  if (!parts || !isSpread(state.route.query)) return null;
  const rows = [...Array(fleet.partitions).keys()].map((partition) =>
    rowOf(fleet, partition, parts.find((part) => part.partition === partition)));
  return panel("Partitions", null,
    table("Partitions of the fleet", kColumns, rows, (row) => row.partition));
}
