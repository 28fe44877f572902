// The page with its own model: what a person chose, what the model said, and the wires between the parts. Everything
// that shows passes is the service's page, which does not care where they were computed.

import { DEFAULTS, readAddress, writeAddress } from "./address.js";
import { installCopy } from "./clipboard.js";
import { loadIcons } from "./dom.js";
import { createEngine } from "./engine.js";
import { EXAMPLES } from "./examples.js";
import { createSettings } from "./settings.js";
import { createStatus } from "./status.js";
import { installTheme } from "./theme.js";
import { createWorkbench } from "./workbench.js";

const TYPING_PAUSE = 450; // milliseconds without a key until what was typed is translated

const byId = (id) => document.getElementById(id);
const text = byId("source-text");

let state = { ...DEFAULTS };
let speeds = null; // settings by the name of the speed, once they are known
let timer = null;

const status = createStatus(byId("status"), () => {});
const engine = createEngine({ onLoading: showLoading, onReady: showReady, onFailed: showFailure });
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
  { reform, rewrite, onChange: () => (byId("copy").hidden = !bench.text()) },
);

// --- What is asked -----------------------------------------------------------------------------------------------

function ask(verb, given, onAnswer) {
  showBusy(true);
  engine.ask(verb, given, {
    onAnswer(answer) {
      showBusy(false);
      status.clear();
      onAnswer(answer);
    },
    onTrouble(sentence) {
      showBusy(false);
      status.say(sentence);
    },
    onProgress: ({ done, count }) => {
      if (count > 1) byId("took").textContent = `${done} of ${count} sentences`;
    },
  });
}

function translate(delay) {
  clearTimeout(timer);
  engine.forget();
  showBusy(false);
  timer = setTimeout(() => {
    writeAddress(state);
    if (state.text.trim()) ask("translate", { text: state.text, settings: effort() }, showAnswer);
    else showAnswer(null);
  }, delay);
}

/** A sentence with null where the model shall choose anew. */
function reform(sentence, tokens, passes, answered) {
  const iterations = state.speed === "own" ? state.iterations : passes;
  ask("fill", { sentence, tokens, settings: { iterations } }, answered);
}

/** A sentence that must contain some words. */
function rewrite(sentence, pins, answered) {
  ask("rewrite", { sentence, pins, settings: effort() }, answered);
}

const effort = () =>
  state.speed === "own"
    ? { iterations: state.iterations, length_candidates: state.lengths }
    : speeds[state.speed];

// --- What is shown -----------------------------------------------------------------------------------------------

function showAnswer(answer) {
  bench.show(answer);
  const first = bench.first();
  byId("took").textContent = first ? `${count(first.passes)}, ${time(answer.seconds)}` : "";
  settings.show(state, usedBy(first));
}

const usedBy = (form) => form && { iterations: form.passes, lengths: form.lengths.length || null };
const count = (passes) => (passes === 1 ? "1 pass" : `${passes} passes`);
const time = (seconds) => (seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`);
const megabytes = (bytes) => (bytes / 1e6).toFixed(0);

function showText() {
  byId("count").textContent = String([...state.text].length);
  byId("clear").hidden = state.text === "";
  byId("example").hidden = state.text !== "" || !EXAMPLES[state.source];
}

function showBusy(busy) {
  byId("progress").classList.toggle("busy", busy);
  byId("translation").setAttribute("aria-busy", String(busy));
}

function showLoading(loaded, total) {
  byId("loaded").value = loaded / total;
  byId("loaded-text").textContent =
    loaded < total ? `${megabytes(loaded)} of ${megabytes(total)} MB` : "getting it ready";
}

function showReady() {
  byId("loading").hidden = true;
}

function showFailure(sentence) {
  byId("loading").hidden = true;
  status.say(`The model could not be loaded: ${sentence}`);
}

function showLanguages() {
  byId("source-language").textContent = nameOf(state.source);
  byId("target-language").textContent = nameOf(state.target);
  text.lang = state.source;
  byId("translation").lang = state.target;
}

/** A language's English name, or its code: people may call the sides of a corpus as they like. */
function nameOf(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language", fallback: "none" }).of(code) ?? code;
  } catch {
    return code;
  }
}

// --- What a person does ------------------------------------------------------------------------------------------

/** Takes a change of the state, shows it, and translates after a moment. */
function update(change, delay = 0) {
  state = { ...state, ...change };
  showText();
  settings.show(state, usedBy(bench.first()));
  if (speeds) translate(delay); // else not loaded yet; what is typed meanwhile is not lost
}

function setText(value) {
  text.value = value;
  text.focus();
  update({ text: value });
}

/** What the address says, for this page's languages. */
function readState() {
  const { source, target } = state;
  state = { ...readAddress(location.hash), source, target };
  text.value = state.text;
}

text.addEventListener("input", () => update({ text: text.value }, TYPING_PAUSE));
byId("clear").addEventListener("click", () => setText(""));
byId("example").addEventListener("click", () => setText(EXAMPLES[state.source]));
window.addEventListener("pagehide", () => writeAddress(state));
window.addEventListener("hashchange", () => {
  readState();
  update({});
});
loadIcons();
installTheme(byId("theme"));
installCopy(byId("copy"), () => bench.text());

// --- How it begins -----------------------------------------------------------------------------------------------

async function begin() {
  readState();
  bench.show(null);
  settings.show(state);
  const response = await fetch("browser.json");
  if (!response.ok) return; // the worker finds the same, and says so
  const description = await response.json();
  state = { ...state, ...description.languages };
  speeds = description.speeds;
  showLanguages();
  update({ text: text.value });
}

begin();
