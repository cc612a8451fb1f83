// The graph of who waits for whom as a tree: at the roots are owners that block others, and states
// of locks; below each are the owners that wait for it. Imports nothing.

export const kDepthMax = 8;
// Of the queue of one lock, this many places have a line of their own.
export const kPlacesMax = 5;

// What blocks the places of one lock: {claim: the owner's hold or place, held: whether it holds the
// lock}, or {state: a word}. Of several holders, this is one that waits itself, or else the oldest:
// the chain on the lock's page shows them all.
function blockerOf(lock, isWaiting) {
  if (lock.override === 0) return { state: "drained" };
  if (lock.holders.length > 0) {
    return { claim: lock.holders.find(isWaiting) || lock.holders[0], held: true };
  }
  const reserved = lock.line.find((place) => place.state === "reserved");
  if (reserved) return { claim: reserved, held: false };
  if (lock.cooling_ms > 0) return { state: "cooling" };
  // An MLOCK at the front waits for its other keys; those behind it wait for it.
  const [first] = lock.line;
  return first && (first.keys > 1 || first.state === "absent") ? { claim: first, held: false }
    : { state: "free" };
}

// One wait is {owner: the exact name, claim: the place, lock, by: what blocks it}; `by` is the
// exact name of an owner, or of a state of the lock.
function waitsOf(locks, idOf) {
  const nameOf = (lock, claim) => `${lock.db}/${idOf(claim, "owner")}`;
  const waiting = new Set(locks.flatMap((lock) => lock.line
    .filter((place) => place.state === "waiting").map((place) => nameOf(lock, place))));
  const blockers = new Map();
  const byOf = new Map();
  const waits = [];
  for (const lock of locks) {
    const { claim, state, held } = blockerOf(lock, (one) => waiting.has(nameOf(lock, one)));
    const by = claim ? nameOf(lock, claim) : `${state} ${lock.db}/${idOf(lock, "key")}`;
    byOf.set(lock, by);
    if (!blockers.has(by)) blockers.set(by, { name: by, claim, state, lock, holds: [] });
    if (held) blockers.get(by).holds.push({ lock, claim });
    for (const place of lock.line) {
      const owner = nameOf(lock, place);
      if (place.state === "waiting" && owner !== by) waits.push({ owner, claim: place, lock, by });
    }
  }
  return { waits: waits.sort((a, b) => b.claim.waited_ms - a.claim.waited_ms),
    blockers, byOf };
}

// The longest waits, a few of each lock, and those of the owners that they wait for.
function chosenOf(waits, countMax) {
  const byOwner = new Map();
  for (const wait of waits) byOwner.set(wait.owner, [...(byOwner.get(wait.owner) || []), wait]);
  const ofLock = new Map();
  const open = waits.filter(({ lock }) => {
    ofLock.set(lock, (ofLock.get(lock) || 0) + 1);
    return ofLock.get(lock) <= kPlacesMax;
  }).slice(0, countMax);
  const chosen = new Set();
  while (open.length > 0) {
    const wait = open.pop();
    if (chosen.has(wait)) continue;
    chosen.add(wait);
    open.push(...(byOwner.get(wait.by) || []));
  }
  return waits.filter((wait) => chosen.has(wait));
}

// How many places of each lock have no line of their own below what blocks them.
function hiddenOf(locks, shown, { waits, byOf }) {
  const countOf = (some, lock) => some.filter((wait) => wait.lock === lock).length;
  return locks.map((lock) => ({ lock, by: byOf.get(lock),
    count: countOf(waits, lock) - countOf(shown, lock) +
      Math.max(0, lock.waiters - lock.line.length) })).filter(({ count }) => count > 0);
}

class Tree {
  constructor(waits, blockers, hidden) {
    this.waits = waits;
    this.blockers = blockers;
    this.hidden = hidden;
    this.visited = new Set();
  }

  // The node of an owner, with the wait that leads to it; a root has none.
  node(name, wait, path) {
    const below = this.waits.filter(({ by }) => by === name);
    const isLoop = path.includes(name);
    const isRepeated = !isLoop && below.length > 0 && this.visited.has(name);
    const isCut = !isLoop && !isRepeated && below.length > 0 && path.length >= kDepthMax;
    const isLeaf = isLoop || isRepeated || isCut;
    this.visited.add(name);
    const children = isLeaf ? [] : below.map((one) => this.node(one.owner, one, [...path, name]))
      .sort((a, b) => b.longestMs - a.longestMs);
    return { ...this.blockers.get(name), name, wait, children, isLoop, isRepeated, isCut,
      hidden: isLeaf ? [] : this.hidden.filter(({ by }) => by === name),
      longestMs: Math.max(wait ? wait.claim.waited_ms : 0,
        ...children.map((one) => one.longestMs)) };
  }

  // An owner of the loop that those who wait for each other end in; undefined: they end at a root.
  loopOf(owner) {
    const seen = new Set();
    for (let name = owner; name !== undefined;) {
      if (seen.has(name)) return name;
      seen.add(name);
      name = this.waits.find((wait) => wait.owner === name)?.by;
    }
    return undefined;
  }
}

// How many owners wait below a node.
export function behind(node) {
  const owners = new Set();
  let hidden = 0;
  const visit = (one) => {
    for (const { count } of one.hidden) hidden += count;
    for (const child of one.children) {
      owners.add(child.name);
      visit(child);
    }
  };
  visit(node);
  owners.delete(node.name);
  return owners.size + hidden;
}

// `locks` are answers of GET locks/{db}/{key}. Returns the roots, the longest wait first: {name,
// claim and lock, or state and lock: what blocks, holds: [{lock, claim}], wait: {claim, lock} of a
// node that is no root, children, hidden: [{lock, count}] places that are not shown, longestMs,
// isInLoop: a root that waits for an owner below it; isLoop, isRepeated, isCut: why its children
// are not shown here}.
export function waitTree(locks, countMax, idOf) {
  const all = waitsOf(locks, idOf);
  const waits = chosenOf(all.waits, countMax);
  const tree = new Tree(waits, all.blockers, hiddenOf(locks, waits, all));
  const waiting = new Set(waits.map(({ owner }) => owner));
  const names = [...new Set(waits.map(({ by }) => by))];
  const roots = names.filter((name) => !waiting.has(name)).map((name) => tree.node(name, null, []));
  for (const { owner } of waits) {
    const inLoop = tree.visited.has(owner) ? undefined : tree.loopOf(owner);
    if (inLoop !== undefined && !tree.visited.has(inLoop)) {
      roots.push({ ...tree.node(inLoop, null, []), isInLoop: true });
    }
  }
  return roots.sort((a, b) => b.longestMs - a.longestMs);
}
