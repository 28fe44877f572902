// The passes as rows of words, one row per pass; the last row's tokens are buttons.
//
// A row never changes its words. Whether it is hidden, masked or predicted is a class on the row, so that style sheets
// alone decide what that looks like and moving through the passes costs nothing.

import { el, icon } from "./dom.js";
import { predictedIn } from "./frames.js";
import { FREE, isFree, markAt, predictedAnew } from "./steering.js";
import {
  continues, isAlignment, isBlank, isEnd, named, percent, spelled, sureness, textLength, textOf, wordsOf,
} from "./tokens.js";

/** The row of a pass, counted from 0. The tokens of the last one are buttons, unless they are an alignment's. */
export function renderRow(passes, index, { last = false } = {}) {
  const step = passes[index];
  const buttons = last && !isAlignment(step.tokens); // the places of an alignment's words cannot be chosen
  const length = textLength(step.tokens);
  const makeToken = (place) =>
    renderToken(step, place, {
      button: buttons && !isEnd(step.tokens[place]),
      beyond: place > length,
      given: predictedIn(passes, index, place) < 0,
    });
  const words = wordsOf(step.tokens).map(({ start, end }) => {
    const tokens = Array.from({ length: end - start }, (_, offset) => makeToken(start + offset));
    return el("span", { class: "word" }, ...tokens);
  });
  const line = el("div", { class: "line", dir: "auto", "aria-hidden": !buttons && "true" }, ...words);
  if (buttons) {
    line.setAttribute("role", "group");
    line.setAttribute("aria-label", "Words of the translation; arrow keys move, Enter opens what can be done");
  }
  const spoken = buttons ? null : el("span", { class: "sr-only" }, textOf(step.tokens));
  const label = el("span", { class: "row-number" }, el("span", { class: "sr-only" }, "Pass "), String(index + 1));
  return el("li", { class: last ? "row last" : "row" }, label, spoken, line);
}

function renderToken(step, place, { button, beyond, given }) {
  const token = step.tokens[place];
  const probability = step.probabilities[place];
  const silent = isBlank(token) || continues(step.tokens, place);
  const classes = [
    "token", step.masked[place] && "fresh", given && "given", isEnd(token) && "end", beyond && !silent && "beyond",
    silent && "silent",
  ];
  const node = el(
    button ? "button" : "span",
    {
      class: classes.filter(Boolean).join(" "),
      type: button && "button",
      tabindex: button && (place === 0 ? "0" : "-1"),
      "data-place": String(place),
      "data-sure": String(sureness(probability)),
    },
    el("span", { class: "letters" }, spelled(token)),
  );
  // Through the object model: a style attribute would be refused by the content security policy.
  node.style.setProperty("--probability", probability.toFixed(3));
  return node;
}

/** Shows on the last row what is pinned and what will be predicted anew; `pinned` are the pins it was formed around. */
export function renderMarks(row, step, marks, pinned = FREE) {
  const present = isFree(marks) ? pinned : marks;
  const anew = isFree(marks) ? step.tokens.map(() => false) : predictedAnew(step.tokens, marks);
  row.classList.toggle("draft", !isFree(marks));
  for (const node of row.querySelectorAll(".token")) {
    const place = Number(node.dataset.place);
    const mark = markAt(present, place);
    node.classList.toggle("pinned", mark === "pin");
    node.classList.toggle("anew", anew[place]);
    node.querySelector(".icon")?.remove();
    if (mark === "pin" && !present.pins.has(place - 1)) node.prepend(icon("pin"));
    if (node.matches("button")) node.setAttribute("aria-label", spokenToken(step, place, mark, anew[place]));
  }
}

function spokenToken(step, place, mark, anew) {
  const name = named(step.tokens[place]);
  if (mark === "pin") return `${name}, pinned`;
  return `${name}, ${anew ? "to be predicted again" : `${percent(step.probabilities[place])} sure`}`;
}

/** Lets the arrow keys, Home and End move between the buttons of a row; only one of them is in the tab order. */
export function installRoving(row) {
  const buttons = [...row.querySelectorAll("button.token")];
  const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -buttons.length, End: buttons.length };
  const makeCurrent = (button) => buttons.forEach((each) => (each.tabIndex = each === button ? 0 : -1));
  row.addEventListener("focusin", (event) => {
    if (buttons.includes(event.target)) makeCurrent(event.target);
  });
  row.addEventListener("keydown", (event) => {
    const from = buttons.indexOf(event.target);
    if (from < 0 || !(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation(); // else the player would step
    buttons[Math.max(0, Math.min(buttons.length - 1, from + moves[event.key]))].focus();
  });
}
