// One line that says what is wrong and what happens next. It never covers the text, and never takes it away.

import { el } from "./dom.js";

/** The line inside `root`; `onRetry` is called by its button. */
export function createStatus(root, onRetry) {
  let timer = null;

  function clear() {
    clearInterval(timer);
    root.replaceChildren();
  }

  /** Says a sentence; with `seconds`, counts down to the next try and offers to try at once. */
  function say(sentence, seconds = null) {
    clear();
    const line = el("p", { class: "trouble" }, el("span", {}, sentence));
    root.append(line);
    if (seconds === null) return;
    // The count is not read out: a screen reader would talk every second.
    const count = el("span", { class: "countdown", "aria-hidden": "true" });
    line.append(count, el("button", { type: "button", class: "button", onclick: onRetry }, "Try now"));
    let left = Math.ceil(seconds);
    const tick = () => {
      count.textContent = left > 0 ? `Trying again in ${left} s` : "Trying again";
      left -= 1;
    };
    tick();
    timer = setInterval(tick, 1000);
  }

  return { say, clear };
}

/** What a failed request means for the person in front of the page. */
export function sentenceFor(error) {
  if (error.status === 0) return "The server cannot be reached. Your text is safe here.";
  if (error.status === 503) return "The server is busy. Your text is safe here.";
  if (error.status === 429) return "This server limits how often you may ask.";
  return capitalised(error.message);
}

function capitalised(sentence) {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
