// Overrides of LIMIT, and the options of the server.
import { el } from "../el.js";
import { fieldOf, get, pathOf, post } from "../api.js";
import { changeQuery, state } from "../state.js";
import { actButton, empty, filter, heading, left, panel, placeholder } from "../parts.js";
import { orderOf, sorted, table } from "../table.js";
import { moment } from "../format.js";
import { askEach, partitionCount, postToAll } from "../partitions.js";
import { confirm } from "../dialog.js";

// An override applies to one partition; equal overrides of different partitions share one row.
function mergedLimits(answers) {
  const rows = new Map();
  for (const { partition, answer } of answers) {
    for (const row of answer.limits) {
      const key = [row.db, pathOf(row, "pattern"), row.limit, row.reason].join(" ");
      const before = rows.get(key);
      if (before) before.partitions.push(partition);
      else rows.set(key, { ...row, partitions: [partition] });
    }
  }
  return [...rows.values()];
}

async function load({ query }) {
  const [answers, { options }] = await Promise.all([
    askEach(query, (partition) => get("limits", {}, partition)), get("settings")]);
  return { limits: mergedLimits(answers), options };
}

function whatLimitDoes({ pattern, limit }) {
  const keys = `keys that match ${pattern || "the pattern"}`;
  if (limit === "") return "";
  if (Number(limit) === 0) {
    return `Drains ${keys}: holders keep their locks, and there are no new grants.`;
  }
  return `At most ${limit} owners may hold each of the ${keys} at once. Existing holds do not end.`;
}

function setLimit() {
  confirm({
    title: "Set a limit for all matching keys",
    lines: ["0 drains: holders keep their locks, there are no new grants, and waiters keep " +
      "their places. A higher limit admits more of the requests that have a LIMIT; a lower one " +
      "does not end any hold."],
    fields: [
      { name: "pattern", label: "Key pattern", hint: "api:maps:*", isRequired: true },
      { name: "db", label: "Database", value: "0", pattern: "[0-9]|1[0-5]", isRequired: true },
      { name: "limit", label: "Maximum holders per key", pattern: "[0-9]+",
        isRequired: true },
      { name: "seconds", label: "Duration in seconds (if empty, until deleted)",
        pattern: "[0-9]*" },
      { name: "reason", label: "Reason", maxLength: 256 }],
    confirm: "Set limit",
    act: async ({ pattern, db, limit, seconds, reason }) => {
      const { unreached } = await postToAll("limits/set", { pattern, db: Number(db),
        limit: Number(limit), ...(seconds ? { seconds: Number(seconds) } : {}),
        ...(reason ? { reason } : {}) });
      return [whatLimitDoes({ pattern, limit }), ...unreached].join(" ");
    },
  });
}

function deleteLimit(row) {
  confirm({
    title: `End the override of ${row.pattern}`,
    lines: [row.limit === 0 ? "It drains these keys now. Their waiters are granted them at once."
      : `It sets their limit to ${row.limit} now. Then the limits of the requests apply again.`],
    confirm: "End override",
    act: async () => {
      const { answers, unreached } = await postToAll("limits/delete",
        { ...fieldOf(row, "pattern"), db: row.db });
      return [answers.some(({ deleted }) => deleted) ? `The override of ${row.pattern} has ended.`
        : "It had already ended.", ...unreached].join(" ");
    },
  });
}

function change({ name, value, secret, description }) {
  confirm({
    title: `Change ${name}`,
    lines: [description, `The current value is ${value === "" ? "empty" : value}. ` +
      "The change lasts until the next restart; to make it permanent, add it to the " +
      "configuration file."],
    fields: [{ name: "value", label: "New value", value: secret ? "" : value,
      type: secret ? "password" : "text" }],
    confirm: "Change",
    act: async (values) => {
      await post("settings", { name, value: values.value });
      return secret ? `${name} was changed.` : `${name} is now ${values.value}.`;
    },
  });
}

const kLimitColumns = [
  { name: "Keys", isWide: true, line: 1, isBare: true, cell: (row) => el("code", row.pattern) },
  { name: "Database", isNumber: true, cell: (row) => row.db },
  { name: "Limit", isNumber: true, cell: (row) => (row.limit === 0
    ? el("span.tag.bad", "drained") : row.limit) },
  { name: "Ends in", isNumber: true, cell: (row) => left(row.left_ms, "never") },
  { name: "Since", line: 3, cell: (row) => moment(row.since) },
  { name: "By", isWide: true, line: 3,
    cell: (row) => [row.user, row.address].filter(Boolean).join(", ") },
  { name: "Reason", isWide: true, line: 3, isBare: true, isEmpty: (row) => !row.reason,
    cell: (row) => row.reason || el("span.muted", "–") },
  { name: "Act", isUnseen: true, line: 1, cell: (row) => actButton("limits", "End",
    () => deleteLimit(row), { "aria-label": `End the override of ${row.pattern}` }) },
];

// Where the override applies.
function placesOf({ partitions }) {
  return partitions.length === partitionCount() ? "all" : partitions.join(", ");
}

const limitColumns = () => (!partitionCount() ? kLimitColumns
  : [...kLimitColumns, { name: "Partitions", line: 3, cell: placesOf }]);

const shown = (value) => (value === "" ? el("span.muted", "empty") : value);

const kOptionColumns = [
  { name: "Option", sort: "name", sortBy: (row) => row.name, isWide: true, line: 1, isBare: true,
    cell: (row) => [el("code.strong", row.name), row.redis_name && row.redis_name !== row.name
      ? el("span.muted", ` Redis: ${row.redis_name}`) : null] },
  { name: "Value", isWide: true, isBare: true, cell: (row) => [shown(row.value),
    row.value === row.default || row.secret ? null
      : el("span.muted", ` (default: ${row.default === "" ? "empty" : row.default})`)] },
  { name: "Meaning", isWide: true, line: 3, isBare: true,
    cell: (row) => el("span.muted", row.description) },
  { name: "Changes", sort: "changeable", line: 1,
    sortBy: (row) => (row.changeable ? "immediately" : "restart"), isEmpty: (row) => row.changeable,
    cell: (row) => el("span.muted", row.changeable ? "immediately" : "after a restart") },
  { name: "Act", isUnseen: true, line: 1, isEmpty: (row) => !row.changeable,
    cell: (row) => (row.changeable ? actButton("settings", "Change …", () => change(row),
      { class: "", "aria-label": `Change ${row.name}` }) : null) },
];

function optionsPanel(options) {
  const { query } = state.route;
  const wanted = (query.match || "").toLowerCase();
  const isFound = (row) => [row.name, row.redis_name || ""].some((name) => name.includes(wanted));
  const order = orderOf(query, "");
  const rows = sorted(kOptionColumns, options.filter(isFound), order);
  const find = filter("Find", "match", (match) => changeQuery({ match }), { id: "filter" });
  const title = partitionCount() ? "Options of this node" : "Options";
  return panel(title, find, rows.length === 0 ? empty("No option has this name", "")
    : table("Options of the server", kOptionColumns, rows, (row) => row.name, { order }));
}

function view() {
  const { limits, options } = state.data;
  if (!options) return [heading("Settings and limits"), placeholder()];
  return [
    heading("Settings and limits"),
    panel("Overrides of LIMIT", actButton("limits", "Set a limit …", setLimit, { class: "" }),
      limits.length === 0
        ? empty("No overrides", "Each lock has the limit that its requests specify.")
        : table("Current overrides", limitColumns(), limits,
          (row) => `${row.db}/${row.pattern}/${row.partitions}`)),
    optionsPanel(options),
  ];
}

export default { title: "Settings", everyMs: 5000, load, view };
