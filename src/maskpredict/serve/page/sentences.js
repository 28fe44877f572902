// A translation as sentences, each of which can take another form: another length candidate, or one that a person asked
// for. Plain data and functions; the page draws what they say.

import { textOf } from "./tokens.js";

/**
 * A server's answer as `{between, sentences}`: the text is between[0] + sentence 0 + between[1] + sentence 1 + ...
 * The parts between hold the line breaks, which belong to no sentence.
 */
export function readAnswer(answer) {
  const whole = answer.translatedText;
  const between = [];
  let end = 0;
  for (const { text } of answer.sentences) {
    const start = Math.max(end, whole.indexOf(text, end));
    between.push(whole.slice(end, start));
    end = start + text.length;
  }
  between.push(whole.slice(end));
  return { between, sentences: answer.sentences.map((each) => ({ source: each.source, versions: [version(each)] })) };
}

/**
 * One form of a sentence, from the server's record of it. `choices` are the texts it may have, best first, each with
 * its score and its candidate in the trace (null where there is none); `choice` is the one it has.
 */
export function version({ text, score, passes, lengths = [], alternatives = [], trace = null }) {
  const best = { text, score, candidate: trace?.chosen ?? null };
  const others = trace ? otherCandidates(trace) : alternatives.map((other) => ({ ...other, candidate: null }));
  return { passes, lengths, trace, choices: [best, ...others], choice: best };
}

/** The candidates that were not chosen, best first. Their texts are put together here: a trace has subwords only. */
function otherCandidates({ candidates, chosen }) {
  return candidates
    .map(({ score, passes }, candidate) => ({ text: textOf(passes.at(-1)?.tokens ?? []), score, candidate }))
    .filter(({ candidate }) => candidate !== chosen)
    .sort((one, other) => other.score - one.score);
}

/** The form a sentence has now. */
export function current(sentence) {
  return sentence.versions.at(-1);
}

/** The whole translation as it is now. */
export function wholeText({ between, sentences }) {
  return between.map((part, index) => part + (sentences[index] ? current(sentences[index]).choice.text : "")).join("");
}

/** A length candidate as a choice. */
export function choiceOf(form, candidate) {
  return form.choices.find((choice) => choice.candidate === candidate);
}

/** At most `most` texts that a sentence might have instead, no two the same. */
export function alternativesTo(form, most) {
  const different = new Map();
  for (const choice of form.choices) {
    if (choice.text !== form.choice.text && !different.has(choice.text)) different.set(choice.text, choice);
  }
  return [...different.values()].slice(0, most);
}

/** The passes that led to a form's present choice, or null when they are not known. */
export function passesOf({ trace, choice }) {
  return trace && choice.candidate !== null ? trace.candidates[choice.candidate].passes : null;
}
