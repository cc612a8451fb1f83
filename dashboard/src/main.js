// The page: what is around the views, where it leads, and when it asks again.
import { Vue, el, setCreator } from "./el.js";
import { Refusal, currentAccess, hasAccess, restoreAccess, setToken, setUser, takeTokenFromAddress }
  from "./api.js";
import { forgetData, judgeAccess, kKnown, kNobody, kReady, kUnknown, kWrong, linkTo, load,
  readRoute, say, state } from "./state.js";
import { button } from "./parts.js";
import { close, confirm, dialogFrame } from "./dialog.js";
import { duration } from "./format.js";
import overview from "./views/overview.js";
import locks from "./views/locks.js";
import lock from "./views/lock.js";
import events from "./views/events.js";
import labels from "./views/labels.js";
import label from "./views/label.js";
import clients from "./views/clients.js";
import settings from "./views/settings.js";

const kViews = { overview, locks, events, labels, clients, settings, lock, label };
const kInMenu = ["overview", "locks", "events", "labels", "clients", "settings"];
// Those that are not in the menu stand under one that is.
const kParents = { lock: "locks", label: "labels" };
const kThemes = { auto: "light", light: "dark", dark: "auto" };
const kRetryMs = 1500;

const viewOf = (route) => kViews[route.view] || overview;

let timer = 0;

function isAsleep() { return document.hidden || state.isPaused; }

async function refresh() {
  clearTimeout(timer);
  const view = viewOf(state.route);
  await load(view);
  clearTimeout(timer);
  timer = setTimeout(tick, state.lostSince ? kRetryMs : view.everyMs);
}

function tick() {
  // A dialog is read in peace: what it says must not change beneath it. And rows must not move
  // while some of them are being selected.
  const isHeld = state.dialog || Object.keys(state.selected).length > 0;
  if (isAsleep() || isHeld) timer = setTimeout(tick, 500);
  else refresh();
}

function onRoute() {
  const before = state.route;
  const route = readRoute();
  const isOther = route.view !== before.view || route.path.join("/") !== before.path.join("/");
  if (!kViews[route.view]) {
    location.replace(linkTo("overview"));
    return;
  }
  route.title = decode(kParents[route.view] ? route.path.at(-1) || "" : "");
  state.route = route;
  if (state.dialog) close();
  if (isOther) {
    forgetData();
    scrollTo(0, 0);
    Vue.nextTick(() => document.getElementById("title").focus());
  }
  document.title = `${route.title || viewOf(route).title} · fairlock`;
  refresh();
}

// U+FFFD stands in what is no text, as in the rows of tables.
function decode(text) {
  const bytes = text.replace(/%([0-9a-f]{2})/gi,
    (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  return new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}

function showTheme() {
  if (state.theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = state.theme;
}

function nextTheme() {
  state.theme = kThemes[state.theme];
  localStorage.setItem("fairlock-theme", state.theme);
  showTheme();
}

// Judged before it is used: a wrong one leaves what was there.
async function useAccess(user, secret) {
  const before = currentAccess();
  if (user) setUser(user, secret);
  else setToken(secret.trim());
  try {
    await judgeAccess();
  } catch (error) {
    restoreAccess(before);
    if (!(error instanceof Refusal) || error.status !== 401) throw error;
    state.access = before ? kUnknown : kNobody;
    throw new Refusal(400, "", user ? "User or password are wrong." : "This token is wrong.");
  }
}

const kAccessTexts = { [kNobody]: "looks only", [kUnknown]: "being checked",
  [kWrong]: "looks only" };

function accessText() {
  if (state.access !== kKnown) return kAccessTexts[state.access];
  return state.may.length ? "may act" : "looks only";
}

function enterAccess() {
  confirm({
    title: "Access",
    lines: [hasAccess() ? "This page says who you are. What is entered now takes its place; if " +
      "nothing is, it is forgotten." : "With the token (http_token_file of the server), or as a " +
      "user of it, locks can be broken and settings changed. Without, this page only looks.",
    "It is kept in this tab only, until the tab is closed."],
    fields: [{ name: "user", label: "User, or nothing for the token" },
      { name: "secret", label: "Password or token", type: "password" }],
    confirm: "Use it",
    act: async ({ user, secret }) => {
      await useAccess(user, secret);
      state.needsAccess = false;
      if (!hasAccess()) return "It is forgotten.";
      const who = user ? `This page acts as ${user} from now on` : "The token is used from now on";
      return state.may.length ? `${who}.` : `${who}, who may change nothing.`;
    },
  });
}

function showKeys() {
  confirm({ title: "Keys", lines: ["1 to 6: the views, from left to right", "/: the filter",
    "p: stop asking, or go on", "t: light, dark, or as the system has it", "r: ask now",
    "Escape: close what is open", "?: this"] });
}

const kKeys = {
  "/": () => { const filter = document.getElementById("filter"); if (filter) filter.focus(); },
  p: togglePause, t: nextTheme, r: refresh, "?": showKeys,
};

function onKey(event) {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (isTyping || state.dialog || event.ctrlKey || event.metaKey || event.altKey) return;
  const view = kInMenu[Number(event.key) - 1];
  if (view) location.hash = linkTo(view);
  else if (kKeys[event.key]) kKeys[event.key]();
  else return;
  event.preventDefault();
}

function togglePause() {
  state.isPaused = !state.isPaused;
  say(state.isPaused ? "What you see stands still." : "What you see is new again.");
  if (!state.isPaused) refresh();
}

function health() {
  if (state.lostSince) return ["bad", "no connection"];
  if (!state.server) return ["", "…"];
  const { memory, persistence } = state.server.status;
  if (persistence.storage_failed) return ["bad", "disk has failed"];
  if (persistence.loading) return ["soon", "reading its data"];
  if (persistence.short_of_disk) return ["bad", "short of disk"];
  if (memory.short_of_memory) return ["bad", "short of memory"];
  if (state.isPaused) return ["soon", "paused"];
  return ["good", "ready"];
}

function bar() {
  const [kind, text] = health();
  return el("div.bar-top",
    el("a.brand", { href: linkTo("overview") }, "fairlock"),
    el("span.server", location.host),
    el("span.pill", { class: kind, role: "status" },
      el("span.dot", { class: kind, "aria-hidden": "true" }), text),
    el("nav", { "aria-label": "Views" }, kInMenu.map((name, index) => el("a", { key: name,
      href: linkTo(name), "aria-current": isCurrent(name) ? "page" : undefined,
      title: `Key ${index + 1}` }, kViews[name].title))),
    el("div.tools",
      button(state.isPaused ? "Go on" : "Pause", togglePause, { title: "Key p" }),
      button(`Theme: ${state.theme}`, nextTheme, { title: "Key t" }),
      button(`Access: ${accessText()}`, enterAccess),
      button("?", showKeys, { "aria-label": "Keys" })));
}

function isCurrent(name) {
  return (kParents[state.route.view] || state.route.view) === name;
}

function banner() {
  if (state.needsAccess) {
    return el("div.banner", { role: "alert" }, "This server shows itself only to its users, or " +
      "with its token. ", button("Enter who you are", enterAccess));
  }
  if (state.lostSince) {
    return el("div.banner.bad", { role: "alert" },
      "No connection to the server. What you see is " +
      (state.loadedAt ? `${duration(state.now - state.loadedAt)} old` : "not there yet") +
      "; the page keeps asking.");
  }
  if (state.access === kWrong) {
    return el("div.banner", { role: "alert" }, "Token or password are wrong: this page only " +
      "looks. ", button("Enter who you are", enterAccess));
  }
  if (state.error && state.phase === kReady) {
    return el("div.banner.bad", { role: "alert" }, `${state.error} (What you see is ` +
      `${duration(state.now - state.loadedAt)} old.)`);
  }
  return null;
}

new Vue({
  el: "#page",
  created() { setCreator(this.$createElement); },
  render() {
    const isOld = state.lostSince > 0;
    return el("div.page", el("a.skip", { href: "#title",
      onclick: (event) => {
        event.preventDefault();
        document.getElementById("title").focus();
      } }, "To the content"),
    bar(), banner(), el("main", { class: { old: isOld } }, viewOf(state.route).view()),
    el("div.said", { role: "status", "aria-live": "polite" }, state.said), dialogFrame());
  },
});

takeTokenFromAddress();
state.access = hasAccess() ? kUnknown : kNobody;
showTheme();
addEventListener("hashchange", onRoute);
addEventListener("keydown", onKey);
addEventListener("reload", refresh);
document.addEventListener("visibilitychange", () => { if (!document.hidden) tick(); });
setInterval(() => { if (!isAsleep()) state.now = Date.now(); }, 1000);
onRoute();
