// Below the last row: what the marks mean, and the buttons that act on them.

import { el } from "./dom.js";
import { isFree } from "./steering.js";
import { wordsOf } from "./tokens.js";

/** The bar as `{element, show}`; the buttons call `onReform`, `onClear` and `onBack`. */
export function createSteeringBar({ onReform, onClear, onBack }) {
  const said = el("p", { class: "steering-text", role: "status" });
  const reform = el("button", { type: "button", class: "button primary", onclick: onReform }, "Re-form the sentence");
  const clear = el("button", { type: "button", class: "button", onclick: onClear }, "Clear marks");
  const back = el("button", { type: "button", class: "button", onclick: onBack }, "Back to before");
  return {
    element: el("div", { class: "steering" }, said, el("div", { class: "steering-buttons" }, reform, clear, back)),
    /** `note` is said when nothing is marked. */
    show({ tokens, marks, canGoBack, note }) {
      const free = isFree(marks);
      said.textContent = free ? note : meaning(tokens, marks);
      reform.hidden = free;
      clear.hidden = free;
      back.hidden = !canGoBack;
    },
  };
}

function meaning(tokens, { pins, masks }) {
  const pinned = wordsWith(tokens, pins);
  if (pinned > 0) return `${words(pinned)} pinned. Everything else forms anew around ${pinned === 1 ? "it" : "them"}.`;
  const masked = wordsWith(tokens, masks);
  return `${words(masked)} masked, to be predicted again. The rest stays.`;
}

function wordsWith(tokens, places) {
  return wordsOf(tokens).filter(({ start, end }) => [...places].some((place) => start <= place && place < end)).length;
}

function words(count) {
  return count === 1 ? "1 word" : `${count} words`;
}
