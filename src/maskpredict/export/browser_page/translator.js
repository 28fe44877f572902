// A model that translates: two ONNX graphs, two tokenizers, and mask-predict around them. Its answers are those of the
// service, so that one page can show either.

import { pinnedDraft, placePhrases, shortestWith } from "./drafts.js";
import { candidateLengths, maskPredict, winner } from "./mask_predict.js";

const CHOOSES_PLACES = "This model chooses the places of its words itself.";

/**
 * `graphs` are onnxruntime's sessions `{encoder, decoder}`, `Tensor` its class; `description` is onnx.json.
 * `breathe()` is awaited before each pass: it may let others have their turn, or throw.
 */
export function createTranslator({ graphs, Tensor, source, target, description, breathe = async () => {} }) {
  const { bos, eos, mask } = description.special;
  const perSubword = description.positions ?? 0; // positions for each source subword, of an alignment model
  const blank = perSubword ? bos : null; // in a draft; the model predicts it as `mask`
  const longest = description.max_positions - 1;
  const longestSource = Math.floor(description.max_positions / 8) * 8 - 2; // as in Python: room for LENGTH and the end

  /** The sentence's translation; `pins` are `{phrase, position}` that it must contain. */
  async function translate(sentence, settings, pins = []) {
    const encoded = await encode(sentence);
    if (perSubword) return align(sentence, encoded, settings, pins);
    const wanted = pins.map(({ phrase, position }) => ({ ids: target.encode(phrase), place: position }));
    const least = wanted.length > 0 ? shortestWith(wanted, mask) : 0;
    if (least > longest) throw new Error("That is too long for the model.");
    const likely = candidateLengths(
      encoded.lengthLogProbs, settings.length_candidates, longest, settings.length_threshold,
    );
    const extra = await unforeseen(wanted, likely[0], encoded);
    const predicted = new Map(); // the length of each draft's target as the model predicted it
    for (const length of likely) {
      const size = Math.max(length + extra, least);
      if (size <= longest && !predicted.has(size)) predicted.set(size, length);
    }
    if (predicted.size === 0) throw new Error("That is too long for the model.");
    const drafts = [];
    for (const size of predicted.keys()) drafts.push(await draftWith(wanted, size, encoded));
    const rows = await finish(drafts, encoded, settings);
    const chosen = winner(rows, settings.length_weight, encoded.lengthLogProbs, [...predicted.values()]);
    return answer(sentence, rows, chosen);
  }

  /** The translation of an alignment model, whose source says how many positions there are. */
  async function align(sentence, encoded, settings, pins) {
    if (pins.length > 0) throw new Error(CHOOSES_PLACES);
    const draft = new Array(perSubword * encoded.width).fill(mask);
    return answer(sentence, await finish([draft], encoded, settings), 0);
  }

  /** The sentence's translation around given subwords: `tokens` has every position, null where the model may choose. */
  async function fill(sentence, tokens, settings) {
    if (perSubword) throw new Error(CHOOSES_PLACES);
    const draft = tokens.map((token) => (token === null ? mask : target.ids([token])[0]));
    const encoded = await encode(sentence);
    return answer(sentence, await finish([draft], encoded, settings), 0);
  }

  function fits(sentence) {
    return source.encode(sentence).length <= longestSource;
  }

  async function encode(sentence) {
    const ids = [...source.encode(sentence), eos];
    if (ids.length > longestSource + 1) throw new Error("The sentence is too long for the model.");
    const lengths = integers([ids.length], [1]);
    const found = await graphs.encoder.run({ source_ids: integers(ids, [1, ids.length]), source_lengths: lengths });
    return { memory: found.memory, lengths, width: ids.length, lengthLogProbs: found.length_log_probs?.data };
  }

  /**
   * By how many positions phrases without a place probably lengthen the target: what the model would have said by itself
   * takes no more room, and of the rest, a phrase takes the place of one subword.
   */
  async function unforeseen(pins, length, encoded) {
    const phrases = pins.filter(({ ids, place }) => place === null && ids.length > 1);
    if (phrases.length === 0) return 0;
    const draft = new Array(length).fill(mask);
    const logits = await decode(draft, encoded);
    const foreseen = new Set(draft.map((_, place) => likeliest(row(logits, place)).token));
    const surplus = ({ ids }) => Math.max(0, ids.filter((id) => !foreseen.has(id)).length - 1);
    return phrases.reduce((sum, phrase) => sum + surplus(phrase), 0);
  }

  async function draftWith(pins, length, encoded) {
    const draft = pinnedDraft(length, pins, mask);
    const phrases = pins.filter(({ place }) => place === null).map(({ ids }) => ids);
    if (phrases.length === 0) return draft;
    const logits = await decode(draft, encoded);
    const displaced = draft.map((_, place) => logits[place * target.size + likeliest(row(logits, place)).token]);
    const fit = (place, id) => logits[place * target.size + id] - displaced[place];
    return placePhrases(draft, phrases, fit, mask);
  }

  function finish(drafts, encoded, settings) {
    const predict = async (tokens, masked, before) => {
      const logits = await decode(tokens, encoded);
      const best = tokens.map((_, place) => {
        if (!masked[place]) return null;
        if (before[place]) logits[place * target.size + eos] = -Infinity; // it would cut off the given words
        return likeliest(row(logits, place));
      });
      const shown = (token) => (blank !== null && token === mask ? blank : token);
      return { tokens: best.map((one) => shown(one?.token)), logProbs: best.map((one) => one?.logProb) };
    };
    return maskPredict(predict, drafts, mask, settings, blank);
  }

  /** Logits of one decoder pass, position after position. */
  async function decode(tokens, { memory, lengths }) {
    await breathe();
    const inputs = { target_ids: integers(tokens, [1, tokens.length]), target_lengths: integers([tokens.length], [1]) };
    const { logits } = await graphs.decoder.run({ ...inputs, memory, source_lengths: lengths });
    return logits.data;
  }

  const integers = (values, shape) => new Tensor("int64", BigInt64Array.from(values, BigInt), shape);
  const row = (logits, place) => logits.subarray(place * target.size, (place + 1) * target.size);

  function answer(sentence, rows, chosen) {
    const { score, passes } = rows[chosen];
    const tokens = blank === null ? rows[chosen].tokens : collapsed(rows[chosen].tokens, blank);
    const end = tokens.indexOf(eos);
    return {
      source: sentence,
      text: target.decode(end < 0 ? tokens : tokens.slice(0, end)),
      score,
      passes,
      lengths: perSubword ? [] : rows.map((one) => one.tokens.length),
      trace: { chosen, candidates: rows.map(candidate) },
    };
  }

  const candidate = ({ tokens, score, history }) => ({
    length: tokens.length,
    score,
    passes: history.map((step) => ({
      masked: step.masked,
      tokens: target.pieces(step.tokens),
      probabilities: step.logProbs.map(Math.exp),
    })),
  });

  return { translate, fill, fits };
}

/** The words of an alignment: equal neighbours are one, and blanks are none. */
function collapsed(tokens, blank) {
  return tokens.filter((token, place) => token !== blank && token !== tokens[place - 1]);
}

/** The best token of a row of logits, its log-probability, and the log of the sum of all exponentials. */
function likeliest(logits) {
  let token = 0;
  for (let id = 1; id < logits.length; id += 1) if (logits[id] > logits[token]) token = id;
  let sum = 0;
  for (let id = 0; id < logits.length; id += 1) sum += Math.exp(logits[id] - logits[token]);
  // To single precision, as everywhere else: what is equal there must be equal here, or other positions are masked.
  const norm = Math.fround(logits[token] + Math.log(sum));
  return { token, norm, logProb: Math.fround(logits[token] - norm) };
}
