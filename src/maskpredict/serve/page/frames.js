// A pass is shown in two frames: first the target with what is masked, then with what was predicted in its place.

/** How many frames there are. */
export function frameCount(passes) {
  return 2 * passes.length;
}

/** Which pass a frame shows, counted from 0, and whether its words are still masked. */
export function frameAt(number) {
  return { pass: Math.floor(number / 2), masked: number % 2 === 0 };
}

/** A frame in words, for people who do not see it and beside the slider. */
export function describeFrame(passes, number) {
  const { pass, masked } = frameAt(number);
  const count = passes[pass].masked.filter(Boolean).length;
  const place = `Pass ${pass + 1} of ${passes.length}`;
  return masked ? `${place}: ${count} masked` : `${place}: ${count} predicted`;
}

/** Milliseconds a frame stays when played: unhurried for few passes, never over some ten seconds for many. */
export function frameTime(passes) {
  return Math.max(160, Math.min(700, 10_000 / frameCount(passes)));
}

/** The last pass up to `row` that predicted a position; -1 when it was given. */
export function predictedIn(passes, row, place) {
  let since = row;
  while (since >= 0 && !passes[since].masked[place]) since -= 1;
  return since;
}
