// The page's state in its own address, behind the #: a link reopens the same translation, and since browsers do not
// send that part to servers, the text stays out of their logs.

import { thisTab } from "./storage.js";
import { parseTerms, writtenTerms } from "./terms.js";

const LONGEST_TEXT = 1_500; // characters; longer addresses get cut by mail programs and chats
const LONG_TEXT = "long-text";

export const SPEEDS = ["fast", "balanced", "best", "own"];
export const LIMITS = { iterations: [1, 32], lengths: [1, 16] };

/** What the page starts with. */
export const DEFAULTS = {
  source: "auto", target: "", text: "", speed: "balanced", iterations: 10, lengths: 5,
  terms: null, // those of a link that was opened; null for the ones that this browser keeps
};

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
    terms: given.has("terms") ? parseTerms(given.get("terms")) : DEFAULTS.terms,
  };
}

function within(text, [least, most], otherwise) {
  const number = Number(text);
  return text && Number.isInteger(number) && number >= least && number <= most ? number : otherwise;
}

/** Puts the state into the address bar; a text too long for it is kept by the tab, so that reloading loses nothing. */
export function writeAddress(state) {
  if (!state.text && !location.hash) return; // a first visit keeps its plain address
  const short = state.text.length <= LONGEST_TEXT;
  thisTab.write(LONG_TEXT, short ? null : state.text);
  history.replaceState(null, "", fragmentOf(short ? state : { ...state, text: "" }));
}

/** The whole address of a state, to be sent to somebody, with the terms that it is translated with. */
export function linkTo(state, terms) {
  return new URL(fragmentOf({ ...state, terms: terms.length > 0 ? terms : null }), location.href).href;
}

function fragmentOf({ source, target, text, speed, iterations, lengths, terms }) {
  const parts = new URLSearchParams({ from: source, to: target, speed });
  if (speed === "own") {
    parts.set("T", iterations);
    parts.set("l", lengths);
  }
  if (terms) parts.set("terms", writtenTerms(terms));
  if (text) parts.set("q", text);
  return `#${parts}`;
}
