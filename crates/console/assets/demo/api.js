// The customer's side of the API: identity, calls, refusals.
import { t } from "../texts.js";

const USER = "holdfast.customer";

/** A refusal of the server. Match on `code`, which is stable. `detail` explains it in the page's language. */
export class Refusal extends Error {
  constructor(status, problem) {
    super([problem.detail, problem.reason].filter(Boolean).join(" "));
    this.status = status;
    this.code = problem.code;
    this.detail = this.message;
    this.problem = problem;
  }
}

/** Whether this server requires a token. Otherwise each window is a new guest. */
export const needsToken = document.querySelector(".demo")?.dataset.signIn === "on";
const TOKEN = "holdfast.token", REFUSED = "holdfast.refused";
let token = needsToken ? sessionStorage.getItem(TOKEN) : null;

let user = needsToken ? claims(token)?.sub ?? null : sessionStorage.getItem(USER);
let making = null;

/** Returns the claims of a token. Only the server verifies them. */
function claims(text) {
  try {
    const { sub, role } = JSON.parse(atob(text.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
    return { sub: /^[!-~]{1,128}$/.test(sub ?? "") ? String(sub) : null, role };
  } catch {
    return null;
  }
}

export const isSignedIn = () => !needsToken || user !== null;

/** Stores a token for this window; returns the reason if it is not a customer's. */
export function signIn(text) {
  const said = claims(text);
  if (!said?.sub) return t.demo_token_wrong;
  if (said.role !== "user") return t.demo_token_not_yours;
  sessionStorage.setItem(TOKEN, text);
  location.reload();
  return null;
}

/** Whether the server refused the token; reset when read. */
export function wasRefused() {
  const was = sessionStorage.getItem(REFUSED) !== null;
  sessionStorage.removeItem(REFUSED);
  return was;
}

/** The user of this window, as text. The shop's account provides it. */
export function customer() {
  if (user) return Promise.resolve(user);
  making ??= send("POST", "/api/users", { name: t.demo_guest }, {})
    .then((account) => {
      user = String(account.id);
      sessionStorage.setItem(USER, user);
      return user;
    })
    .finally(() => { making = null; });
  return making;
}

export function switchCustomer() {
  sessionStorage.clear();
  location.reload();
}

/** Calls the API as this customer. */
export async function call(method, path, body) {
  return send(method, path, body, await who());
}

/** The headers that identify this customer. */
async function who() {
  const mine = await customer();
  return needsToken ? { Authorization: `Bearer ${token}` } : { "X-User-Id": mine };
}

/** Receives the server's events; returns a function that ends this. (An `EventSource` cannot send headers.) */
export function listen(path, heard) {
  const ended = new AbortController();
  async function hear() {
    const { ok, body } = await fetch(path, { headers: await who(), signal: ended.signal });
    const reader = ok && body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; reader;) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (text + value).split("\n\n");
      text = events.pop();
      for (const data of events.map((event) => /^data: ?(.*)$/m.exec(event)?.[1])) if (data) heard(JSON.parse(data));
    }
  }
  // Without events the page polls.
  hear().catch(() => {});
  return () => ended.abort();
}

/** Calls the API without an identity. */
export const ask = (method, path, body) => send(method, path, body, {});

async function send(method, path, body, headers) {
  const request = { method, cache: "no-store", headers: { ...headers, "Accept-Language": document.documentElement.lang } };
  if (body !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  let response, text;
  try {
    response = await fetch(path, request);
    text = await response.text();
  } catch {
    throw new Refusal(0, { code: "OFFLINE", detail: t.demo_offline });
  }
  noteTime(response);
  if (response.status === 401 && needsToken) {
    sessionStorage.removeItem(TOKEN);
    sessionStorage.setItem(REFUSED, "yes");
    location.reload();
  }
  const answer = text ? JSON.parse(text) : null;
  if (!response.ok) throw new Refusal(response.status, answer ?? { code: "UNKNOWN", detail: t.demo_offline });
  // Answers of the shop are wrapped in `data`.
  return path.startsWith("/api/") ? answer?.data : answer;
}

// Countdowns use the server's clock, so that a wrong clock of the browser does not matter.
let clockError = 0;

function noteTime(response) {
  const told = Date.parse(response.headers.get("date"));
  const error = told + 500 - Date.now();
  clockError = Math.abs(error) > 2_000 ? error : 0;
}

export const now = () => Date.now() + clockError;

/** Stores a value of this customer across reloads. */
export function remember(name, value) {
  if (value == null) sessionStorage.removeItem(`holdfast.${name}`);
  else sessionStorage.setItem(`holdfast.${name}`, value);
}

export const remembered = (name) => sessionStorage.getItem(`holdfast.${name}`);

/** Today plus a number of days, in a time zone. */
export function dayFrom(days, timeZone) {
  const parts = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
  const [year, month, day] = parts.format(now()).split("-").map(Number);
  return new Date(Date.UTC(year, month - 1, day + days)).toISOString().slice(0, 10);
}

export function addDays(date, days) {
  const [year, month, day] = date.split("-").map(Number);
  return new Date(Date.UTC(year, month - 1, day + days)).toISOString().slice(0, 10);
}
