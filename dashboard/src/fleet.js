// What a node of a fleet shows about its fleet; a single server shows nothing of it.
import { el } from "./el.js";
import { panel } from "./parts.js";
import { table } from "./table.js";
import { bytes, count, duration, kNone, moment, plural } from "./format.js";

// From this share of etcd's quota on, new locks are refused.
const kQuotaShareMax = 0.8;

export const isStandby = (fleet) => fleet !== null && fleet.role === "standby";

// The kind and the text of the pill at the top; null if there is nothing to show beside the state
// of the server.
export function fleetHealth(fleet) {
  if (!fleet) return null;
  if (fleet.unsure) return ["bad", "etcd confirms nothing"];
  if (!isStandby(fleet)) return null;
  return fleet.leader === null ? ["bad", "no leader"] : ["good", "standby"];
}

// What became of the nodes that say that they lead.
const lostText = (fleet) => (fleet.leader === null
  ? "is not heard of: it is dead or cut off, or etcd has failed."
  : "is dead, or has not learned yet that it is deposed.");

// " n1 led last, and was heard of 84 s ago."; empty if no earlier leader is known.
function lastLeader(fleet) {
  if (!fleet.last_leader || fleet.leader_heard_ms === null) return "";
  return ` ${fleet.last_leader} led last, and was heard of ${duration(fleet.leader_heard_ms)} ago.`;
}

// What a standby shows in place of the locks, which only the leader knows.
export function standbyText(fleet) {
  return fleet.leader === null ? `No node leads this fleet at the moment.${lastLeader(fleet)}`
    : `The leader shows the locks: open the dashboard of ${fleet.leader}.`;
}

const quotaShare = (fleet, member) =>
  (fleet.quota_bytes > 0 && member.error === null ? member.size_bytes / fleet.quota_bytes : null);

// One sentence for each node whose options differ from those of its leader.
function differingOptions(fleet) {
  const leader = fleet.nodes.find((node) => node.name === fleet.leader);
  if (!leader?.options) return [];
  const wanted = new Set(leader.options.split(" "));
  return fleet.nodes.filter((node) => node.options && node.partition === fleet.partition)
    .map((node) => [node, node.options.split(" ").filter((word) => !wanted.has(word))])
    .filter(([, words]) => words.length > 0)
    .map(([node, words]) => `${node.name} has ${words.join(", ")}, but the leader has not.`);
}

function warningsOf(fleet) {
  const peers = fleet.nodes.filter((node) => node.partition === fleet.partition);
  const isAlone = fleet.age_ms !== null && !peers.some((node) => node.role === "standby");
  return [
    fleet.awaits_acceptance && "etcd was restored from a backup. No node takes over until an " +
      "operator accepts that with CLUSTER ACCEPT-RESTORE.",
    fleet.leader === null && !fleet.unsure && `No node leads.${lastLeader(fleet)}`,
    ...differingOptions(fleet),
    ...fleet.nodes.filter((node) => node.role === "lost").map((node) => `${node.name} led, but ` +
      lostText(fleet)),
    ...fleet.nodes.filter((node) => node.unreachable).map((node) => `${node.name} announces ` +
      `${node.address}, where most other nodes cannot connect to it.`),
    ...fleet.nodes.filter((node) => node.refused_etcd).map((node) => `${node.name} does not use ` +
      `${node.refused_etcd}, which belongs to another etcd cluster.`),
    fleet.unsure && `etcd has not confirmed for ${duration(fleet.leader_heard_ms)} that this ` +
      "node leads, so commands about locks are refused. Another node may lead.",
    isAlone && "No other node is on standby.",
    fleet.no_space && "etcd accepts no writes: its alarm NOSPACE is raised.",
    !fleet.no_space && fleet.short_of_quota &&
      "Too little of etcd's quota is left, so no new locks are granted.",
    fleet.error !== null && `The lists could not be read again: ${fleet.error}`,
  ].filter(Boolean);
}

// Only a leader commits.
function commitTime(fleet) {
  if (isStandby(fleet) || fleet.commits === 0) return kNone;
  return `${(fleet.commits_us / fleet.commits / 1000).toFixed(1)} ms`;
}

function facts(fleet) {
  const rows = [
    ["This node", `${fleet.node}, ${fleet.unsure ? "unsure" : fleet.role}${fleet.partitions > 1
      ? ` of partition ${fleet.partition}` : ""}`],
    ["Leader", fleet.leader === null ? "none" : `${fleet.leader} at ${fleet.leader_address}`],
    ["Leads since", moment(fleet.leader_since)],
    ["Epoch", count(fleet.epoch)],
    ["Mean time of a commit", commitTime(fleet)],
    ["Lists read", fleet.age_ms === null ? "not yet" : `${duration(fleet.age_ms)} ago`],
  ];
  return el("dl.facts", rows.map(([name, value]) => el("div", { key: name },
    el("dt", name), el("dd", value))));
}

function lag(node) {
  if (node.role !== "standby") return kNone;
  if (node.unreachable) return el("span.tag.bad", "unreachable");
  return node.in_sync ? plural(node.frames_behind, "frame", "frames")
    : el("span.tag.bad", node.frames_behind ? plural(node.frames_behind, "frame", "frames")
      : "does not follow");
}

const nodeColumns = (fleet) => [
  { name: "Node", isWide: true, line: 1, isBare: true, cell: (row) => el("span.strong", row.name) },
  { name: "Role", line: 1, isBare: true,
    cell: (row) => (["lost", "unsure"].includes(row.role) ? el("span.bad", row.role)
      : row.role) },
  ...(fleet.partitions > 1
    ? [{ name: "Partition", isNumber: true, cell: (row) => row.partition }] : []),
  { name: "Address", isWide: true, cell: (row) => row.address },
  { name: "Behind", isNumber: true, hint: "Frames of the log that it does not have yet",
    isEmpty: (row) => row.role !== "standby", cell: lag },
  { name: "Version", cell: (row) => row.version },
  { name: "Running since", cell: (row) => moment(row.started_at) },
];

function share(fleet, member) {
  const used = quotaShare(fleet, member);
  if (used === null) return kNone;
  return el("span", { class: { bad: used >= kQuotaShareMax } }, `${Math.round(used * 100)} %`);
}

const memberColumns = (fleet) => [
  { name: "Member of etcd", isWide: true, line: 1, isBare: true,
    cell: (row) => el("span.strong", row.endpoint) },
  { name: "State", isWide: true, line: 1, isBare: true, cell: (row) => (row.error === null
    ? (row.leader ? "leads etcd" : "follows")
    : el("span.bad", row.error)) },
  { name: "Database", isNumber: true, cell: (row) => sizeOf(row, row.size_bytes) },
  { name: "In use", isNumber: true, hint: "A defragmentation frees the rest",
    cell: (row) => sizeOf(row, row.size_in_use_bytes) },
  { name: "Of the quota", isNumber: true, cell: (row) => share(fleet, row) },
  { name: "Version", cell: (row) => row.version || kNone },
];

const sizeOf = (member, size) => (member.error === null ? bytes(size) : kNone);

// Null if the server is not a node of a fleet.
export function fleetPanel(fleet) {
  if (!fleet) return null;
  return panel(`Fleet ${fleet.fleet}`, null,
    warningsOf(fleet).map((text) => el("p.note.bad", { key: text }, text)),
    facts(fleet),
    fleet.nodes.length
      ? table("Nodes of the fleet", nodeColumns(fleet), fleet.nodes, (row) => row.name) : null,
    fleet.etcd.length
      ? table("Members of etcd", memberColumns(fleet), fleet.etcd, (row) => row.endpoint) : null);
}
