// The card of a word in the last row: how it came to be there, and what can be done with it.

import { el } from "./dom.js";
import { predictedIn } from "./frames.js";
import { markAt } from "./steering.js";
import { lettersOf, named, percent, spelled, wordsOf } from "./tokens.js";

const MOST_WORDS = 6;

/**
 * A card for any word. `onMark(range, kind)` pins, masks or (null) frees; `onWrite(range, text)` wants another one;
 * `findWords(tokens, range)`, if not null, promises others as `{text, probability, sentence}`, and `onTake(sentence)`
 * takes one of them.
 */
export function createWordCard({ onMark, onWrite, findWords, onTake }) {
  // "auto" brings what is expected of a card: Escape and a click elsewhere close it, and focus goes back to the word.
  const card = el("div", { class: "word-card", popover: "auto", role: "dialog", "aria-label": "Word" });
  document.body.append(card);

  function open(button, { passes, place, marks }) {
    const { tokens } = passes.at(-1);
    const word = wordsOf(tokens).find(({ start, end }) => start <= place && place < end);
    const close = () => card.hidePopover();
    const piece = { start: place, end: place + 1 };
    const parts = [
      el("p", { class: "word-title", dir: "auto" }, textOfRange(tokens, word)),
      el("p", { class: "note" }, certainty(passes, place)),
      history(passes, place),
    ];
    const unit = word.end - word.start > 1 ? unitChoice(tokens, word, place) : null;
    const range = () => (unit?.pieceAlone() ? piece : word);
    const act = (kind) => () => {
      close();
      onMark(range(), kind);
    };
    const actions = [
      ["pin", "Pin it"],
      ["mask", "Mask it again"],
      [null, "Let go"],
    ].filter(([kind]) => kind !== markAt(marks, place));
    const buttons = actions.map(([kind, name]) =>
      el("button", { type: "button", class: "button", onclick: act(kind) }, name),
    );
    const letters = lettersOf(tokens, word);
    const closing = (action) => (...given) => {
      close();
      action(...given);
    };
    if (letters && findWords) parts.push(others(findWords(tokens, letters), closing(onTake)));
    parts.push(writing(closing((text) => onWrite(word, text))));
    parts.push(unit?.element, el("div", { class: "word-actions" }, ...buttons));
    card.replaceChildren(...parts.filter(Boolean));
    card.showPopover();
    placeBelow(card, button);
    buttons[0].focus({ preventScroll: true });
  }

  return { open };
}

function textOfRange(tokens, { start, end }) {
  return tokens.slice(start, end).map(spelled).join("").trim();
}

function certainty(passes, place) {
  const since = predictedIn(passes, passes.length - 1, place);
  if (since < 0) return "Given, not predicted";
  return `${percent(passes[since].probabilities[place])} sure, predicted in pass ${since + 1}`;
}

/** What stood at this position before, where it was something else. */
function history(passes, place) {
  const stations = [];
  passes.forEach(({ tokens, probabilities, masked }, index) => {
    if (masked[place] && tokens[place] !== stations.at(-1)?.token) {
      const text = `${named(tokens[place])} ${percent(probabilities[place])}`;
      stations.push({ token: tokens[place], text, pass: index + 1 });
    }
  });
  if (stations.length < 2) return null;
  const items = stations.map(({ text, pass }) => el("li", {}, el("span", { class: "note" }, `${pass}`), text));
  return el("ol", { class: "word-history", "aria-label": "What stood here, by pass" }, ...items);
}

function unitChoice(tokens, word, place) {
  const alone = el("input", { type: "checkbox" });
  return {
    element: el("label", { class: "word-unit" }, alone, `only the piece \u201c${named(tokens[place])}\u201d`),
    pieceAlone: () => alone.checked,
  };
}

/** Words to take with a click, as soon as they are known. */
function others(promise, take) {
  const root = el("div", { class: "word-others", role: "group", "aria-label": "Other words", "aria-busy": "true" });
  root.append(el("p", { class: "note" }, "Looking for other words"));
  const show = (words) => {
    const choices = words.slice(0, MOST_WORDS).map(({ text, probability, sentence }) => {
      const attributes = { type: "button", class: "other-word", title: percent(probability) };
      return el("button", { ...attributes, onclick: () => take(sentence) }, text);
    });
    root.setAttribute("aria-busy", "false");
    const none = el("p", { class: "note" }, "The model knows no other word.");
    root.replaceChildren(...(choices.length > 0 ? choices : [none]));
  };
  promise.then(show, () => root.remove()); // without them the card still does the rest
  return root;
}

function writing(put) {
  const input = el("input", { type: "text", id: "other-word", autocomplete: "off", maxlength: "80", dir: "auto" });
  const submit = (event) => {
    event.preventDefault();
    if (!input.value.trim()) return input.focus();
    put(input.value.trim());
  };
  return el(
    "form",
    { class: "word-writing", onsubmit: submit },
    el("label", { for: "other-word" }, "Or say it with"),
    input,
    el("button", { type: "submit", class: "button" }, "Put in"),
  );
}

/** Below the word where there is room, else above it, and always inside the window. */
function placeBelow(card, button) {
  const at = button.getBoundingClientRect();
  const own = card.getBoundingClientRect();
  const below = at.bottom + 8;
  const fits = below + own.height <= window.innerHeight - 8;
  card.style.top = `${window.scrollY + Math.max(8, fits ? below : at.top - own.height - 8)}px`;
  card.style.left = `${window.scrollX + Math.max(8, Math.min(at.left, innerWidth() - own.width - 8))}px`;
}

/** Without the scroll bar. */
function innerWidth() {
  return document.documentElement.clientWidth;
}
