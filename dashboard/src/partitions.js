// A fleet of several partitions: asks the leaders of all of them, through the server of the page.
// On a single server, and in a fleet of one partition, the server itself answers.
import { Vue } from "./el.js";
import { Refusal, currentAccess, post } from "./api.js";
import { state } from "./state.js";

// 0: there are no partitions to choose from.
export function partitionCount() {
  const fleet = state.server && state.server.fleet;
  return fleet && fleet.partitions > 1 ? fleet.partitions : 0;
}

const allPartitions = () => [...Array(partitionCount()).keys()];

// The partition that the page's address names; undefined: all partitions, or there are none.
export function chosenPartition(query) {
  return partitionCount() && query.partition ? Number(query.partition) : undefined;
}

// Whether the rows of the view come from several partitions.
export const isSpread = (query) => partitionCount() > 0 && chosenPartition(query) === undefined;

// The rows with the partition that they are from.
export const rowsIn = (partition, rows) =>
  (partition === undefined ? rows : rows.map((row) => ({ ...row, partition })));

// The credentials that a leader has refused. It is not asked again with them, because servers count
// failed log-ins.
const refused = new Map();

async function attempt(partition, ask) {
  const before = refused.get(partition);
  if (before && before.access === currentAccess()) return { partition, error: before.error };
  try {
    return { partition, answer: await ask(partition) };
  } catch (error) {
    const isOfLeader = error instanceof Refusal && error.status !== 0 && error.status !== 401;
    if (partition === undefined || !isOfLeader) throw error;
    if (error.code === "NOAUTH") refused.set(partition, { access: currentAccess(), error });
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

// Asks the leaders of the partitions that the page's address names. Returns [{partition, answer}];
// `state.missing` then says which leaders did not answer, and why.
export async function askEach(query, ask) {
  if (!partitionCount()) return [{ partition: undefined, answer: await ask(undefined) }];
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
