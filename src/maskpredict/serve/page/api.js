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

/** POST of a form with a file, answered with server-sent events `{name, data}`; a document takes longer than a text. */
export async function* stream(path, form, signal) {
  if (key) form.append("api_key", key);
  const patience = AbortSignal.any([signal, AbortSignal.timeout(10 * PATIENCE)]);
  const response = await request(path, { method: "POST", body: form }, patience);
  if (!response.ok) throw refusal(response, await json(response));
  for await (const event of eventsOf(response.body)) {
    if (event.name === "error") throw new ServerError(event.data.error, 400);
    yield event;
    if (event.name === "done") return;
  }
  throw new ServerError("The connection was lost.", 0);
}

/** The events of a stream, each `event: name` and `data: json` on lines of their own, with an empty line behind. */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let received = "";
  for (;;) {
    const { done, value } = await read(reader);
    if (done) return;
    const events = (received + value).split("\n\n");
    received = events.pop();
    for (const event of events) {
      const [name, data] = event.split("\n").map((line) => line.slice(line.indexOf(":") + 2));
      yield { name, data: JSON.parse(data) };
    }
  }
}

const read = (reader) => unlessAborted(reader.read());

async function send(path, options, signal) {
  const response = await request(path, options, signal);
  const answer = await json(response);
  if (response.ok && answer !== null) return answer;
  throw refusal(response, answer);
}

const request = (path, options, signal) => unlessAborted(fetch(addressOf(path), { ...options, signal }));

/** What a promise of the network brings; its failures as a ServerError, unless somebody wanted it to end. */
async function unlessAborted(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server does not answer.", 0);
  }
}

/** The answer, or null: a proxy in between may answer with something else than JSON. */
const json = (response) => response.json().catch(() => null);

function refusal(response, answer) {
  const seconds = Number.parseInt(response.headers.get("Retry-After"), 10);
  const said = typeof answer?.error === "string" ? answer.error : `The server answered with status ${response.status}.`;
  return new ServerError(said, response.status, Number.isNaN(seconds) ? null : seconds);
}
