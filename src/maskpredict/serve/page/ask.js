// One question at a time: a new one replaces the one before, wherever that is; what failed for a passing reason is
// asked again by itself.

import { post, ServerError } from "./api.js";

const FIRST_WAIT = 2; // seconds until the first repetition, then twice as long each time
const LONGEST_WAIT = 20;

/**
 * `onBusy(true or false)` says whether a request is under way, `onTrouble(error, seconds)` what went wrong and when it
 * is tried again (null: not by itself), `onTrouble(null)` that all is well.
 */
export function createAsker({ onBusy, onTrouble }) {
  let job = null;
  let timer = null;
  let controller = new AbortController();
  let wait = FIRST_WAIT;

  /** Asks after `delay` milliseconds; `answered` gets the answer, unless another question has come in between. */
  function ask(path, body, answered, delay = 0) {
    forget();
    job = { path, body, answered };
    timer = setTimeout(run, delay);
  }

  /** Asks again now, if there is something to ask. */
  function again() {
    if (!job) return;
    clearTimeout(timer);
    run();
  }

  /** Drops the question, if there is one. */
  function forget() {
    clearTimeout(timer);
    controller.abort();
    job = null;
    wait = FIRST_WAIT;
    onBusy(false);
  }

  async function run() {
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    const asked = job;
    onBusy(true);
    try {
      const answer = await post(asked.path, asked.body, signal);
      if (signal.aborted) return;
      job = null;
      wait = FIRST_WAIT;
      onBusy(false);
      onTrouble(null);
      asked.answered(answer);
    } catch (error) {
      if (signal.aborted) return;
      onBusy(false);
      if (!(error instanceof ServerError)) throw error;
      fail(error);
    }
  }

  function fail(error) {
    if (!error.passes) {
      job = null;
      onTrouble(error, null);
      return;
    }
    const seconds = error.retryAfter ?? wait;
    wait = Math.min(2 * wait, LONGEST_WAIT);
    timer = setTimeout(run, seconds * 1000);
    onTrouble(error, seconds);
  }

  window.addEventListener("online", again);
  return { ask, again, forget };
}
