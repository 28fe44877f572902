// Light, dark, or as the system says. The colours themselves are in base.css; here only the choice.

import { icon } from "./dom.js";
import { remembered } from "./storage.js";

const CHOICES = ["auto", "light", "dark"];
const ICONS = { auto: "auto", light: "sun", dark: "moon" };
const NAMES = { auto: "as the system", light: "light", dark: "dark" };

/** Makes `button` step through the themes and remember the choice. */
export function installTheme(button) {
  let current = CHOICES.includes(remembered.read("theme")) ? remembered.read("theme") : "auto";
  const apply = () => {
    if (current === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = current;
    const name = `Colours: ${NAMES[current]}`;
    button.setAttribute("aria-label", name);
    button.title = name;
    button.replaceChildren(icon(ICONS[current]));
  };
  button.addEventListener("click", () => {
    current = CHOICES[(CHOICES.indexOf(current) + 1) % CHOICES.length];
    remembered.write("theme", current === "auto" ? null : current);
    apply();
  });
  apply();
}
