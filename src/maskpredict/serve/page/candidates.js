// The target lengths that were tried, with their scores; choosing one shows how it was formed.

import { el } from "./dom.js";

/** A mean log-probability with a real minus sign. */
export function formatScore(score) {
  return score.toFixed(2).replace("-", "\u2212");
}

/** Puts a chooser into `root`; `onChoose` gets the index of a candidate. */
export function renderCandidates(root, trace, shown, onChoose) {
  if (!trace || trace.candidates.length < 2) {
    root.replaceChildren();
    return;
  }
  const chips = trace.candidates.map(({ length, score }, index) => {
    const input = el("input", { type: "radio", name: "candidate", value: String(index), class: "sr-only" });
    input.checked = index === shown;
    input.addEventListener("change", () => onChoose(index));
    const best = index === trace.chosen;
    return el(
      "label",
      { class: "chip", title: `${length} subwords, the end mark counted; mean log-probability ${formatScore(score)}` },
      input,
      el("span", { class: "chip-main" }, String(length)),
      el("span", { class: "chip-side" }, formatScore(score)),
      best && el("span", { class: "chip-best" }, "best"),
    );
  });
  const title = el("legend", {}, "Lengths tried, with their scores");
  root.replaceChildren(el("fieldset", { class: "chips" }, title, el("div", { class: "chip-row" }, ...chips)));
}
