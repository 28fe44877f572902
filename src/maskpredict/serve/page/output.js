// The translation as text in which each sentence can be picked for the player.

import { el } from "./dom.js";
import { current } from "./sentences.js";

/** Draws the work into `root`; clicking a sentence calls `onPick` with its number. */
export function renderTranslation(root, { between, sentences }, shown, onPick) {
  const several = sentences.length > 1;
  const nodes = between.flatMap((part, index) => {
    const sentence = sentences[index];
    if (!sentence) return [part];
    const classes = ["sentence", several && "pickable", several && index === shown && "picked"];
    const node = el("span", { class: classes.filter(Boolean).join(" ") }, current(sentence).choice.text);
    // For the mouse; the keyboard has the buttons "previous" and "next sentence". Selecting text is not clicking.
    if (several) node.addEventListener("click", () => document.getSelection().isCollapsed && onPick(index));
    return [part, node];
  });
  root.replaceChildren(...nodes);
}

/** Buttons to go through the sentences, where there are several. */
export function renderSentenceSteps(root, count, shown, { previous, next }) {
  root.hidden = count < 2;
  previous.disabled = shown === 0;
  next.disabled = shown === count - 1;
  root.querySelector("output").textContent = `Sentence ${shown + 1} of ${count}`;
}
