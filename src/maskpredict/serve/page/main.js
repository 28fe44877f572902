// The page: what a person chose, what the server said, and the wires between the parts.

import { DEFAULTS, linkTo, readAddress, writeAddress } from "./address.js";
import { addressOf, get, post, ServerError, useKey } from "./api.js";
import { createAsker } from "./ask.js";
import { installCopy } from "./clipboard.js";
import { curlCommand } from "./curl.js";
import { installDocuments } from "./documents.js";
import { loadIcons } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { createGlossary } from "./glossary.js";
import { createHistory } from "./history.js";
import { nameOf, onlySource, possible, renderLanguages, swapped } from "./languages.js";
import { createSettings } from "./settings.js";
import { createStatus, sentenceFor } from "./status.js";
import { thisTab } from "./storage.js";
import { keepTerms, keptTerms } from "./terms.js";
import { installTheme } from "./theme.js";
import { createWorkbench } from "./workbench.js";

const TYPING_PAUSE = 350; // milliseconds without a key until what was typed is translated
const READING_PAUSE = 1_500; // milliseconds that a translation stays until it is kept in the history

const byId = (id) => document.getElementById(id);
const text = byId("source-text");
const sourceList = byId("source-language");
const targetList = byId("target-language");

let state = { ...DEFAULTS };
let languages = [];
let limit = -1;
let detected = null;
let loading = null;
let addressing = null;
let keeping = null;
let termsUsed = [];

const status = createStatus(byId("status"), () => (languages.length ? asker.again() : load()));
const asker = createAsker({ onBusy: showBusy, onTrouble: showTrouble });
const settings = createSettings(byId("settings"), (change) => update(change, 300));
const bench = createWorkbench(
  {
    translation: byId("translation"),
    alternatives: byId("alternatives"),
    steps: byId("sentence-steps"),
    source: byId("sentence-source"),
    candidates: byId("candidates"),
    player: byId("player"),
  },
  { reform, rewrite, findWords, onChange: () => (byId("copy").hidden = byId("share").hidden = !bench.text()) },
);
const glossary = createGlossary(byId("glossary-editor"), { onChange: changeTerms });
const past = createHistory(byId("history-list"), { nameOf: (code) => nameOf(languages, code), onOpen: reopen });

// --- What is asked -----------------------------------------------------------------------------------------------

function ask(path, body, answered, delay = 0) {
  byId("curl").hidden = false;
  byId("curl-command").textContent = curlCommand(addressOf(path), body);
  asker.ask(path, body, answered, delay);
}

function translate(delay) {
  // Not at every key: browsers forbid pages to change their address all the time.
  clearTimeout(addressing);
  addressing = setTimeout(() => writeAddress(state), delay);
  clearTimeout(keeping);
  asker.forget();
  showTerms();
  if (!state.text.trim()) {
    status.clear();
    showAnswer(null);
  } else if (excess() > 0) {
    status.say(`The text is ${excess()} characters too long for this server. Shorten it to go on.`);
  } else {
    termsUsed = terms();
    const given = termsUsed.length > 0 ? { terms: termsUsed } : {};
    ask("v1/translate", { q: state.text, ...pair(), ...effort(), ...given, trace: true }, showAnswer, delay);
  }
}

/** A sentence with null where the model shall choose anew. */
function reform(source, tokens, passes, answered) {
  const iterations = state.speed === "own" ? state.iterations : passes;
  const body = { source_text: source, ...knownPair(), template: { tokens }, iterations, trace: true };
  ask("v1/fill", body, answered);
}

/** A sentence that must contain some words. */
function rewrite(source, pins, answered) {
  const body = { q: source, ...knownPair(), ...effort(), pins, trace: true };
  ask("v1/translate", body, (answer) => answered(answer.sentences[0]));
}

/** Other words for a place of a sentence; they may come while something else is asked. */
async function findWords(source, tokens, { start, end }) {
  const body = { source_text: source, ...knownPair(), tokens, start, end };
  return (await post("v1/words", body, new AbortController().signal)).words;
}

const pair = () => ({ source: state.source, target: state.target });
const knownSource = () => (state.source === "auto" ? (detected?.language ?? "auto") : state.source);
const knownPair = () => ({ ...pair(), source: knownSource() });
/** The direction whose terms count; null while it is not known. */
const direction = () => {
  const source = state.source === "auto" ? (detected?.language ?? onlySource(languages, state.target)) : state.source;
  return source && state.target && source !== state.target ? { source, target: state.target } : null;
};
const terms = () => state.terms ?? (direction() ? keptTerms(direction().source, direction().target) : []);
const effort = () =>
  state.speed === "own"
    ? { iterations: state.iterations, length_candidates: state.lengths }
    : { speed: state.speed };

// --- What is shown -----------------------------------------------------------------------------------------------

function showAnswer(answer) {
  detected = answer?.detectedLanguage ?? null;
  bench.show(answer);
  const first = bench.first();
  byId("took").textContent = first ? `${count(first.passes)}, ${time(answer.seconds)}` : "";
  settings.show(state, usedBy(first));
  showLanguages();
  showTerms();
  // The language that was detected may have other terms than the one before, or than none.
  if (answer && JSON.stringify(terms()) !== JSON.stringify(termsUsed)) translate(0);
  else if (answer) keeping = setTimeout(keep, READING_PAUSE);
}

function showTerms() {
  const known = direction();
  const name = (code) => nameOf(languages, code);
  glossary.show(
    known
      ? `Words in ${name(known.source)}, and what they must become in ${name(known.target)}. They stay in this browser.`
      : "Choose the language to translate from.",
    known ? terms() : null,
  );
  byId("glossary-count").textContent = terms().length > 0 ? String(terms().length) : "";
}

function keep() {
  const known = direction();
  if (known && bench.text()) past.add({ ...known, text: state.text, translation: bench.text() });
}

const excess = () => (limit >= 0 ? [...state.text].length - limit : 0);
const usedBy = (form) => form && { iterations: form.passes, lengths: form.lengths.length || null };
const count = (passes) => (passes === 1 ? "1 pass" : `${passes} passes`);
const time = (seconds) => (seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`);

function showLanguages() {
  const code = state.source === "auto" ? (detected?.language ?? null) : null;
  renderLanguages({ sourceList, targetList }, languages, state, code);
  byId("swap").disabled = swapped(languages, state, code) === null;
  byId("detected").textContent = code ? `Detected, ${detected.confidence}\u00a0% sure` : "";
  text.lang = state.source === "auto" ? (code ?? "") : state.source;
  byId("translation").lang = state.target;
}

function showCount() {
  const length = [...state.text].length; // in characters, as the server counts, not in UTF-16 units
  byId("count").textContent = limit >= 0 ? `${length} / ${limit}` : String(length);
  byId("count").classList.toggle("over", excess() > 0);
  byId("clear").hidden = state.text === "";
  byId("example").hidden = state.text !== "" || !example();
}

function showBusy(busy) {
  byId("progress").classList.toggle("busy", busy);
  byId("translation").setAttribute("aria-busy", String(busy));
}

function showTrouble(error, seconds) {
  if (!error) return status.clear();
  if (error.status === 403) byId("key-form").hidden = false;
  status.say(sentenceFor(error), seconds);
}

// --- What a person does ------------------------------------------------------------------------------------------

/** Takes a change of the state, shows it, and translates after a moment. */
function update(change, delay = 0) {
  state = { ...state, ...change };
  showCount();
  settings.show(state, usedBy(bench.first()));
  if (languages.length === 0) return; // not loaded yet; what is typed meanwhile is not lost
  state = possible(languages, state);
  showLanguages();
  translate(delay);
}

function swap() {
  const languagesBack = swapped(languages, state, detected?.language);
  if (!languagesBack) return;
  text.value = bench.text() || state.text;
  update({ ...languagesBack, text: text.value });
}

function changeTerms(changed) {
  const { source, target } = direction();
  keepTerms(source, target, changed);
  update({ terms: null }, TYPING_PAUSE);
}

function reopen(entry) {
  const { source, target } = entry;
  text.value = entry.text;
  update({ source, target, text: entry.text, terms: null });
  text.focus();
  window.scrollTo({ top: 0 });
}

/** What goes with a document. */
function documentFields() {
  const used = terms();
  return used.length > 0 ? { ...knownPair(), ...direction(), terms: JSON.stringify(used) } : pair();
}

/** A sentence in the source language; when that is to be detected, in any that is served. */
function example() {
  const codes = state.source === "auto" ? languages.map(({ code }) => code) : [state.source];
  return EXAMPLES[codes.find((code) => code in EXAMPLES)];
}

function setText(value) {
  text.value = value;
  text.focus();
  update({ text: value });
}

text.addEventListener("input", () => update({ text: text.value }, TYPING_PAUSE));
sourceList.addEventListener("change", () => update({ source: sourceList.value }));
targetList.addEventListener("change", () => update({ target: targetList.value }));
byId("swap").addEventListener("click", swap);
byId("clear").addEventListener("click", () => setText(""));
byId("example").addEventListener("click", () => setText(example()));
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  thisTab.write("api-key", byId("api-key").value);
  useKey(byId("api-key").value);
  update({});
});
window.addEventListener("pagehide", () => writeAddress(state));
window.addEventListener("hashchange", () => {
  state = readAddress(location.hash);
  text.value = state.text;
  update({});
});
const translateDocument = installDocuments(byId("document"), documentFields);
byId("open-document").addEventListener("click", () => byId("document-file").click());
byId("document-file").addEventListener("change", ({ target }) => {
  if (target.files.length > 0) translateDocument(target.files[0]);
  target.value = "";
});
loadIcons();
installTheme(byId("theme"));
installCopy(byId("copy"), () => bench.text());
installCopy(byId("share"), () => linkTo(state, terms()));
installCopy(byId("curl-copy"), () => byId("curl-command").textContent);

// --- How it begins -----------------------------------------------------------------------------------------------

function begin() {
  state = readAddress(location.hash);
  text.value = state.text;
  useKey(thisTab.read("api-key"));
  bench.show(null);
  settings.show(state);
  showCount();
  load();
}

/** Learns what the server can do; without that nothing can be asked, so it is tried until it works. */
async function load() {
  clearTimeout(loading);
  try {
    const [served, frontend] = await Promise.all([get("languages"), get("frontend/settings")]);
    languages = served;
    limit = frontend.charLimit ?? -1;
    byId("document-file").accept = frontend.supportedFilesFormat.join(",");
    past.draw(); // now that the names of languages are known
    byId("key-form").hidden = !frontend.keyRequired;
    status.clear();
    update({});
  } catch (error) {
    if (!(error instanceof ServerError)) throw error;
    const seconds = error.retryAfter ?? 5;
    loading = setTimeout(load, seconds * 1000);
    showTrouble(error, seconds);
  }
}

begin();
