// SentencePiece's BPE: text to subword ids and back, as the Python package does it. Knows a vocabulary as
// `maskpredict export browser` writes it, and nothing else.

import { createNormalizer } from "./normalization.js";

const SPACE = "\u2581"; // what stands for a space, also in front of every text
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g; // not text; turned into spaces before and after

/** The tokenizer of a vocabulary. */
export function createTokenizer(vocabulary) {
  const { pieces, scores } = vocabulary;
  const normalized = createNormalizer(vocabulary.normalization);
  const silent = new Set(vocabulary.control);
  const byteOf = new Map(vocabulary.bytes.map((id, byte) => [id, byte]));
  const idOf = new Map(pieces.map((piece, id) => [piece, id]));
  // Subwords that merges may make; the others have ids but do not come from text.
  const reserved = new Set([...vocabulary.control, ...vocabulary.bytes, vocabulary.unknown]);
  const scoreOf = new Map(pieces.map((piece, id) => [piece, scores[id]]).filter((_, id) => !reserved.has(id)));

  /** Ids of a line of text, without an end mark. */
  function encode(text) {
    const ids = [];
    for (const piece of merged([...prepared(text)])) {
      const id = scoreOf.has(piece) ? idOf.get(piece) : vocabulary.unknown;
      if (id !== vocabulary.unknown) ids.push(id);
      else if (byteOf.size > 0) ids.push(...utf8(piece).map((byte) => vocabulary.bytes[byte]));
      else if (ids.at(-1) !== id) ids.push(id); // a run of unknown characters is one unknown subword
    }
    return ids;
  }

  /** The text as merges begin with it: normalised, no white space at the ends, single ones inside. */
  function prepared(text) {
    const bytes = Uint8Array.from(utf8(text.toWellFormed().replace(CONTROL, " ")));
    let result = "";
    for (let start = 0; start < bytes.length; ) {
      const { length, text: replacement } = normalized(bytes, start);
      start += length;
      const wasSpace = result === "" || result.endsWith(" ");
      result += wasSpace ? replacement.replace(/^ +/, "") : replacement;
    }
    result = result.replaceAll(" ", SPACE);
    while (result.endsWith(SPACE)) result = result.slice(0, -1);
    return result === "" ? "" : SPACE + result;
  }

  /** Joins neighbours as long as that makes a subword: the best score first, the leftmost of equals. */
  function merged(symbols) {
    const scoreAt = (place) => scoreOf.get(symbols[place] + symbols[place + 1]) ?? -Infinity;
    const merges = symbols.slice(1).map((_, place) => scoreAt(place));
    for (;;) {
      const best = placeOfHighest(merges);
      if (best < 0) return symbols;
      symbols.splice(best, 2, symbols[best] + symbols[best + 1]);
      merges.splice(best, 1);
      if (best > 0) merges[best - 1] = scoreAt(best - 1);
      if (best < merges.length) merges[best] = scoreAt(best);
    }
  }

  /** The text of ids; special symbols are dropped, unknown subwords become visible. */
  function decode(ids) {
    let text = "";
    let bytes = []; // of characters that have no subword, spelled byte by byte
    for (const id of ids.filter((each) => !silent.has(each))) {
      if (byteOf.has(id)) {
        bytes.push(byteOf.get(id));
        continue;
      }
      text += characters(bytes);
      bytes = [];
      if (id === vocabulary.unknown) text += vocabulary.unknown_surface;
      else text += (text === "" ? withoutSpace(pieces[id]) : pieces[id]).replaceAll(SPACE, " ");
    }
    return (text + characters(bytes)).replace(CONTROL, " ");
  }

  return {
    size: pieces.length,
    encode,
    decode,
    /** The subword behind each id. */
    pieces: (ids) => ids.map((id) => pieces[id]),
    /** The id of each subword; that of the unknown one for what is no subword. */
    ids: (given) => given.map((piece) => idOf.get(piece) ?? vocabulary.unknown),
  };
}

/** Where the highest number is, the first of equals; -1 when none is finite. */
function placeOfHighest(numbers) {
  let best = -1;
  for (let place = 0; place < numbers.length; place += 1) {
    if (numbers[place] > (best < 0 ? -Infinity : numbers[best])) best = place;
  }
  return best;
}

const utf8 = (text) => [...new TextEncoder().encode(text)];
const withoutSpace = (piece) => (piece.startsWith(SPACE) ? piece.slice(SPACE.length) : piece);

/** The characters that bytes spell; a byte that is part of none becomes U+FFFD. */
function characters(bytes) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (let start = 0; start < bytes.length; ) {
    const [character, length] = firstCharacter(decoder, bytes.slice(start, start + 4)) ?? ["\ufffd", 1];
    text += character;
    start += length;
  }
  return text;
}

function firstCharacter(decoder, bytes) {
  for (let length = 1; length <= bytes.length; length += 1) {
    try {
      return [decoder.decode(Uint8Array.from(bytes.slice(0, length))), length];
    } catch {
      // Too few bytes yet, or none of UTF-8.
    }
  }
  return null;
}
