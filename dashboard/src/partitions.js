// A fleet of several partitions: asks the leaders of all of them, through the server of the page.
// On a single server, and in a fleet of one partition, the server itself answers.
import { Vue } from "./el.js";
import { Refusal, currentAccess, post } from "./api.js";
import { state } from "./state.js";

// 0 if there are no partitions to choose from.
export function partitionCount() {
  const fleet = state.server && state.server.fleet;
  return fleet && fleet.partitions > 1 ? fleet.partitions : 0;
}

const allPartitions = () => [...Array(partitionCount()).keys()];

// The partition that the page's address names; undefined for all partitions, or if there are none.
export function chosenPartition(query) {
  return partitionCount() && query.partition ? Number(query.partition) : undefined;
}

// Whether the rows of the view come from several partitions.
export const isSpread = (query) => partitionCount() > 0 && chosenPartition(query) === undefined;

// The rows with the partition that they are from.
export const rowsIn = (partition, rows) =>
  (partition === undefined ? rows : rows.map((row) => ({ ...row, partition })));

// The credentials that a leader has refused. Servers count failed log-ins, so for kRefusedMs it is
// not asked again with them; after that, it may know the user, or another node may lead.
const kRefusedMs = 60000;
const refused = new Map();

async function attempt(partition, ask) {
  const before = refused.get(partition);
  if (before && before.access === currentAccess()) {
    if (Date.now() < before.until) return { partition, error: before.error };
    before.until = Date.now() + kRefusedMs;  // only this request finds out
  }
  try {
    const answer = await ask(partition);
    refused.delete(partition);
    return { partition, answer, at: Date.now() };
  } catch (error) {
    const isOfLeader = error instanceof Refusal && error.status !== 0 && error.status !== 401;
    if (partition === undefined || !isOfLeader) throw error;
    if (error.code === "NOAUTH") {
      refused.set(partition, { access: currentAccess(), error, until: Date.now() + kRefusedMs });
    }
    return { partition, error };
  }
}

// Returns {answers: [{partition, answer}], failed: [{partition, error}]}. Throws if nobody answers.
async function askThem(partitions, ask) {
  const all = await Promise.all(partitions.map((partition) => attempt(partition, ask)));
  const failed = all.filter(({ error }) => error);
  // A wrong parameter says more than a missing leader does.
  if (failed.length === all.length) {
    throw failed.map(({ error }) => error).sort((a, b) => a.status - b.status)[0];
  }
  return { answers: all.filter(({ error }) => !error), failed };
}

// Asks the leaders of the partitions that the page's address names. Returns
// [{partition, answer, at}], where `at` is the time at which the answer arrived; `state.missing`
// then says which leaders did not answer, and why.
export async function askEach(query, ask) {
  if (!partitionCount()) return [await attempt(undefined, ask)];
  const chosen = chosenPartition(query);
  if (chosen !== undefined) return (await askThem([chosen], ask)).answers;
  const { answers, failed } = await askThem(allPartitions(), ask);
  for (const { partition } of answers) Vue.delete(state.missing, partition);
  for (const { partition, error } of failed) Vue.set(state.missing, partition, error.message);
  return answers;
}

// Sends a change to the leaders of all partitions, or of the given one. Returns {answers: [answer],
// unreached: which leaders were not reached, as sentences}.
export async function postToAll(path, body, only) {
  const partitions = only !== undefined ? [only] : partitionCount() ? allPartitions() : [undefined];
  const { answers, failed } = await askThem(partitions,
    (partition) => post(path, body, partition));
  return { answers: answers.map(({ answer }) => answer),
    unreached: failed.map(({ partition, error }) =>
      `Partition ${partition} was not reached: ${error.message}.`) };
}

export function missingTexts() {
  if (!isSpread(state.route.query)) return [];
  return Object.entries(state.missing).map(([partition, why]) =>
    `Partition ${partition} is missing: ${why}.`);
}
