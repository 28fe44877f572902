// Copying, with a sign that it happened.

import { icon } from "./dom.js";

const SIGN_TIME = 1_600; // milliseconds

/** Makes `button` copy what `text()` returns. */
export function installCopy(button, text) {
  const [before, name] = [[...button.childNodes], button.getAttribute("aria-label")];
  let timer = null;
  button.addEventListener("click", async () => {
    const done = await copy(text());
    const word = done ? "Copied" : "Select the text and copy it by hand";
    if (name) {
      button.replaceChildren(icon(done ? "done" : "clear"));
      button.setAttribute("aria-label", word);
    } else {
      button.replaceChildren(word);
    }
    clearTimeout(timer);
    timer = setTimeout(() => {
      button.replaceChildren(...before);
      if (name) button.setAttribute("aria-label", name);
    }, SIGN_TIME);
  });
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyTheOldWay(text); // the clipboard is closed to pages that came over plain HTTP
  }
}

function copyTheOldWay(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "sr-only";
  document.body.append(field);
  const focused = document.activeElement;
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return done;
}
