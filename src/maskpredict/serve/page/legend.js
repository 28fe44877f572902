// What the colours mean; and, while a word is pointed at, what is known of it.

import { el } from "./dom.js";
import { predictedIn } from "./frames.js";
import { named, percent } from "./tokens.js";

/** The line under the rows. `tell` says something about one word, or (null) nothing. */
export function createLegend() {
  const scale = [0, 1, 2, 3, 4].map((level) => {
    const swatch = el("span", { class: "swatch", "data-sure": String(level) });
    swatch.style.setProperty("--probability", String((level + 0.5) / 5));
    return swatch;
  });
  const key = el(
    "p",
    { class: "key-line" },
    el("span", { class: "key-item" }, el("span", { class: "swatch mask" }), "masked"),
    el("span", { class: "key-item" }, "unsure", el("span", { class: "scale" }, ...scale), "sure"),
    el("span", { class: "key-item" }, el("span", { class: "swatch kept" }), "kept from before"),
  );
  const told = el("p", { class: "told", "aria-hidden": "true" });
  return {
    element: el("div", { class: "legend" }, key, told),
    tell(subject) {
      told.textContent = subject ? about(subject) : "";
    },
  };
}

function about({ passes, row, place }) {
  const step = passes[row];
  const since = predictedIn(passes, row, place);
  const word = `\u201c${named(step.tokens[place])}\u201d`;
  if (since < 0) return `${word}, given`;
  return `${word}, ${percent(step.probabilities[place])} sure in pass ${since + 1}`;
}
