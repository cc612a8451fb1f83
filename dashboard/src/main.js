// The page: the frame around the views, navigation, and periodic refresh.
import { Vue, el, setCreator } from "./el.js";
import { Refusal, currentAccess, hasAccess, judgeToken, restoreAccess, setToken, setUser,
  tokenInAddress } from "./api.js";
import { forgetData, judgeAccess, kKnown, kNobody, kReady, kTokenRefused, kUnknown, kWrong, linkTo,
  load, loadNews, readRoute, say, state, togglePause } from "./state.js";
import { button } from "./parts.js";
import { close, confirm, dialogFrame } from "./dialog.js";
import { duration } from "./format.js";
import { fleetHealth } from "./fleet.js";
import { missingTexts } from "./partitions.js";
import overview from "./views/overview.js";
import locks from "./views/locks.js";
import lock from "./views/lock.js";
import waits from "./views/waits.js";
import events from "./views/events.js";
import labels from "./views/labels.js";
import label from "./views/label.js";
import clients from "./views/clients.js";
import settings from "./views/settings.js";

const kViews = { overview, locks, waits, events, labels, clients, settings, lock, label };
const kInMenu = ["overview", "locks", "waits", "events", "labels", "clients", "settings"];
// Views that are not in the menu themselves, and the views in the menu that they belong to.
const kParents = { lock: "locks", label: "labels" };
const kThemes = { auto: "light", light: "dark", dark: "auto" };
const kRetryMs = 1500;
const kNewsEveryMs = 2000;

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
  // While a dialog is open, its content must not change, and rows must not move while some of them
  // are being selected.
  const isHeld = state.dialog || Object.keys(state.selected).length > 0;
  if (state.isPaused && !document.hidden && !isHeld) tellNews();
  else if (isAsleep() || isHeld) timer = setTimeout(tick, 500);
  else refresh();
}

// A paused view stays as it is, and may say what has come since.
async function tellNews() {
  const view = viewOf(state.route);
  if (view.countNews) await loadNews(view);
  clearTimeout(timer);
  timer = setTimeout(tick, view.countNews ? kNewsEveryMs : 500);
}

// Removes the token from the address, where others could read it.
function takeToken(address) {
  const token = tokenInAddress();
  if (token) history.replaceState(null, "", address);
  return token;
}

// Of a tab that is open already: it keeps its own credentials unless the new token is valid.
async function tryToken(token) {
  try {
    await judgeToken(token);
    setToken(token);
    await judgeAccess();
    state.needsAccess = false;
    say("This tab now uses the token of its address.");
    refresh();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const kept = hasAccess() ? " This tab keeps the credentials that it had." : "";
    state.tokenTrouble = (error.status === 401 ? kTokenRefused
      : `The token of the address was not checked: ${error.message}`) + kept;
  }
}

function onRoute() {
  const before = state.route;
  const token = takeToken(linkTo(before.view, before.path, before.query));
  if (token) {
    tryToken(token);
    return;
  }
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
    // What was said about the address of an open tab has been read by now.
    if (state.access !== kWrong) state.tokenTrouble = "";
    forgetData();
    scrollTo(0, 0);
    Vue.nextTick(() => document.getElementById("title").focus());
  }
  document.title = `${route.title || viewOf(route).title} · fairlock`;
  refresh();
}

// Bytes that are not UTF-8 become U+FFFD, as in the rows of tables.
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

// Checks the credentials before using them; if they are wrong, the old ones stay in use.
async function useAccess(user, secret) {
  const before = currentAccess();
  const { tokenTrouble } = state;
  if (user) setUser(user, secret);
  else setToken(secret.trim());
  try {
    await judgeAccess();
  } catch (error) {
    restoreAccess(before);
    state.tokenTrouble = tokenTrouble;
    if (!(error instanceof Refusal) || error.status !== 401) throw error;
    state.access = before ? kUnknown : kNobody;
    throw new Refusal(400, "", user ? "The user or password is wrong." : "The token is wrong.");
  }
}

const kAccessTexts = { [kNobody]: "read only", [kUnknown]: "being checked",
  [kWrong]: "read only" };

function accessText() {
  if (state.access !== kKnown) return kAccessTexts[state.access];
  return state.may.length ? "may act" : "read only";
}

function enterAccess() {
  confirm({
    title: "Access",
    lines: [hasAccess() ? "This tab has credentials. What you enter now replaces them; leave " +
      "both fields empty to forget them." : "With the server's token (option http_token_file) " +
      "or as one of its users, you can break locks and change settings. Without, this page is " +
      "read only.",
    "Credentials are stored in this tab only, until you close it."],
    fields: [{ name: "user", label: "User (leave empty to use the token)" },
      { name: "secret", label: "Password or token", type: "password" }],
    confirm: "Log in",
    act: async ({ user, secret }) => {
      await useAccess(user, secret);
      state.needsAccess = false;
      if (!hasAccess()) return "The credentials are forgotten.";
      const who = user ? `You are now logged in as ${user}` : "You are now using the token";
      return state.may.length ? `${who}.` : `${who}, without permission to change anything.`;
    },
  });
}

function showKeys() {
  confirm({ title: "Keys", lines: ["1 to 7: go to a view, from left to right",
    "/: go to the filter",
    "p: pause or resume updates", "t: light, dark, or the system's theme", "r: update now",
    "Escape: close the dialog", "?: this list"] });
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

function health() {
  if (state.lostSince) return ["bad", "no connection"];
  if (!state.server) return ["", "…"];
  const { memory, persistence } = state.server.status;
  const inFleet = fleetHealth(state.server.fleet);
  if (persistence.storage_failed) return ["bad", "disk failed"];
  if (persistence.loading) return ["soon", "loading its data"];
  if (persistence.short_of_disk) return ["bad", "low disk space"];
  if (memory.short_of_memory) return ["bad", "low memory"];
  if (inFleet && inFleet[0] === "bad") return inFleet;
  if (state.isPaused) return ["soon", "paused"];
  return inFleet || ["good", "ready"];
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
      button(state.isPaused ? "Resume" : "Pause", togglePause, { title: "Key p" }),
      button(`Theme: ${state.theme}`, nextTheme, { title: "Key t" }),
      button(`Access: ${accessText()}`, enterAccess),
      button("?", showKeys, { "aria-label": "Keys" })));
}

function isCurrent(name) {
  return (kParents[state.route.view] || state.route.view) === name;
}

function banner() {
  if (state.tokenTrouble && !state.lostSince) {
    return el("div.banner", { role: "alert" }, `${state.tokenTrouble} `,
      button("Enter credentials", enterAccess));
  }
  if (state.needsAccess) {
    return el("div.banner", { role: "alert" }, "This server requires a user or its token. ",
    button("Enter credentials", enterAccess));
  }
  if (state.lostSince) {
    return el("div.banner.bad", { role: "alert" },
      "No connection to the server. " +
      (state.loadedAt ? `The data shown is ${duration(state.now - state.loadedAt)} old. `
        : "There is no data yet. ") + "The page keeps trying.");
  }
  if (state.access === kWrong) {
    return el("div.banner", { role: "alert" }, "The token or password is wrong, so this page is " +
      "read only. ", button("Enter credentials", enterAccess));
  }
  if (state.error && state.phase === kReady) {
    return el("div.banner.bad", { role: "alert" }, `${state.error} (The data shown is ` +
      `${duration(state.now - state.loadedAt)} old.)`);
  }
  const missing = missingTexts();
  return missing.length ? el("div.banner.bad", { role: "alert" }, missing.join(" ")) : null;
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

// The first request checks it.
const firstToken = takeToken(location.pathname);
if (firstToken) setToken(firstToken);
state.access = hasAccess() ? kUnknown : kNobody;
showTheme();
addEventListener("hashchange", onRoute);
addEventListener("keydown", onKey);
addEventListener("reload", refresh);
document.addEventListener("visibilitychange", () => { if (!document.hidden) tick(); });
setInterval(() => { if (!isAsleep()) state.now = Date.now(); }, 1000);
onRoute();
