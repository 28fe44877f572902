// The page's state in its own address, behind the #: a link reopens the same translation, and since browsers do not
// send that part to servers, the text stays out of their logs.

import { thisTab } from "./storage.js";

const LONGEST_TEXT = 1_500; // characters; longer addresses get cut by mail programs and chats
const LONG_TEXT = "long-text";

export const SPEEDS = ["fast", "balanced", "best", "own"];
export const LIMITS = { iterations: [1, 32], lengths: [1, 16] };

/** What the page starts with. */
export const DEFAULTS = { source: "auto", target: "", text: "", speed: "balanced", iterations: 10, lengths: 5 };

/** The state that an address's fragment describes; what it leaves out, or gets wrong, is as by default. */
export function readAddress(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const speed = given.get("speed");
  return {
    source: given.get("from") || DEFAULTS.source,
    target: given.get("to") || DEFAULTS.target,
    text: given.get("q") ?? thisTab.read(LONG_TEXT) ?? "",
    speed: SPEEDS.includes(speed) ? speed : DEFAULTS.speed,
    iterations: within(given.get("T"), LIMITS.iterations, DEFAULTS.iterations),
    lengths: within(given.get("l"), LIMITS.lengths, DEFAULTS.lengths),
  };
}

function within(text, [least, most], otherwise) {
  const number = Number(text);
  return text && Number.isInteger(number) && number >= least && number <= most ? number : otherwise;
}

/** Puts the state into the address bar; a text too long for it is kept by the tab, so that reloading loses nothing. */
export function writeAddress(state) {
  if (!state.text && !location.hash) return; // a first visit keeps its plain address
  const parts = new URLSearchParams({ from: state.source, to: state.target, speed: state.speed });
  if (state.speed === "own") {
    parts.set("T", state.iterations);
    parts.set("l", state.lengths);
  }
  const short = state.text.length <= LONGEST_TEXT;
  if (short && state.text) parts.set("q", state.text);
  thisTab.write(LONG_TEXT, short ? null : state.text);
  history.replaceState(null, "", `#${parts}`);
}
