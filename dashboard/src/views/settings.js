// Overrides of LIMIT, and the options of the server.
import { el } from "../el.js";
import { fieldOf, get, post } from "../api.js";
import { changeQuery, state } from "../state.js";
import { actButton, empty, filter, heading, left, panel, placeholder, table } from "../parts.js";
import { moment } from "../format.js";
import { confirm } from "../dialog.js";

async function load() {
  const [{ limits }, { settings }] = await Promise.all([get("limits"), get("settings")]);
  return { limits, settings };
}

// CONFIG knows some options by a second name, that of Redis.
function withoutSecondNames(settings) {
  const seen = new Set();
  return Object.entries(settings).filter(([name]) => {
    const plain = name.replace(/[-_]/g, "");
    return !seen.has(plain) && seen.add(plain);
  });
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

function change(name, value) {
  confirm({
    title: `Change ${name}`,
    lines: [`It is ${value === "" ? "empty" : value} now. The change holds until the next start; ` +
      "what is to stay belongs into the configuration file."],
    fields: [{ name: "value", label: "New value", value }],
    confirm: "Change it",
    act: async (values) => {
      await post("settings", { name, value: values.value });
      return `${name} is ${values.value} now.`;
    },
  });
}

const kLimitColumns = [
  { name: "Keys", isWide: true, cell: (row) => el("code", row.pattern) },
  { name: "Database", isNumber: true, cell: (row) => row.db },
  { name: "Limit", isNumber: true, cell: (row) => (row.limit === 0
    ? el("span.tag.bad", "drained") : row.limit) },
  { name: "Ends in", isNumber: true, cell: (row) => left(row.left_ms, "never") },
  { name: "Since", cell: (row) => moment(row.since) },
  { name: "By", isWide: true, cell: (row) => [row.user, row.address].filter(Boolean).join(", ") },
  { name: "Reason", isWide: true, cell: (row) => row.reason || el("span.muted", "–") },
  { name: "Act", isUnseen: true, cell: (row) => actButton("End", () => deleteLimit(row),
    { "aria-label": `End the override of ${row.pattern}` }) },
];

const kSettingColumns = [
  { name: "Option", isWide: true, cell: ([name]) => el("code", name) },
  { name: "Value", isWide: true, cell: ([, value]) => (value === "" ? el("span.muted", "empty")
    : String(value)) },
  { name: "Act", isUnseen: true, cell: ([name, value]) => actButton("Change …",
    () => change(name, String(value)), { class: "", "aria-label": `Change ${name}` }) },
];

function view() {
  const { limits, settings } = state.data;
  if (!settings) return [heading("Settings and limits"), placeholder()];
  const wanted = (state.route.query.match || "").toLowerCase();
  const rows = withoutSecondNames(settings).filter(([name]) => name.includes(wanted));
  const find = filter("Find", "match", (match) => changeQuery({ match }), { id: "filter" });
  return [
    heading("Settings and limits"),
    panel("Overrides of LIMIT", actButton("Set a limit …", setLimit, { class: "" }),
      limits.length === 0
        ? empty("None is in force", "Each lock has the limit that its clients ask for.")
        : table("Overrides that are in force", kLimitColumns, limits,
          (row) => `${row.db}/${row.pattern}`)),
    panel("Options", find, rows.length === 0 ? empty("No option has such a name", "")
      : table("Options of the server", kSettingColumns, rows, ([name]) => name)),
  ];
}

export default { title: "Settings", everyMs: 5000, load, view };
