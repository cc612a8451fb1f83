// Looks up locks and queues for one chain (see chain.js), with a bounded number of requests.
import { Refusal, get, pathOf } from "./api.js";
import { askEach, partitionCount, rowsIn } from "./partitions.js";

// One chain, that is, each refresh of the view that shows it, sends at most this many requests.
// Most chains need two: one for the holder, and one to see that it waits for nothing. In a fleet, a
// question about an owner is one request to each partition.
export const kRequestsMax = 16;
// Of the locks that one owner holds or waits for; an MLOCK has at most 64 keys.
const kQueuesMax = 100;

// `lock` is known already. `source.isPart` then says whether something could not be looked up:
// "denied" or "much"; empty: nothing.
export function lockSource(lock) {
  const locks = new Map([[pathOf(lock, "key"), Promise.resolve(lock)]]);
  const queues = new Map();
  let left = kRequestsMax;

  // `unknown` is the result if the user may not see it, or if too many requests were sent.
  async function ask(source, cost, send, unknown) {
    if (left < cost) {
      source.isPart = "much";
      return unknown;
    }
    left -= cost;
    try {
      return await send();
    } catch (error) {
      // Without an answer, or with wrong credentials, the whole view fails.
      if (!(error instanceof Refusal) || error.status === 0 || error.status === 401) throw error;
      source.isPart = source.isPart || "denied";
      return unknown;
    }
  }

  function once(map, id, find) {
    if (!map.has(id)) map.set(id, find());
    return map.get(id);
  }

  return {
    isPart: "",
    idOf: pathOf,
    lock(row) {
      const id = pathOf(row, "key");
      return once(locks, id, () => ask(this, 1,
        () => get(`locks/${lock.db}/${id}`, {}, row.partition), null));
    },
    queuesOf(claim) {
      const owner = pathOf(claim, "owner");
      const path = `locks?db=${lock.db}&waiting=0&sort=wait&count=${kQueuesMax}&owner=${owner}`;
      return once(queues, owner, () => ask(this, partitionCount() || 1, async () => {
        const answers = await askEach({}, (partition) => get(path, {}, partition));
        if (answers.some(({ answer }) => answer.found > answer.locks.length)) this.isPart = "much";
        return answers.flatMap(({ partition, answer }) => rowsIn(partition, answer.locks));
      }, []));
    },
    // An override that an operator has set is in the list.
    isStarting(row) {
      return ask(this, 1, async () => (await get("limits", {}, row.partition)).limits
        .every(({ limit }) => limit !== 0), false);
    },
  };
}
