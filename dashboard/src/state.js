// What the page knows. Whatever changes here is drawn again.
import { Vue } from "./el.js";
import { Refusal, get, hasAccess } from "./api.js";

export const kLoading = "loading";
export const kReady = "ready";
export const kFailed = "failed";

export const state = Vue.observable({
  route: { view: "overview", path: [], query: {} },
  now: Date.now(),
  isPaused: false,
  theme: localStorage.getItem("fairlock-theme") || "auto",
  mayAct: hasAccess(),
  // The connection to the server: since when it is lost, or 0.
  lostSince: 0,
  needsAccess: false,
  server: null,
  // What the present view has asked for: kLoading, kReady or kFailed.
  phase: kLoading,
  error: "",
  data: {},
  typed: {},  // into its filters, and not applied yet
  loadedAt: 0,
  dialog: null,
  said: "",
});

// A sentence for those who look, and for those who listen.
export function say(text) {
  state.said = text;
  setTimeout(() => { if (state.said === text) state.said = ""; }, 6000);
}

// How old what is shown is by now: times go on between two answers.
export function age() { return Math.max(0, state.now - state.loadedAt); }

let loading = 0;

async function loadStatus() {
  const before = state.server;
  const status = await get("status");
  const at = Date.now();
  const counted = {
    requests: status.stats.total_commands_processed,
    granted: status.locks.granted,
    handedOver: status.locks.granted_after_wait,
    expired: status.locks.expired,
  };
  const rates = {};
  for (const name of Object.keys(counted)) {
    const isSame = before && before.status.server.run_id === status.server.run_id;
    const more = isSame ? counted[name] - before.counted[name] : NaN;
    rates[name] = more >= 0 ? (more * 1000) / Math.max(at - before.at, 1) : NaN;
  }
  state.server = { status, at, counted, rates };
}

function noteFailure(error) {
  if (!(error instanceof Refusal)) throw error;
  if (error.status === 0) {
    state.lostSince = state.lostSince || Date.now();
    if (state.phase === kLoading) state.phase = kFailed;
  } else {
    state.lostSince = 0;
    state.needsAccess = error.status === 401 || error.status === 429;
    state.mayAct = hasAccess();
    state.phase = kFailed;
  }
  state.error = error.message;
}

// Asks for the status and what the view shows; an answer that comes too late is not shown.
export async function load(view) {
  const mine = ++loading;
  try {
    const [, data] = await Promise.all([loadStatus(), view.load(state.route)]);
    if (mine !== loading) return;
    state.lostSince = 0;
    state.needsAccess = false;
    state.data = data;
    state.loadedAt = Date.now();
    state.now = state.loadedAt;
    state.phase = kReady;
    state.error = "";
  } catch (error) {
    if (mine === loading) noteFailure(error);
  }
}

export function forgetData() {
  ++loading;
  state.phase = kLoading;
  state.data = {};
  state.typed = {};
  state.error = "";
}

// Routes: #/view/part/part?name=value. Parts stay as they are in the address.
export function readRoute() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...parts] = path.split("/");
  return { view: view || "overview", path: parts,
    query: Object.fromEntries(new URLSearchParams(query)) };
}

export function linkTo(view, parts = [], query = {}) {
  const text = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== "" && value !== undefined)).toString();
  return `#/${[view, ...parts].join("/")}${text ? `?${text}` : ""}`;
}

export function changeQuery(changes) {
  const route = state.route;
  location.hash = linkTo(route.view, route.path, { ...route.query, ...changes });
}
