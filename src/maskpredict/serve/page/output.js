// The translation as text in which each sentence can be picked for the player, and each word of that one for its card.

import { el } from "./dom.js";
import { current, passesOf } from "./sentences.js";
import { placesOfWords } from "./tokens.js";

/**
 * Draws the work into `root`; clicking a sentence calls `onPick` with its number, and clicking a word of the shown one
 * `onWord` with its position among the tokens.
 */
export function renderTranslation(root, { between, sentences }, shown, { onPick, onWord }) {
  const several = sentences.length > 1;
  const nodes = between.flatMap((part, index) => {
    const sentence = sentences[index];
    if (!sentence) return [part];
    const classes = ["sentence", several && "pickable", several && index === shown && "picked"];
    const parts = index === shown ? wordsOfForm(current(sentence), onWord) : [current(sentence).choice.text];
    const node = el("span", { class: classes.filter(Boolean).join(" ") }, ...parts);
    if (several && index !== shown) node.addEventListener("click", unlessSelecting(() => onPick(index)));
    return [part, node];
  });
  root.replaceChildren(...nodes);
}

// For the mouse; the keyboard has the words of the last pass, and the buttons "previous" and "next sentence".
function wordsOfForm(form, onWord) {
  const { text } = form.choice;
  const places = placesOfWords(passesOf(form)?.at(-1)?.tokens ?? [], text);
  if (!places) return [text];
  return text.split(" ").flatMap((word, number) => {
    const node = el("span", { class: "pickable-word" }, word);
    node.addEventListener("click", unlessSelecting(() => onWord(places[number], node)));
    return number > 0 ? [" ", node] : [node];
  });
}

const unlessSelecting = (action) => () => document.getSelection().isCollapsed && action();

/** Buttons to go through the sentences, where there are several. */
export function renderSentenceSteps(root, count, shown, { previous, next }) {
  root.hidden = count < 2;
  previous.disabled = shown === 0;
  next.disabled = shown === count - 1;
  root.querySelector("output").textContent = `Sentence ${shown + 1} of ${count}`;
}
