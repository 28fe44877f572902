// SentencePiece's normalisation of text: characters, and sequences of them, are replaced by a table that every
// SentencePiece file carries. For nmt_nfkc the table is NFKC and a tidying of spaces; taking the file's own, instead of
// String.prototype.normalize, gives the same result in every browser and for every other table too.
//
// The table is a trie over UTF-8 bytes in the form of a double array (the one of the library Darts-clone): a child is
// found at the XOR of its parent's offset and the byte.

/** `(bytes, start) => {length, text}`: how the text that begins there is written; `table` is base64, empty for none. */
export function createNormalizer(table) {
  if (!table) return plain;
  const content = Uint8Array.from(atob(table), (letter) => letter.charCodeAt(0));
  const view = new DataView(content.buffer);
  const trieSize = view.getUint32(0, true);
  const unit = (place) => view.getUint32(4 + 4 * place, true);
  const texts = content.subarray(4 + trieSize); // each ends with a zero

  /** The longest sequence from `start` that the trie has, and where its replacement is. */
  function longest(bytes, start) {
    let found = null;
    let place = offsetOf(unit(0));
    for (let end = start; end < bytes.length; ) {
      place ^= bytes[end];
      const node = unit(place);
      if (labelOf(node) !== bytes[end]) break;
      end += 1;
      place ^= offsetOf(node);
      if (hasLeaf(node)) found = { length: end - start, at: unit(place) & 0x7fffffff };
    }
    return found;
  }

  return (bytes, start) => {
    const found = longest(bytes, start);
    if (!found) return plain(bytes, start);
    return { length: found.length, text: decoded(texts.subarray(found.at, texts.indexOf(0, found.at))) };
  };
}

const hasLeaf = (unit) => ((unit >>> 8) & 1) === 1;
const labelOf = (unit) => (unit & 0x800000ff) >>> 0;
const offsetOf = (unit) => (unit >>> 10) << ((unit & (1 << 9)) >>> 6);

/** One character as it is. */
function plain(bytes, start) {
  let end = start + 1;
  while ((bytes[end] & 0xc0) === 0x80) end += 1;
  return { length: end - start, text: decoded(bytes.subarray(start, end)) };
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const decoded = (bytes) => decoder.decode(bytes);
