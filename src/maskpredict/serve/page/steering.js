// What a person may impose on a sentence, as plain data: positions that are pinned, positions that are masked again.
//
// Pins come first: with one, everything that is not pinned is predicted anew. Without pins, only what is masked is.

import { isEnd } from "./tokens.js";

/** Nothing imposed. */
export const FREE = Object.freeze({ pins: new Set(), masks: new Set() });

/** True when nothing is imposed. */
export function isFree(marks) {
  return marks.pins.size === 0 && marks.masks.size === 0;
}

/** The marks with the positions `start` to `end` pinned, masked, or (null) neither. */
export function marked(marks, { start, end }, kind) {
  const pins = new Set(marks.pins);
  const masks = new Set(marks.masks);
  for (let place = start; place < end; place += 1) {
    pins.delete(place);
    masks.delete(place);
    if (kind === "pin") pins.add(place);
    if (kind === "mask") masks.add(place);
  }
  return { pins, masks };
}

/** What stands at a position: "pin", "mask" or null. */
export function markAt(marks, place) {
  if (marks.pins.has(place)) return "pin";
  return marks.masks.has(place) ? "mask" : null;
}

/** For each position, whether it will be predicted anew. The last one must become, or stay, the end mark. */
export function predictedAnew(tokens, marks) {
  return tokens.map((token, place) => {
    if (place === tokens.length - 1) return !isEnd(token);
    return marks.pins.size > 0 ? !marks.pins.has(place) : marks.masks.has(place);
  });
}

/** The target with null where the model shall choose. */
export function template(tokens, marks) {
  const anew = predictedAnew(tokens, marks);
  return tokens.map((token, place) => (anew[place] ? null : token));
}

/** The pins after the word in a range was replaced and has become longer by so many tokens; it is pinned, too. */
export function pinsAfterReplacing({ pins }, { start, end }, longer) {
  const moved = [...pins].filter((place) => place < start || place >= end);
  const others = moved.map((place) => (place < start ? place : place + longer));
  const replaced = Array.from({ length: end - start + longer }, (_, index) => start + index);
  return { pins: new Set([...others, ...replaced]), masks: new Set() };
}

/** The pins of a target that was formed around given positions: those its first pass did not mask. */
export function pinsOf(passes) {
  const pins = new Set();
  passes[0].masked.forEach((masked, place) => {
    if (!masked && !isEnd(passes[0].tokens[place])) pins.add(place);
  });
  return { pins, masks: new Set() };
}
