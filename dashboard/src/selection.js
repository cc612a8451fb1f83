// The selection of several locks, which are broken together after a dry run.
import { Vue } from "./el.js";
import { Refusal, fieldOf, get, pathOf, post } from "./api.js";
import { state } from "./state.js";
import { duration, plural } from "./format.js";
import { confirm } from "./dialog.js";

const kSelectedMax = 100;
// How many locks are requested in parallel; the server serves the requests of a page in turn.
const kAtOnce = 6;
const kNamedMax = 3;

export const identityOf = (row) => `${row.db}/${row.key_base64 || row.key}`;

export const selection = {
  has: (row) => identityOf(row) in state.selected,
  nameOf: (row) => row.key,
  toggle(row) {
    const identity = identityOf(row);
    if (identity in state.selected) Vue.delete(state.selected, identity);
    else if (selection.count() < kSelectedMax) Vue.set(state.selected, identity, row);
  },
  setAll(rows, isSelected) {
    for (const row of rows) if (selection.has(row) !== isSelected) selection.toggle(row);
  },
  count: () => Object.keys(state.selected).length,
  isFull: () => selection.count() >= kSelectedMax,
  clear() { state.selected = {}; },
};

// Returns the current state of these rows: {lock} or {error}.
async function lookAt(rows) {
  const found = [];
  for (let begin = 0; begin < rows.length; begin += kAtOnce) {
    found.push(...await Promise.all(rows.slice(begin, begin + kAtOnce).map((row) =>
      get(`locks/${row.db}/${pathOf(row, "key")}`, {}, row.partition).then(
        (lock) => ({ lock, row }), (error) => {
          if (!(error instanceof Refusal) || error.status === 0) throw error;
          return { error, row };
        }))));
  }
  return found;
}

function lineOf({ lock, error, row }) {
  if (error) return `${row.key}: ${error.message}`;
  const named = lock.holders.slice(0, kNamedMax).map((one) =>
    `${one.owner} (for ${duration(one.held_ms)})`).join(", ");
  const more = lock.holder_count - Math.min(lock.holders.length, kNamedMax);
  const next = lock.line.find((place) => place.state === "waiting");
  return `${lock.key}${lock.db ? ` (db ${lock.db})` : ""}: ${named}` +
    `${more > 0 ? ` and ${more} more` : ""}${next ? `; next ${next.owner}` : ""}`;
}

function linesOf(found, held) {
  const holds = held.reduce((sum, { lock }) => sum + lock.holders.length, 0);
  const free = found.filter(({ lock }) => lock && lock.holders.length === 0).length;
  const unread = found.filter(({ error }) => error).length;
  return [
    held.length ? `${plural(holds, "hold", "holds")} on ${plural(held.length, "lock", "locks")} ` +
      "would end at once. The first waiter in each queue is granted its lock."
      : "None of the selected locks is held any more.",
    held.length ? "Holders are not notified: they continue to work under the lock until they " +
      "notice." : "",
    free && held.length
      ? `${plural(free, "selected lock is", "selected locks are")} not held.` : "",
    unread ? `${plural(unread, "lock", "locks")} cannot be read.` : "",
  ].filter(Boolean);
}

// Ends holds by the owners that the dry run has shown, so that a later owner keeps its hold.
async function endHolds(held, reason) {
  const result = { ended: 0, gone: 0, refused: 0, why: "" };
  for (const { lock, row } of held) {
    const body = { ...fieldOf(lock, "key"), db: lock.db, ...(reason ? { reason } : {}) };
    for (const holder of lock.holders) {
      try {
        const { broken } = await post("break", { ...body, ...fieldOf(holder, "owner") },
          row.partition);
        result.ended += broken;
        result.gone += broken ? 0 : 1;
      } catch (error) {
        if (!(error instanceof Refusal) || error.status === 0 || error.status === 401) throw error;
        ++result.refused;
        result.why = error.message;
      }
    }
  }
  return result;
}

function saidOf({ ended, gone, refused, why }) {
  return `${plural(ended, "hold", "holds")} ended.` +
    `${gone ? ` ${plural(gone, "hold", "holds")} had already ended.` : ""}` +
    `${refused ? ` ${plural(refused, "break", "breaks")} refused: ${why}` : ""}`;
}

export function breakSelected() {
  const rows = Object.values(state.selected);
  let held = [];
  confirm({
    title: `Break ${plural(rows.length, "selected lock", "selected locks")}`,
    listed: "Holds that would end",
    prepare: async () => {
      const found = await lookAt(rows);
      held = found.filter(({ lock }) => lock && lock.holders.length > 0);
      return { lines: linesOf(found, held),
        keys: [...held, ...found.filter(({ error }) => error)].map(lineOf),
        isPossible: held.length > 0 };
    },
    fields: [{ name: "reason", label: "Reason (recorded in the history)", maxLength: 256 }],
    confirm: "Break them",
    act: async ({ reason }) => {
      const result = await endHolds(held, reason);
      selection.clear();
      return saidOf(result);
    },
  });
}
