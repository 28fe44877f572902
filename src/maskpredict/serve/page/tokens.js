// Subwords as a person reads them. Pure functions over lists of tokens: no document, no server.
//
// SentencePiece marks the beginning of a word with U+2581; the BPE of imported models marks with @@ that it goes on. In
// an alignment, equal neighbours are one word, and blanks are none.

const WORD_START = "\u2581";
const CONTINUES = "@@";
const END = "</s>";
const BLANK = "<s>";
const UNKNOWN = "<unk>";

/** True for the end mark. */
export function isEnd(token) {
  return token === END;
}

/** True for a blank, which only alignments have. */
export function isBlank(token) {
  return token === BLANK;
}

/** True for the positions of an alignment. */
export function isAlignment(tokens) {
  return tokens.some(isBlank);
}

/** True for a position of an alignment that says what its left neighbour says. */
export function continues(tokens, place) {
  return place > 0 && tokens[place] === tokens[place - 1] && isAlignment(tokens);
}

/** How many tokens belong to the text: those before the first end mark. */
export function textLength(tokens) {
  const end = tokens.indexOf(END);
  return end < 0 ? tokens.length : end;
}

/** The tokens of the text, with an end mark behind. */
export function ended(tokens) {
  return [...tokens.slice(0, textLength(tokens)), END];
}

/** A token without its marks. */
function bare(token) {
  if (token === UNKNOWN) return "\u2047";
  const text = token.startsWith(WORD_START) ? token.slice(1) : token;
  return text.endsWith(CONTINUES) ? text.slice(0, -CONTINUES.length) : text;
}

/** A token as it is shown. A word start without letters is the space itself, which still has some width. */
export function spelled(token) {
  if (isBlank(token)) return "\u00b7";
  return isEnd(token) ? "\u25a0" : bare(token) || "\u2005";
}

/** A token as one speaks of it. */
export function named(token) {
  if (isBlank(token)) return "blank";
  return isEnd(token) ? "end of the sentence" : bare(token) || "space";
}

function startsWord(tokens, place, sentencePiece) {
  if (place === 0 || isEnd(tokens[place]) || isEnd(tokens[place - 1])) return true;
  if (isBlank(tokens[place])) return false;
  if (sentencePiece) return tokens[place].startsWith(WORD_START) || tokens[place] === UNKNOWN;
  return !tokens[place - 1].endsWith(CONTINUES);
}

/** The words as `{start, end}` ranges of positions, in order; every position is in exactly one. */
export function wordsOf(tokens) {
  const sentencePiece = tokens.some((token) => token.startsWith(WORD_START));
  const words = [];
  tokens.forEach((_, place) => {
    if (startsWord(tokens, place, sentencePiece)) words.push({ start: place, end: place + 1 });
    else words.at(-1).end = place + 1;
  });
  return words;
}

/** The running text of the tokens before the end mark. */
export function textOf(tokens) {
  const own = tokens.slice(0, textLength(tokens)).filter((token, place) => !isBlank(token) && !continues(tokens, place));
  const words = wordsOf(own).map(({ start, end }) => own.slice(start, end).map(bare).join(""));
  return words.filter((word) => word !== "").join(" ");
}

/** Where the words of a text begin among its tokens, or null where the text is not simply what the tokens say. */
export function placesOfWords(tokens, text) {
  if (isAlignment(tokens)) return null;
  const own = tokens.slice(0, textLength(tokens));
  const words = wordsOf(own).filter(({ start, end }) => own.slice(start, end).some(bare));
  return words.length === text.split(" ").length ? words.map(({ start }) => start) : null;
}

/** The part of a word's range that is no punctuation, or null if there is none in the text. */
export function lettersOf(tokens, { start, end }) {
  if (end > textLength(tokens)) return null;
  const silent = (place) => !/[\p{L}\p{N}]/u.test(bare(tokens[place]));
  while (start < end && silent(end - 1)) end -= 1;
  while (start < end && silent(start)) start += 1;
  return start < end ? { start, end } : null;
}

/**
 * The phrases that a target must contain so that `text` stands in the place of the word in the range, between the same
 * neighbours: `{phrase, position}`. What comes after the word may move. Punctuation around the word stays.
 */
export function replacing(tokens, { start, end }, text) {
  const old = textOf(tokens.slice(start, end));
  const before = /^\p{P}/u.test(text) ? "" : (/^\p{P}*/u.exec(old)[0] ?? "");
  const after = /\p{P}$/u.test(text) ? "" : (/\p{P}*$/u.exec(old)[0] ?? "");
  const left = textOf(tokens.slice(0, start));
  const right = textOf(tokens.slice(end));
  const phrases = [{ phrase: [left, before + text + after].filter(Boolean).join(" "), position: 0 }];
  return right ? [...phrases, { phrase: right, position: null }] : phrases;
}

/** Where a probability stands on the scale of five colours, 0 (unsure) to 4 (sure). */
export function sureness(probability) {
  return Math.max(0, Math.min(4, Math.floor(probability * 5)));
}

/** A probability in words. */
export function percent(probability) {
  return `${Math.round(probability * 100)}\u00a0%`;
}
