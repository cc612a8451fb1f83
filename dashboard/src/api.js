// Sends requests to the server that served the page, and to no other.

const kAccessName = "fairlock-access";
const kTimeoutMs = 10000;

// The token in the URL fragment, which browsers never send; empty: there is none.
export function tokenInAddress() {
  const [, token = ""] = /^#token=([^&]+)/.exec(location.hash) || [];
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}

// Sets the Authorization header; an empty value removes it.
function setAccess(authorization) {
  if (authorization) sessionStorage.setItem(kAccessName, authorization);
  else sessionStorage.removeItem(kAccessName);
}

const accessOf = (token) => token && `Bearer ${token}`;

export function setToken(token) { setAccess(accessOf(token)); }

export function setUser(user, password) {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  setAccess(`Basic ${btoa(String.fromCharCode(...bytes))}`);
}

// Returns the current credentials, to restore them if an attempt to log in with others fails.
export function currentAccess() { return sessionStorage.getItem(kAccessName) || ""; }
export function restoreAccess(access) { setAccess(access); }

export function hasAccess() { return Boolean(sessionStorage.getItem(kAccessName)); }

// The error code which means that the server refused the credentials.
export const kWrongAccess = "WRONG";

// An error response, or no response at all (status 0).
export class Refusal extends Error {
  constructor(status, code, message, isOfToken = false) {
    super(message);
    this.status = status;
    this.code = code;
    // Whether the credentials that were sent were a token.
    this.isOfToken = isOfToken;
  }
}

async function ask(method, path, body, access = sessionStorage.getItem(kAccessName)) {
  const headers = {};
  if (access) headers.Authorization = access;
  if (body) headers["Content-Type"] = "application/json";
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), kTimeoutMs);
  let answer = null;
  try {
    answer = await fetch(path, {
      method, headers, body: body && JSON.stringify(body), signal: stop.signal,
      credentials: "omit", cache: "no-store", redirect: "error",
    });
    const json = await answer.json();
    if (answer.ok) return json;
    // Wrong credentials are not sent again, because the server counts failures.
    if (answer.status === 401 && access === sessionStorage.getItem(kAccessName)) setAccess("");
    const isWrong = answer.status === 401 && access;
    throw new Refusal(answer.status, isWrong ? kWrongAccess : json.error.code, json.error.message,
      Boolean(access && access.startsWith("Bearer ")));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(0, "", "The server does not respond.");
  } finally {
    clearTimeout(timer);
  }
}

// With a partition, the server passes the request on to the leader of that partition.
const pathIn = (partition, path) =>
  (partition === undefined ? path : `partitions/${partition}/${path}`);

// Sends a GET request, without the parameters that are empty.
export function get(path, parameters = {}, partition = undefined) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== "" && value !== null && value !== undefined && value !== false) {
      query.set(name, value);
    }
  }
  const text = query.toString();
  return ask("GET", `/api/v1/${pathIn(partition, path)}${text ? `?${text}` : ""}`);
}

// Asks the server what this token permits; the tab's own credentials stay as they are.
export const judgeToken = (token) => ask("GET", "/api/v1/access", undefined, accessOf(token));

export function post(path, body, partition = undefined) {
  return ask("POST", `/api/v1/${pathIn(partition, path)}`, body);
}

// Encodes the bytes of a field for a path; its text has U+FFFD for bytes that are not UTF-8.
export function pathOf(row, name) {
  const exact = row[`${name}_base64`];
  if (exact === undefined) return encodeURIComponent(row[name]);
  return [...atob(exact)].map((byte) =>
    `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`).join("");
}

// Does the same for the body of a POST.
export function fieldOf(row, name, as = name) {
  const exact = row[`${name}_base64`];
  return exact === undefined ? { [as]: row[name] } : { [`${as}_base64`]: exact };
}
