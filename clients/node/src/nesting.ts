// Refuses a task that would wait for ever for a lock that it holds itself. A task is what is done
// in the work of using(), with all that this calls and starts.

import { AsyncLocalStorage } from "node:async_hooks";

import { Deadlock } from "./errors";
import type { Hold } from "./hold";
import type { Ports } from "./port";
import { bytesOf, type Name, type Terms } from "./terms";
import { shown } from "./texts";

interface Carried {
  readonly hold: Hold;
  readonly ports: Ports;
  /** What the task held before. */
  readonly outer: Carried | undefined;
}

const carried = new AsyncLocalStorage<Carried>();

/** Does the work as a task that has the hold. */
export function carrying<T>(ports: Ports, hold: Hold, work: () => T): T {
  return carried.run({ hold, ports, outer: carried.getStore() }, work);
}

/** The holds of this task over this client, each of them once, and their terms. */
function heldHere(ports: Ports): [Hold, Terms][] {
  const found = new Map<object, [Hold, Terms]>();
  for (let one = carried.getStore(); one !== undefined; one = one.outer) {
    const terms = one.ports === ports ? one.hold.heldTerms : null;
    if (terms !== null) found.set(one.hold.identity, [one.hold, terms]);
  }
  return [...found.values()];
}

/** Throws Deadlock if these terms cannot be granted before the task ends what it holds. */
export function refuseNested(ports: Ports, wanted: Terms): void {
  const held = heldHere(ports);
  if (held.length === 0) return;
  for (const [number, key] of wanted.keysOnServer.entries()) {
    const mine = held.filter(([, terms]) => terms.keysOnServer.some((other) => isSame(other, key)));
    if (mine.some(([, terms]) => excludes(terms, wanted, mine.length))) {
      const [hold] = mine[0]!;
      throw new Deadlock(
        `${shown(wanted.keys[number]!)} is held by this task already, as ${shown(hold.owner)}: ` +
          "the wait would never end. If something else releases it, give each acquisition an " +
          "owner; if an inner call may share it, take it with reentrant: true",
      );
    }
  }
}

/** The hold that the task has of the same keys in the same way, for this owner if one is given. */
export function reentered(ports: Ports, wanted: Terms, owner?: Name): Hold | null {
  for (const [hold, terms] of heldHere(ports)) {
    const isWanted =
      terms.shared === wanted.shared &&
      terms.limit === wanted.limit &&
      hasKeys(terms, wanted) &&
      hasKeys(wanted, terms) &&
      (owner === undefined || isSame(owner, hold.owner));
    if (isWanted) return hold.nested();
  }
  return null;
}

function isSame(one: Name, other: Name): boolean {
  return bytesOf(one).equals(bytesOf(other));
}

function hasKeys(one: Terms, other: Terms): boolean {
  return other.keysOnServer.every((key) => one.keysOnServer.some((mine) => isSame(mine, key)));
}

function excludes(mine: Terms, wanted: Terms, count: number): boolean {
  if (mine.shared || wanted.shared) return !(mine.shared && wanted.shared);
  if (mine.limit === undefined || wanted.limit === undefined) return true;
  return count >= Math.min(mine.limit, wanted.limit);
}
