// The chain of owners that one request waits for, in the words of `fairlockctl why`.
import { el } from "./el.js";
import { pathOf } from "./api.js";
import { branches, findChain, requestAt } from "./chain.js";
import { lockSource } from "./lock_source.js";
import { button, empty, keyLink, left, ownerLink, panel, running } from "./parts.js";
import { changeQuery, linkTo, state } from "./state.js";

// Returns {place, request, links, isPart, isGone}; null: nobody waits. `why` is the exact name of
// the owner that was chosen; without one, the first that waits is explained. isGone: the chosen
// owner has no place among those that are known.
export async function loadChain(lock, places, why) {
  const chosen = why
    ? [...places, ...lock.line].find((place) => pathOf(place, "owner") === why) : undefined;
  const place = chosen || lock.line.find(({ state: is }) => is === "waiting");
  if (!place) return null;
  const source = lockSource(lock);
  const request = await requestAt(place, lock, source);
  const links = await findChain(request, source);
  const isPart = source.isPart || (links.some(({ isCut }) => isCut) ? "much" : "");
  return { place, request, links, isPart, isGone: Boolean(why && !chosen) };
}

const joined = (parts) => parts.map((part, n) =>
  [n === 0 ? "" : n + 1 === parts.length ? " and " : ", ", part]);

function keysOf({ keys, hidden }) {
  const names = keys.map((row) => keyLink(row));
  if (hidden > 0) names.push(`${hidden} more`);
  return [joined(names), names.length > 1 ? " as one" : ""];
}

function leaseOf(holder) {
  if (holder.leaving) return [", leaving within ", left(holder.ttl_ms, "")];
  return holder.ttl_ms === null ? ", unlimited lease" : [", lease left ", left(holder.ttl_ms, "")];
}

// Most libraries store neither since when a lock is held nor who holds it from where.
function holderText({ claim }, key) {
  const isOfLibrary = !claim.token;
  return [claim.held_ms > 0 || !isOfLibrary ? [" has held ", key, " for ", running(claim.held_ms)]
    : [" holds ", key], leaseOf(claim), isOfLibrary || !claim.address ? ""
    : `, from ${claim.address}${claim.name ? ` (${claim.name})` : ""}`];
}

function limitText({ reason, isOverride, limit }) {
  if (reason !== "limit") return "";
  return `${isOverride ? "; an operator's" : "; its"} LIMIT ${limit} admits no more`;
}

const leftText = (ms) => (ms === null || ms === undefined ? "" : [" for another ", left(ms, "")]);

const stateTexts = {
  reserved: (link, key) => [key, " is reserved for ", ownerLink(link.claim, link.row),
    ", which is absent,", leftText(link.leftMs)],
  cooling: (link, key) => [key, " is in cooldown", leftText(link.leftMs)],
  drained: (link, key) => ["an operator has drained ", key, ": see ",
    el("a", { href: linkTo("settings") }, "Settings")],
  starting: () => "the server has started, and leases that were granted before may still be " +
    "running",
  value: (link, key) => [key, " has a value that is no lock"],
  unread: (link, key) => [key, " was not looked up, so the chain may go on there"],
};

// What the owner of the link waits for, unless that is only the place that blocks.
function waitsText(link) {
  const shown = link.waits.filter(({ keys, hidden }) =>
    link.reason !== "line" || keys.length + hidden > 1);
  return [shown.map((request, n) => [n > 0 ? ", and for " : link.isHolder ? ", and waits for "
    : " and waits for ", keysOf(request)]),
  link.isLoop ? [": ", el("strong.bad", "this closes a loop")] : "",
  link.isRepeated ? " (explained above)" : "", link.isCut ? " …" : ""];
}

function textOf(link) {
  const key = keyLink(link.row);
  if (link.isHolder) {
    return [ownerLink(link.claim, link.row), holderText(link, key), limitText(link),
      waitsText(link)];
  }
  if (link.reason === "line") {
    return [ownerLink(link.claim, link.row), " is ahead", link.isOnlyKey ? "" : [" for ", key],
      link.isAbsent ? [", absent: its place is kept", leftText(link.leftMs)] : "",
      waitsText(link)];
  }
  return [stateTexts[link.reason](link, key), link.isCut ? " …" : ""];
}

function listOf(all) {
  return el("ul.chain", all.map(({ link, children }, n) => el("li", { key: n }, textOf(link),
    children.length > 0 ? [":", listOf(children)] : null)));
}

// Most libraries do not store since when an owner waits.
const waitedText = (place) => (place.waited_ms > 0 ? [", for ", running(place.waited_ms)] : "");

const kPartTexts = {
  denied: "Some locks cannot be read with these credentials, so the chain may go on.",
  much: "The chain is longer than what is shown: follow its links to see more.",
};

// Null: nobody waits.
export function chainPanel(chain, lock) {
  if (!chain) return null;
  const { place, request, links, isPart, isGone } = chain;
  const { why } = state.route.query;
  const first = why ? button("Explain the first waiter", () => changeQuery({ why: "" })) : null;
  return panel("Why it waits", first,
    isGone ? el("p.note", "The chosen owner is not among the waiters that are shown, so this is " +
      "about the first one.") : null,
    links.length === 0
      ? empty(`Nothing blocks ${place.owner}`, lock.library ? "Its library asks again by itself."
        : "It is granted the lock at once.")
      : el("div.chains", el("p", ownerLink(place, lock), " waits for ",
        keysOf(request), waitedText(place), ":"), listOf(branches(links))),
    isPart ? el("p.muted.note", kPartTexts[isPart]) : null);
}
