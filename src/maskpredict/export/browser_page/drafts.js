// Targets to start from: masks, and around them what a person imposes. The same as decoding/drafts.py; what cannot be
// is refused there and here with a sentence.

/** Masks, with the pins that name a place written in. A pin is `{ids, place}`; its place may be null. */
export function pinnedDraft(length, pins, mask) {
  const draft = new Array(length).fill(mask);
  for (const { ids, place } of pins.filter((pin) => pin.place !== null)) {
    if (place + ids.length > length - 1) throw new Error("That word does not fit at that place.");
    if (draft.slice(place, place + ids.length).some((token) => token !== mask)) throw new Error("Two pins overlap.");
    draft.splice(place, ids.length, ...ids);
  }
  return draft;
}

/** The fewest positions that a target with these pins can have, its end mark included. */
export function shortestWith(pins, mask) {
  const placed = pins.map(({ ids, place }) => (place === null ? 0 : place + ids.length));
  const total = pins.reduce((sum, { ids }) => sum + ids.length, 0);
  const floating = pins.filter(({ place }) => place === null).map(({ ids }) => ids.length);
  let length = Math.max(total, ...placed) + 1;
  while (!hasRoom(pinnedDraft(length, pins, mask), floating, mask)) length += 1;
  return length;
}

/** True when phrases of these widths fit side by side into a draft's masks, its last position left alone. */
function hasRoom(draft, widths, mask) {
  const runs = maskedRuns(draft.slice(0, -1), mask);
  return [...widths]
    .sort((one, other) => other - one)
    .every((width) => {
      const tightest = Math.min(...runs.filter((run) => run >= width));
      if (tightest === Infinity) return false;
      runs[runs.indexOf(tightest)] -= width;
      return true;
    });
}

function maskedRuns(tokens, mask) {
  const runs = [0];
  for (const token of tokens) {
    if (token === mask) runs[runs.length - 1] += 1;
    else runs.push(0);
  }
  return runs;
}

/** Writes each phrase where it fits best, the longest first; `fit(place, id)` is how likely it is, against the best. */
export function placePhrases(draft, phrases, fit, mask) {
  const ordered = [...phrases].sort((one, other) => other.length - one.length);
  return ordered.reduce((placed, phrase, number) => {
    const later = ordered.slice(number + 1).map((other) => other.length);
    let best = null;
    for (let start = 0; start < placed.length - phrase.length; start += 1) {
      if (placed.slice(start, start + phrase.length).some((token) => token !== mask)) continue;
      const filled = placed.toSpliced(start, phrase.length, ...phrase);
      if (!hasRoom(filled, later, mask)) continue;
      const worth = phrase.reduce((sum, id, offset) => sum + fit(start + offset, id), 0);
      if (!best || worth > best.worth) best = { worth, filled };
    }
    if (!best) throw new Error("The pinned words leave no room for each other.");
    return best.filled;
  }, draft);
}
