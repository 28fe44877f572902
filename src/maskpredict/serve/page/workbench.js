// One sentence of the translation under the magnifying glass: its candidates, its passes, and a person's changes.

import { renderAlternatives } from "./alternatives.js";
import { renderCandidates } from "./candidates.js";
import { el, iconButton } from "./dom.js";
import { renderSentenceSteps, renderTranslation } from "./output.js";
import { createPlayer } from "./player.js";
import { choiceOf, current, passesOf, readAnswer, version, wholeText } from "./sentences.js";
import { FREE, isFree, marked, pinsAfterReplacing, pinsOf, template } from "./steering.js";
import { createSteeringBar } from "./steeringbar.js";
import { ended, isAlignment, replacing } from "./tokens.js";
import { createWordCard } from "./wordcard.js";

const INVITATION = "Click a word to say it differently, pin it, or mask it again.";
const POSITIONS = "Each position has a word or a blank. A word at several positions in a row counts once.";
const UNCHANGED = "The model chose the same words again.";
const EMPTY = "Type something, and watch the sentence form here.";
const NO_PASSES = "There are no passes to show here.";

/**
 * `places` are the elements to draw into. `reform(source, tokens, passes, answered)` and
 * `rewrite(source, pins, answered)` have a sentence formed anew and hand its record to `answered`.
 * `findWords(source, tokens, range)`, where there is one, promises other words for a place.
 */
export function createWorkbench(places, { reform, rewrite, findWords = null, onChange }) {
  let work = { between: [""], sentences: [] };
  let shown = 0;
  let marks = FREE; // what the next request will impose
  let pinned = FREE; // what the last one imposed; a further pin joins these
  let note = INVITATION;

  const player = createPlayer(places.player, { onWord: openCard });
  const bar = createSteeringBar({ onReform: askForReform, onClear: () => mark(FREE), onBack: goBack });
  const card = createWordCard({
    onMark: (range, kind) => mark(marked(kind === "pin" && isFree(marks) ? pinned : marks, range, kind)),
    onWrite: askForRewrite,
    findWords: findWords && ((tokens, range) => findWords(sentence().source, ended(tokens), range)),
    onTake: (record) => takeForm(sentence(), record, null),
  });
  player.aside.append(bar.element);
  const previous = iconButton("Previous sentence", "back", () => pick(shown - 1));
  const next = iconButton("Next sentence", "forward", () => pick(shown + 1));
  places.steps.append(previous, el("output", {}), next);

  const sentence = () => work.sentences[shown];
  const form = () => current(sentence());
  const passes = () => passesOf(form());

  function openCard(place, button) {
    card.open(button, { passes: passes(), place, marks });
  }

  function pick(index) {
    shown = index;
    beginAfresh();
    draw();
  }

  function beginAfresh() {
    marks = FREE;
    pinned = FREE;
    note = INVITATION;
  }

  function mark(newMarks) {
    marks = newMarks;
    player.showMarks(marks, pinned);
    drawBar();
  }

  /** Takes another text for the sentence; the candidates stay as they are, so that the keyboard keeps its place. */
  function choose(choice, { redrawCandidates }) {
    sentence().versions[sentence().versions.length - 1] = { ...form(), choice };
    beginAfresh();
    drawText();
    drawPasses();
    if (redrawCandidates) drawCandidates();
  }

  function chooseAlternative(choice) {
    choose(choice, { redrawCandidates: true });
    places.translation.focus(); // the button that was pressed is gone now
  }

  function askForReform() {
    const [asked, pinsIn] = [sentence(), marks.pins.size > 0 ? () => pinsOf(passes()) : null];
    const tokens = template(passes().at(-1).tokens, marks);
    reform(asked.source, tokens, passes().length, (record) => takeForm(asked, record, pinsIn));
  }

  /** The word in the range becomes `text`, and all other words stay; those to the right of it may move. */
  function askForRewrite(range, text) {
    const { tokens } = passes().at(-1);
    const present = isFree(marks) ? pinned : marks;
    const asked = sentence();
    rewrite(asked.source, replacing(tokens, range, text), (record) => {
      takeForm(asked, record, (changed) => pinsAfterReplacing(present, range, changed.length - tokens.length));
    });
  }

  /** `pinsIn(tokens)` are the marks of what was pinned in the new form. */
  function takeForm(asked, record, pinsIn) {
    const before = current(asked).choice.text;
    asked.versions.push(version(record));
    if (asked !== sentence()) return drawText(); // somebody looks at another sentence by now
    beginAfresh();
    if (pinsIn && passes()) pinned = pinsIn(passes().at(-1).tokens);
    if (form().choice.text === before) note = UNCHANGED;
    const focused = bar.element.contains(document.activeElement);
    drawText();
    drawCandidates();
    drawPasses({ play: true });
    if (focused) player.focus(); // the button that was pressed may be gone now
  }

  function goBack() {
    sentence().versions.pop();
    beginAfresh();
    draw();
    player.focus();
  }

  function draw() {
    drawText();
    drawCandidates();
    drawPasses();
  }

  function drawText() {
    renderTranslation(places.translation, work, shown, { onPick: pick, onWord: openCard });
    renderAlternatives(places.alternatives, sentence() && form(), chooseAlternative);
    renderSentenceSteps(places.steps, work.sentences.length, shown, { previous, next });
    places.source.textContent = work.sentences.length > 1 ? sentence().source : "";
    onChange();
  }

  function drawCandidates() {
    const { trace, choice } = sentence() ? form() : { trace: null, choice: {} };
    renderCandidates(places.candidates, trace, choice.candidate, (index) =>
      choose(choiceOf(form(), index), { redrawCandidates: false }),
    );
  }

  function drawPasses({ play = false } = {}) {
    if (!sentence()) player.rest(wholeText(work).trim() ? NO_PASSES : EMPTY);
    else if (!passes()?.length) player.rest(NO_PASSES);
    else {
      player.show(passes(), { marks, pinned, play });
      drawBar();
    }
  }

  function drawBar() {
    const canGoBack = sentence().versions.length > 1;
    const { tokens } = passes().at(-1);
    bar.show({ tokens, marks, canGoBack, note: isAlignment(tokens) ? POSITIONS : note });
  }

  /** Shows a server's answer, or (null) that there is none. */
  function show(answer) {
    work = answer ? readAnswer(answer) : { between: [""], sentences: [] };
    pick(Math.max(0, Math.min(shown, work.sentences.length - 1)));
  }

  return { show, text: () => wholeText(work), first: () => work.sentences[0] && current(work.sentences[0]) };
}
