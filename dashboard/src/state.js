// What the page knows. Whatever changes here is drawn again.
import { Vue } from "./el.js";
import { Refusal, get, hasAccess, kWrongAccess } from "./api.js";

export const kLoading = "loading";
export const kReady = "ready";
export const kFailed = "failed";

// Of the credentials of this tab: there are none, they are not judged yet, right, or were wrong.
export const kNobody = "nobody";
export const kUnknown = "unknown";
export const kKnown = "known";
export const kWrong = "wrong";

export const state = Vue.observable({
  route: { view: "overview", path: [], query: {} },
  now: Date.now(),
  isPaused: false,
  theme: localStorage.getItem("fairlock-theme") || "auto",
  // What the credentials of this tab allow, once the server has judged them, and whose they are.
  may: [],
  user: "",
  access: hasAccess() ? kUnknown : kNobody,
  // The connection to the server: since when it is lost, or 0.
  lostSince: 0,
  needsAccess: false,
  server: null,
  // What the present view has asked for: kLoading, kReady or kFailed.
  phase: kLoading,
  error: "",
  isFilterWrong: false,
  data: {},
  typed: {},  // into its filters, and not applied yet
  areFiltersOpen: false,  // on a phone
  selected: {},  // rows by their identity
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

// Asks what the credentials allow; wrong ones are forgotten, and the refusal is thrown.
export async function judgeAccess() {
  try {
    const answer = hasAccess() ? await get("access") : { may: [], user: null };
    state.may = answer.may;
    state.user = answer.user || "";
    state.access = hasAccess() ? kKnown : kNobody;
  } catch (error) {
    forgetAccess(error);
    throw error;
  }
}

// After a refusal of credentials, which may also have become wrong meanwhile.
export function forgetAccess(error) {
  if (!(error instanceof Refusal) || error.status === 0 || error.status >= 429) return;
  state.may = [];
  state.user = "";
  state.access = error.status === 401 ? kWrong : kKnown;
}

// Only once: the server counts log-ins that fail.
async function judgeNewAccess() {
  if (state.access !== kUnknown) return;
  await judgeAccess().catch((error) => {
    if (!(error instanceof Refusal) || error.status === 0) throw error;
  });
}

// A server that is only short of something will answer again: what is shown stays meanwhile. What
// it refuses for good is not to be mistaken for what was shown before.
function showFailure(error) {
  if (!(error instanceof Refusal)) throw error;
  const isShort = error.status === 0 || error.status >= 500;
  if (error.status === 0) state.lostSince = state.lostSince || Date.now();
  else state.lostSince = 0;
  state.needsAccess = error.status === 401 || error.status === 429;
  if (error.status === 401 && error.code === kWrongAccess) forgetAccess(error);
  state.isFilterWrong = error.status === 400 && Object.keys(state.route.query).length > 0;
  state.error = error.message;
  if (isShort && state.phase === kReady) return;
  state.phase = kFailed;
  state.data = {};
}

// Asks for the status and what the view shows; an answer that comes too late is not shown.
export async function load(view) {
  const mine = ++loading;
  try {
    await judgeNewAccess();
    const [, data] = await Promise.all([loadStatus(), view.load(state.route)]);
    if (mine !== loading) return;
    state.lostSince = 0;
    state.needsAccess = false;
    state.data = data;
    state.loadedAt = Date.now();
    state.now = state.loadedAt;
    state.phase = kReady;
    state.error = "";
    state.isFilterWrong = false;
  } catch (error) {
    if (mine === loading) showFailure(error);
  }
}

export function forgetData() {
  ++loading;
  state.phase = kLoading;
  state.data = {};
  state.typed = {};
  state.selected = {};
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
