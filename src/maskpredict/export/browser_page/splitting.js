// Running text in sentences, and everything between them kept as it was. Where sentences end is the browser's own
// knowledge (Intl.Segmenter); it cuts behind abbreviations, so what was cut there is joined again.

const LONGEST = 600; // characters beyond which a sentence is cut: a model was trained on sentences
const LETTER = /\p{L}/u;
const NO_END = new Set(
  ("bes bspw bzgl bzw ca dipl dr evtl fr frl ggf hr inkl max min nr prof sog st vgl zzgl " +
    "approx capt col dept fig gen gov lt mr mrs ms mt no rev sen sgt vs vol").split(" "),
);

/** The text as `{text, isSentence}` parts which, put together again, are the text. */
export function segments(text, language, fits = () => true) {
  return text
    .split(/(\r\n|[\n\r\u2028\u2029])/)
    .flatMap((line) => sentencesOf(line, language))
    .flatMap((sentence) => cut(sentence, fits))
    .flatMap(trimmed)
    .filter((part) => part.text !== "");
}

function sentencesOf(line, language) {
  const sentences = [];
  let open = false;
  for (const { segment } of segmenterFor(language).segment(line)) {
    if (open) sentences[sentences.length - 1] += segment;
    else sentences.push(segment);
    open = goesOn(sentences.at(-1), language);
  }
  return sentences;
}

function segmenterFor(language) {
  const kind = { granularity: "sentence" };
  try {
    return new Intl.Segmenter(language, kind);
  } catch {
    return new Intl.Segmenter(undefined, kind); // people may call the sides of a corpus as they like
  }
}

/** True behind an abbreviation, an initial, and (outside English) a small number: "am 3. Mai". */
function goesOn(sentence, language) {
  const word = /(?:^|[\s("'“„«/-])([^\s("'“„«/-]+)\.\s+$/u.exec(sentence)?.[1];
  if (word === undefined) return false;
  if (/^\d{1,2}$/.test(word)) return language !== "en";
  return (/^(\p{L}\.)*\p{L}$/u.test(word) && word !== "I") || NO_END.has(word.toLowerCase());
}

/** Cuts in two, at a comma or a space near the middle, until every part fits. */
function cut(sentence, fits) {
  if (sentence.length < 2 || (sentence.length <= LONGEST && fits(sentence))) return [sentence];
  const middle = sentence.length / 2;
  const nearest = (boundary) =>
    [...sentence.matchAll(boundary)]
      .map((match) => match.index + match[0].length)
      .filter((place) => Math.abs(place - middle) <= middle / 2)
      .sort((one, other) => Math.abs(one - middle) - Math.abs(other - middle))[0];
  const place = nearest(/[,;:，、；：]\s*/gu) ?? nearest(/\s+/gu) ?? Math.floor(middle);
  return [...cut(sentence.slice(0, place), fits), ...cut(sentence.slice(place), fits)];
}

/** White space around a sentence is no part of it; what has no letters is no sentence. */
function trimmed(text) {
  if (!LETTER.test(text)) return [{ text, isSentence: false }];
  const core = text.trim();
  const start = text.indexOf(core);
  return [
    { text: text.slice(0, start), isSentence: false },
    { text: core, isSentence: true },
    { text: text.slice(start + core.length), isSentence: false },
  ];
}
