// Other ways to say a sentence, which can be taken with a click.

import { formatScore } from "./candidates.js";
import { el } from "./dom.js";
import { alternativesTo } from "./sentences.js";

const MOST = 3;

/** Lists what a sentence's form might be instead inside `root`; `onChoose` gets the choice that is clicked. */
export function renderAlternatives(root, form, onChoose) {
  const others = form ? alternativesTo(form, MOST) : [];
  if (others.length === 0) {
    root.replaceChildren();
    return;
  }
  const items = others.map((choice) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "alternative", title: "Use this one", onclick: () => onChoose(choice) },
        el("span", { class: "alternative-text", dir: "auto" }, choice.text),
        el("span", { class: "note" }, formatScore(choice.score)),
      ),
    ),
  );
  const title = el("h3", { class: "small-title" }, "Alternatives");
  root.replaceChildren(title, el("ul", { class: "alternatives" }, ...items));
}
