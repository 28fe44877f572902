// Requests to the server this page came from, and what their failures mean.

const PATIENCE = 60_000; // milliseconds; the server gives up earlier, so this is for connections that hang

let key = null;

/** Sends this API key with every request from now on. */
export function useKey(newKey) {
  key = newKey || null;
}

/** Why there is no answer: `status` is HTTP's, or 0 when nothing answered; `retryAfter` is in seconds, or null. */
export class ServerError extends Error {
  constructor(message, status, retryAfter = null) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }

  /** True when the same request may well succeed later. */
  get passes() {
    return [0, 429, 502, 503, 504].includes(this.status);
  }
}

/** The address of a path, relative to the page so that a server below a prefix works too. */
export function addressOf(path) {
  return new URL(path, document.baseURI);
}

/** GET, answered with JSON. */
export function get(path) {
  return send(path, {}, AbortSignal.timeout(PATIENCE));
}

/** POST of JSON, answered with JSON; ends with the signal's AbortError when it is aborted. */
export function post(path, body, signal) {
  const request = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(key ? { ...body, api_key: key } : body),
  };
  return send(path, request, AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]));
}

/** POST of a form with a file, answered with JSON; a document takes longer than a text. */
export function upload(path, form, signal) {
  if (key) form.append("api_key", key);
  const patience = AbortSignal.timeout(10 * PATIENCE);
  return send(path, { method: "POST", body: form }, AbortSignal.any([signal, patience]));
}

async function send(path, request, signal) {
  let response;
  try {
    response = await fetch(addressOf(path), { ...request, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server does not answer.", 0);
  }
  // A proxy in between may answer with something else than JSON.
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  const seconds = Number.parseInt(response.headers.get("Retry-After"), 10);
  const said = typeof answer?.error === "string" ? answer.error : `The server answered with status ${response.status}.`;
  throw new ServerError(said, response.status, Number.isNaN(seconds) ? null : seconds);
}
