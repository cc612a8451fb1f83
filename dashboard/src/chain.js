// Why a request waits: the owners that block it, what blocks those in turn, and so on up to the
// root. The rules are those of `fairlockctl why`: see cli/views/wait_chain.h. Imports nothing.
//
// A source looks the locks up:
//   lock(row): a promise of the answer of GET locks/{db}/{key}; null: it may not be read, or too
//     much was asked for
//   queuesOf(place): a promise of the rows of GET locks with a queue that its owner holds or waits
//     for
//   isStarting(row): a promise of whether an override of 0 is the server's own
//   idOf(row, name): the exact bytes of a field, as a string

export const kLinksMax = 24;
export const kDepthMax = 8;
// Of the holders of one key, and of the MLOCKs in one queue, this many are followed.
const kFollowed = 4;

// The places that delay a request of that owner, in order. A place whose connection was closed has
// the number of the next one, because it delays nobody; and one with a reserved slot needs no
// other.
export function placesAhead(line, owner, idOf) {
  const end = line.findIndex((place) => idOf(place, "owner") === owner);
  return line.slice(0, end < 0 ? line.length : end).filter((place, n) =>
    place.state !== "reserved" &&
    !(place.state === "absent" && line[n + 1] && line[n + 1].position === place.position));
}

// A request is {owner: its exact name, keys: rows, hidden: how many further keys it has that could
// not be read, isShared, limit}; more than one key: an MLOCK.
const requestOf = (owner, row, { isShared = false, limit = 1 } = {}) =>
  ({ owner, keys: [row], hidden: 0, isShared, limit });

// The request of the owner that has this place in the queue of that key.
export async function requestAt(place, row, source) {
  const { idOf } = source;
  const owner = idOf(place, "owner");
  const request = requestOf(owner, row,
    { isShared: place.mode === "shared", limit: place.limit });
  if (place.keys === 1) return request;
  for (const other of await source.queuesOf(place)) {
    if (idOf(other, "key") === idOf(row, "key")) continue;
    const lock = await source.lock(other);
    const same = lock && lock.line.find((one) => idOf(one, "owner") === owner);
    if (same && same.keys === place.keys && same.address === place.address) {
      request.keys.push(other);
    }
  }
  request.hidden = place.keys - request.keys.length;
  return request;
}

class Search {
  constructor(source) {
    this.source = source;
    this.links = [];
    this.path = [];  // the owners from the root of the search to the present request
    this.followed = new Set();
  }

  async explain(request, isOnlyRequest) {
    this.path.push(request.owner);
    const isOnlyKey = isOnlyRequest && request.keys.length === 1;
    for (const row of request.keys) {
      await this.explainKey(request, { depth: this.path.length - 1, row, isOnlyKey });
    }
    this.path.pop();
  }

  // `link` lacks only what blocks the request on its key.
  async explainKey(request, link) {
    const { idOf } = this.source;
    const lock = await this.source.lock(link.row);
    if (!lock) return this.add(link, "unread");
    if (lock.override === 0) {
      return this.add(link, await this.source.isStarting(link.row) ? "starting" : "drained");
    }
    if (lock.type && lock.holders.length === 0 && !lock.library) return this.add(link, "value");
    const ahead = placesAhead(lock.line, request.owner, idOf);
    if (ahead.length > 0) return this.addAhead(link, ahead);
    if (await this.addHolders(link, request, lock)) return undefined;
    for (const place of lock.line) {
      if (place.state !== "reserved" || idOf(place, "owner") === request.owner) continue;
      await this.add({ ...link, owner: idOf(place, "owner"), claim: place, leftMs: place.keep_ms },
        "reserved");
    }
    if (lock.cooling_ms === 0) return undefined;
    return this.add({ ...link, leftMs: lock.cooling_ms }, "cooling");
  }

  async addAhead(link, ahead) {
    const followed = ahead.filter((place, n) => n === 0 || place.keys > 1).slice(0, kFollowed);
    for (const place of followed) {
      await this.add({ ...link, owner: this.source.idOf(place, "owner"), claim: place,
        isAbsent: place.state === "absent", leftMs: place.keep_ms,
        waits: [await requestAt(place, link.row, this.source)] }, "line");
    }
  }

  // Adds the holders if they exclude the request.
  async addHolders(link, request, lock) {
    if (lock.holders.length === 0) return false;
    const areShared = lock.mode === "shared";
    // An override replaces the limits that were given; without one, a request has the limit 1.
    const effective = (limit) => (limit > 1 && lock.override !== null ? lock.override : limit);
    const given = Math.min(request.limit, ...lock.holders.map((holder) => holder.limit));
    if (request.isShared !== areShared) {
      await this.addEach(link, lock, "shared");
    } else if (areShared || lock.holder_count < effective(given)) {
      return false;
    } else if (lock.holder_count < given) {
      await this.addEach({ ...link, limit: lock.override, isOverride: true }, lock, "limit");
    } else {
      await this.addEach(link, lock, "held", effective(request.limit));
    }
    return true;
  }

  // The smallest limits come first. Those that admit no more holders are the reason if they are
  // smaller than `ownLimit`, that of a request that admits more.
  async addEach(link, lock, reason, ownLimit = 0) {
    const holders = [...lock.holders].sort((a, b) => a.limit - b.limit).slice(0, kFollowed);
    for (const holder of holders) {
      const isLimit = ownLimit > lock.holder_count && holder.limit <= lock.holder_count;
      await this.add({ ...link, ...(isLimit ? { limit: holder.limit } : {}),
        owner: this.source.idOf(holder, "owner"), claim: holder, isHolder: true,
        waits: await this.waitsOf(holder) }, isLimit ? "limit" : reason);
    }
  }

  // The requests of the owner that wait, in any queue.
  async waitsOf(holder) {
    const { source } = this;
    const owner = source.idOf(holder, "owner");
    const isOwner = (claim) => source.idOf(claim, "owner") === owner;
    const waits = [];
    if (this.links.length >= kLinksMax) return waits;
    for (const row of await source.queuesOf(holder)) {
      // The list names the oldest holder of each lock; only the others must be looked up.
      if (row.first_owner && source.idOf(row, "first_owner") === owner) continue;
      const isKnown = waits.some(({ keys }) =>
        keys.some((one) => source.idOf(one, "key") === source.idOf(row, "key")));
      const lock = isKnown ? null : await source.lock(row);
      if (!lock || lock.holders.some(isOwner)) continue;
      const place = lock.line.find(isOwner);
      // Without a place among the first, it waits further back.
      if (!place && lock.line.length > 0) waits.push(requestOf(owner, row));
      else if (place && place.state === "waiting") waits.push(await requestAt(place, row, source));
    }
    return waits;
  }

  // Adds the link and what blocks its owner.
  async add(link, reason) {
    const waits = link.waits || [];
    const isLoop = waits.length > 0 && this.path.includes(link.owner);
    const isRepeated = waits.length > 0 && !isLoop && this.followed.has(link.owner);
    const isEnd = waits.length === 0 || isLoop || isRepeated;
    const isCut = !isEnd && this.path.length >= kDepthMax;
    if (this.links.length >= kLinksMax) {
      this.links.at(-1).isCut = true;
      return;
    }
    this.links.push({ ...link, reason, waits, isLoop, isRepeated, isCut });
    if (isEnd || isCut) return;
    this.followed.add(link.owner);
    for (const request of waits) await this.explain(request, waits.length === 1);
  }
}

// Returns the links in order, each one level deeper than the one whose owner it blocks: {depth,
// row: the lock, isOnlyKey: that the blocked owner waits for, reason: a word as in the JSON of
// `fairlockctl why`, or "unread", owner, claim: the fields of the hold or place that blocks,
// isHolder, limit, isOverride, leftMs, isAbsent, waits: requests of the owner, isLoop, isRepeated:
// what it waits for is shown above, isCut: what it waits for is left out}.
export async function findChain(request, source) {
  const search = new Search(source);
  await search.explain(request, true);
  return search.links;
}

// Each link with those that say what blocks its owner: {link, children}.
export function branches(links) {
  const root = { children: [] };
  const open = [root];
  for (const link of links) {
    const branch = { link, children: [] };
    open.length = Math.min(link.depth, open.length - 1) + 1;
    open.at(-1).children.push(branch);
    open.push(branch);
  }
  return root.children;
}
