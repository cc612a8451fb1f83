// Overrides of LIMIT, and the options of the server.
import { el } from "../el.js";
import { fieldOf, get, post } from "../api.js";
import { changeQuery, state } from "../state.js";
import { actButton, empty, filter, heading, left, panel, placeholder } from "../parts.js";
import { orderOf, sorted, table } from "../table.js";
import { moment } from "../format.js";
import { confirm } from "../dialog.js";

async function load() {
  const [{ limits }, { options }] = await Promise.all([get("limits"), get("settings")]);
  return { limits, options };
}

function whatLimitDoes({ pattern, limit }) {
  const keys = `keys that match ${pattern || "the pattern"}`;
  if (limit === "") return "";
  if (Number(limit) === 0) {
    return `Drains ${keys}: whoever holds one goes on, nobody new is let in.`;
  }
  return `At most ${limit} may hold each of the ${keys} at once. Nobody is ended by it.`;
}

function setLimit() {
  confirm({
    title: "Set a limit for all that match",
    lines: ["0 drains: whoever holds a lock goes on, nobody new is let in, and those who wait " +
      "keep their places. More lets in more of those that gave a LIMIT; fewer ends nobody."],
    fields: [
      { name: "pattern", label: "Keys that match", hint: "api:maps:*", isRequired: true },
      { name: "db", label: "Database", value: "0", pattern: "[0-9]|1[0-5]", isRequired: true },
      { name: "limit", label: "How many may hold each of them", pattern: "[0-9]+",
        isRequired: true },
      { name: "seconds", label: "For so many seconds; empty: until it is deleted",
        pattern: "[0-9]*" },
      { name: "reason", label: "Reason", maxLength: 256 }],
    confirm: "Set it",
    act: async ({ pattern, db, limit, seconds, reason }) => {
      await post("limits/set", { pattern, db: Number(db), limit: Number(limit),
        ...(seconds ? { seconds: Number(seconds) } : {}), ...(reason ? { reason } : {}) });
      return whatLimitDoes({ pattern, limit });
    },
  });
}

function deleteLimit(row) {
  confirm({
    title: `End the override of ${row.pattern}`,
    lines: [row.limit === 0 ? "It drains these keys now. Those in line are granted them at once."
      : `It sets their limit to ${row.limit} now. What clients ask for counts again.`],
    confirm: "End it",
    act: async () => {
      const { deleted } = await post("limits/delete",
        { ...fieldOf(row, "pattern"), db: row.db });
      return deleted ? `The override of ${row.pattern} has ended.` : "It had ended already.";
    },
  });
}

function change({ name, value, secret, description }) {
  confirm({
    title: `Change ${name}`,
    lines: [description, `It is ${value === "" ? "empty" : value} now. The change holds until ` +
      "the next start; to keep it, write it into the configuration file."],
    fields: [{ name: "value", label: "New value", value: secret ? "" : value,
      type: secret ? "password" : "text" }],
    confirm: "Change it",
    act: async (values) => {
      await post("settings", { name, value: values.value });
      return secret ? `${name} is changed.` : `${name} is ${values.value} now.`;
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

const shown = (value) => (value === "" ? el("span.muted", "empty") : value);

const kOptionColumns = [
  { name: "Option", sort: "name", sortBy: (row) => row.name, isWide: true, line: 1, isBare: true,
    cell: (row) => [el("code.strong", row.name), row.redis_name && row.redis_name !== row.name
      ? el("span.muted", ` in Redis ${row.redis_name}`) : null] },
  { name: "Value", isWide: true, isBare: true, cell: (row) => [shown(row.value),
    row.value === row.default || row.secret ? null
      : el("span.muted", ` (default: ${row.default === "" ? "empty" : row.default})`)] },
  { name: "Meaning", isWide: true, line: 3, isBare: true,
    cell: (row) => el("span.muted", row.description) },
  { name: "Changes", sort: "changeable", sortBy: (row) => (row.changeable ? "at once" : "restart"),
    line: 1, isEmpty: (row) => row.changeable,
    cell: (row) => el("span.muted", row.changeable ? "at once" : "with a restart") },
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
  return panel("Options", find, rows.length === 0 ? empty("No option has such a name", "")
    : table("Options of the server", kOptionColumns, rows, (row) => row.name, { order }));
}

function view() {
  const { limits, options } = state.data;
  if (!options) return [heading("Settings and limits"), placeholder()];
  return [
    heading("Settings and limits"),
    panel("Overrides of LIMIT", actButton("limits", "Set a limit …", setLimit, { class: "" }),
      limits.length === 0
        ? empty("None is in force", "Each lock has the limit that its clients ask for.")
        : table("Overrides that are in force", kLimitColumns, limits,
          (row) => `${row.db}/${row.pattern}`)),
    optionsPanel(options),
  ];
}

export default { title: "Settings", everyMs: 5000, load, view };
