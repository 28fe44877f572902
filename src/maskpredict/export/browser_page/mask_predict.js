// Mask-predict: start from masks, predict them all at once, mask again what the model was least sure of, and so on for T
// passes. The same algorithm as decoding/mask_predict.py; there the rows of a batch, here one draft after another.

/**
 * Completes drafts, which are lists of ids with `mask` where the model may choose, and returns them in their order as
 * `{tokens, logProbs, score, passes, pruned, history}`.
 *
 * `predict(tokens, masked, before)` gives `{tokens, logProbs}` at the masked positions of a draft with masks in place;
 * where `before` is true, a given word is still to come. `settings` have the names they have in Python. `blank` is the id
 * of the blank, if the drafts are alignments.
 */
export async function maskPredict(predict, drafts, mask, settings, blank = null) {
  const rows = drafts.map((draft) => begin(draft, mask, settings.iterations));
  for (let t = 0; rows.some(({ finished, total }) => !finished && t < total); t += 1) {
    for (const row of rows.filter(({ finished, total }) => !finished && t < total)) {
      await pass(row, t, predict, mask, settings, blank);
    }
    if (t === 0 && settings.prune_candidates) leaveBehind(rows, settings.prune_candidates);
  }
  return rows.map((row) => ({ ...row, score: score(row), passes: row.history.length }));
}

/** A draft before its first pass; `iterations` is a number, or "N" for as many passes as there are masks. */
function begin(draft, mask, iterations) {
  const free = draft.map((token) => token === mask);
  const lastGiven = free.lastIndexOf(false);
  return {
    tokens: [...draft],
    logProbs: draft.map(() => 0),
    free,
    total: iterations === "N" ? free.filter(Boolean).length : iterations,
    before: draft.map((_, place) => place < lastGiven),
    finished: !free.includes(true),
    pruned: false,
    history: [],
  };
}

/** One pass over a row: mask, predict, remember. */
async function pass(row, t, predict, mask, { threshold, stop_when_stable: stopWhenStable }, blank) {
  let masked = t === 0 ? row.free : chosen(row, t, blank);
  if (t > 0 && threshold) masked = masked.map((is, place) => is && row.logProbs[place] < Math.log(threshold));
  if (!masked.includes(true)) {
    row.finished = true;
    return;
  }
  const inputs = row.tokens.map((token, place) => (masked[place] ? mask : token));
  const predicted = await predict(inputs, masked, row.before);
  const tokens = row.tokens.map((token, place) => (masked[place] ? predicted.tokens[place] : token));
  row.finished = Boolean(stopWhenStable) && tokens.every((token, place) => token === row.tokens[place]);
  row.tokens = tokens;
  row.logProbs = row.logProbs.map((before, place) => (masked[place] ? predicted.logProbs[place] : before));
  row.history.push({ masked, tokens: row.tokens, logProbs: row.logProbs });
}

/** The positions to mask before pass `t`; of an alignment, the same share of its words as of its blanks. */
function chosen(row, t, blank) {
  if (blank === null) return leastConfident(row, t);
  const of = (blanks) => row.free.map((is, place) => is && (row.tokens[place] === blank) === blanks);
  const [words, blanks] = [false, true].map((kind) => leastConfident({ ...row, free: of(kind) }, t));
  return words.map((is, place) => is || blanks[place]);
}

/** The n = max(1, floor(N (T - t) / T)) free positions with the lowest probability; the leftmost of equals. */
function leastConfident({ free, logProbs, total }, t) {
  const places = free.flatMap((is, place) => (is ? [place] : []));
  const count = Math.max(1, Math.floor((places.length * (total - t)) / total));
  places.sort((one, other) => logProbs[one] - logProbs[other]); // stable, so equals stay in order
  const least = new Set(places.slice(0, count));
  return free.map((_, place) => least.has(place));
}

/** Makes no further pass over all but the `kept` best rows, the earlier one being better on a tie. */
function leaveBehind(rows, kept) {
  const order = [...rows].sort((one, other) => score(other) - score(one));
  for (const row of order.slice(kept)) {
    row.pruned = true;
    row.finished = true;
  }
}

/** Mean log-probability of the positions that were not given. */
function score({ free, logProbs }) {
  const own = logProbs.filter((_, place) => free[place]);
  return own.reduce((sum, value) => sum + value, 0) / Math.max(1, own.length);
}

/**
 * Which row became the translation: the best score and predicted length, the latter by its weight; the earlier one on a
 * tie.
 */
export function winner(rows, weight = 0, lengthLogProbs = [], lengths = []) {
  const last = lengthLogProbs.length - 1;
  const ofLength = (place) => (weight ? weight * lengthLogProbs[Math.min(lengths[place], last)] : 0);
  const worth = (place) => (rows[place].pruned ? -Infinity : rows[place].score + ofLength(place));
  return rows.reduce((best, _, place) => (worth(place) > worth(best) ? place : best), 0);
}

/**
 * The `count` likeliest lengths, likeliest first; those outside [2, longest] are moved to its ends. With a `threshold`,
 * only those that are at least that many times as likely as the first.
 */
export function candidateLengths(logProbs, count, longest, threshold) {
  const order = [...logProbs.keys()].sort((one, other) => logProbs[other] - logProbs[one]).slice(0, count);
  const lengths = [...new Set(order.map((length) => Math.min(longest, Math.max(2, length))))];
  if (!threshold) return lengths;
  return lengths.filter((length) => logProbs[length] >= logProbs[lengths[0]] + Math.log(threshold));
}
