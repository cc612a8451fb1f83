// The state of the page. Vue redraws the page when it changes.
import { Vue } from "./el.js";
import { Refusal, get, hasAccess, kWrongAccess } from "./api.js";

export const kLoading = "loading";
export const kReady = "ready";
export const kFailed = "failed";

// The possible states of this tab's credentials: absent, not checked yet, valid, or refused.
export const kNobody = "nobody";
export const kUnknown = "unknown";
export const kKnown = "known";
export const kWrong = "wrong";

export const state = Vue.observable({
  route: { view: "overview", path: [], query: {} },
  now: Date.now(),
  isPaused: false,
  news: "",  // what has come since the view was paused
  theme: localStorage.getItem("fairlock-theme") || "auto",
  // The permissions and the user of the credentials, once the server has checked them.
  may: [],
  user: "",
  access: hasAccess() ? kUnknown : kNobody,
  // When the connection to the server was lost, or 0.
  lostSince: 0,
  needsAccess: false,
  // Why the token is not in use that the address had, or that was in use; empty: there is no such.
  tokenTrouble: "",
  server: null,
  // Why the leaders of partitions did not answer the last time, by the partition's number.
  missing: {},
  // The state of the current view's data: kLoading, kReady or kFailed.
  phase: kLoading,
  error: "",
  isFilterWrong: false,
  data: {},
  typed: {},  // filter texts as they are being typed
  areFiltersOpen: false,  // on phones
  selected: {},  // rows by their identity
  loadedAt: 0,
  dialog: null,
  said: "",
});

// Shows a message, which screen readers announce too.
export function say(text) {
  state.said = text;
  setTimeout(() => { if (state.said === text) state.said = ""; }, 6000);
}

// The age of the displayed data, by which durations grow between two responses.
export function age() { return Math.max(0, state.now - state.loadedAt); }

let loading = 0;

// Null if the server is not a node of a fleet, or the user may not see the fleet.
async function loadFleet(status) {
  if (!status.cluster || status.cluster.fleet_name === undefined) return null;
  try {
    return (await get("cluster")).cluster;
  } catch (error) {
    if (error instanceof Refusal && error.status === 403) return null;
    throw error;
  }
}

// A status with what happened since the status before it, per second. `before` is such a result of
// the same server, or null.
export function withRates(status, before) {
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
  return { status, at, counted, rates };
}

async function loadStatus() {
  const before = state.server;
  const status = await get("status");
  const fleet = await loadFleet(status);
  state.server = { ...withRates(status, before), fleet };
}

// Asks the server what the credentials permit. Drops refused credentials and throws the refusal.
export async function judgeAccess() {
  try {
    const answer = hasAccess() ? await get("access") : { may: [], user: null };
    state.may = answer.may;
    state.user = answer.user || "";
    state.access = hasAccess() ? kKnown : kNobody;
    state.tokenTrouble = "";
  } catch (error) {
    forgetAccess(error);
    throw error;
  }
}

export const kTokenRefused = "Token refused: the server does not accept it. The right one is in " +
  "the file that its option http_token_file names: enter it, or open the page's address with it.";

// Called after credentials were refused; valid ones may have been revoked.
export function forgetAccess(error) {
  if (!(error instanceof Refusal) || error.status === 0 || error.status >= 429) return;
  state.may = [];
  state.user = "";
  state.access = error.status === 401 ? kWrong : kKnown;
  if (error.status === 401 && error.isOfToken) state.tokenTrouble = kTokenRefused;
}

// Runs only once per credentials, because the server counts failed log-ins.
async function judgeNewAccess() {
  if (state.access !== kUnknown) return;
  await judgeAccess().catch((error) => {
    if (!(error instanceof Refusal) || error.status === 0) throw error;
  });
}

// If the failure is temporary, the page keeps showing the old data. After a permanent refusal it
// removes the data, which would otherwise look current.
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

// Requests the status and the view's data; ignores a response that arrives after a newer request.
export async function load(view) {
  const mine = ++loading;
  try {
    await judgeNewAccess();
    // Only the status says whether there are partitions to ask.
    const isFirst = state.server === null;
    if (isFirst) await loadStatus();
    const [, data] = await Promise.all([isFirst ? null : loadStatus(), view.load(state.route)]);
    if (mine !== loading) return;
    state.lostSince = 0;
    state.needsAccess = false;
    state.data = data;
    state.news = "";
    state.loadedAt = Date.now();
    state.now = state.loadedAt;
    state.phase = kReady;
    state.error = "";
    state.isFilterWrong = false;
  } catch (error) {
    if (mine === loading) showFailure(error);
  }
}

export function togglePause() {
  state.isPaused = !state.isPaused;
  state.news = "";
  say(state.isPaused ? "Updates are paused." : "Updates are on again.");
  if (!state.isPaused) dispatchEvent(new Event("reload"));
}

// Says what has come since a paused view was loaded. A failure says nothing: the view is paused.
export async function loadNews(view) {
  const mine = loading;
  if (state.phase !== kReady) return;
  const news = await view.countNews(state.route, state.data).catch((error) => {
    if (!(error instanceof Refusal)) throw error;
    return state.news;
  });
  if (mine === loading && state.isPaused) state.news = news;
}

export function forgetData() {
  ++loading;
  state.news = "";
  state.phase = kLoading;
  state.data = {};
  state.typed = {};
  state.selected = {};
  state.error = "";
}

// Routes have the form #/view/part/part?name=value. Parts stay percent-encoded.
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

let isTyping = false;

export function changeQuery(changes) {
  const route = state.route;
  const to = linkTo(route.view, route.path, { ...route.query, ...changes });
  if (isTyping) location.replace(to);
  else location.hash = to;
}

// What `change` does to the query adds nothing to the browser's history: "back" does not lead
// through the letters of a word.
export function whileTyping(change) {
  isTyping = true;
  change();
  isTyping = false;
}
