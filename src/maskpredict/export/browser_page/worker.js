// The model in a thread of its own, so that the page stays responsive. One question at a time: a new one ends the one
// before at its next pass.

import * as onnxruntime from "../runtime/onnxruntime.js";
import { download } from "./download.js";
import { createTokenizer } from "./sentencepiece.js";
import { segments } from "./splitting.js";
import { createTranslator } from "./translator.js";

const BASE = new URL("../", import.meta.url);
const BREATH = 30; // milliseconds of work after which messages are let in
const KEPT = 200; // translated sentences to remember: while somebody types, most of the text stays the same

class Superseded extends Error {}

let newest = 0; // the question that was asked last
let running = 0; // the one that is being answered
let last = Promise.resolve();
let breathed = 0;
const known = new Map();
const opened = openModel();
opened.catch((error) => postMessage({ failed: sentenceOf(error) }));

async function openModel() {
  const description = await json("browser.json");
  const files = await download(BASE, description.downloads, (loaded, total) => postMessage({ loaded, total }));
  const text = (name) => JSON.parse(new TextDecoder().decode(files[name]));
  onnxruntime.env.wasm.wasmBinary = files["runtime/onnxruntime.wasm"];
  const graph = (name) => onnxruntime.InferenceSession.create(files[name]);
  const tokenizers = Object.fromEntries(
    Object.entries(description.vocabularies).map(([side, name]) => [side, createTokenizer(text(name))]),
  );
  const translator = createTranslator({
    graphs: { encoder: await graph("model/encoder.onnx"), decoder: await graph("model/decoder.onnx") },
    Tensor: onnxruntime.Tensor,
    ...tokenizers,
    description: await json("model/onnx.json"),
    breathe,
  });
  postMessage({ ready: true });
  return { translator, language: description.languages.source };
}

/** Lets messages in now and then, and ends what nobody waits for any more. */
async function breathe() {
  if (performance.now() - breathed < BREATH) return;
  await new Promise((resolve) => setTimeout(resolve));
  breathed = performance.now();
  if (running !== newest) throw new Superseded();
}

const verbs = {
  /** A text, sentence by sentence, in the form of the service's answer. */
  async translate(translator, { text, settings }, { language, told }) {
    const parts = segments(text, language, translator.fits);
    const count = parts.filter(({ isSentence }) => isSentence).length;
    const sentences = [];
    let whole = "";
    for (const part of parts) {
      if (part.isSentence) {
        sentences.push(await remembered(part.text, settings, translator));
        told({ done: sentences.length, count });
      }
      whole += part.isSentence ? sentences.at(-1).text : part.text;
    }
    return { translatedText: whole, sentences };
  },
  /** One sentence that must contain some words. */
  rewrite(translator, { sentence, pins, settings }) {
    return translator.translate(sentence, settings, pins);
  },
  /** One sentence with positions to predict anew. */
  fill(translator, { sentence, tokens, settings }) {
    return translator.fill(sentence, tokens, settings);
  },
};

async function remembered(sentence, settings, translator) {
  const key = JSON.stringify([sentence, settings]);
  if (!known.has(key)) known.set(key, await translator.translate(sentence, settings));
  if (known.size > KEPT) known.delete(known.keys().next().value);
  return known.get(key);
}

self.addEventListener("message", ({ data }) => {
  newest = data.number;
  if (data.verb) last = last.then(() => run(data)); // without one, the question before is dropped
});

async function run({ number, verb, given }) {
  if (number !== newest) return;
  running = number;
  try {
    const { translator, language } = await opened;
    const start = performance.now();
    const answer = await verbs[verb](translator, given, {
      language,
      told: (progress) => postMessage({ number, progress }),
    });
    postMessage({ number, answer: { ...answer, seconds: (performance.now() - start) / 1000 } });
  } catch (error) {
    if (!(error instanceof Superseded)) postMessage({ number, error: sentenceOf(error) });
  }
}

async function json(name) {
  const response = await fetch(new URL(name, BASE));
  if (!response.ok) throw new Error(`${name} could not be loaded (${response.status}).`);
  return response.json();
}

function sentenceOf(error) {
  return error instanceof Error ? error.message : String(error);
}
