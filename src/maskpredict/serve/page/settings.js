// How to translate: a speed by name, or the number of passes T and of length candidates l themselves.

import { LIMITS, SPEEDS } from "./address.js";
import { el } from "./dom.js";

const NAMES = { fast: "Fast", balanced: "Balanced", best: "Best", own: "Own" };

/** The controls inside `root`; `onChange` gets the part of the state that changed. */
export function createSettings(root, onChange) {
  const speeds = Object.fromEntries(
    SPEEDS.map((speed) => {
      const input = el("input", { type: "radio", name: "speed", value: speed, class: "sr-only" });
      input.addEventListener("change", () => onChange({ speed }));
      return [speed, input];
    }),
  );
  const iterations = numberField(LIMITS.iterations, change);
  const lengths = numberField(LIMITS.lengths, change);

  // A number that a person sets is a speed of their own.
  function change() {
    const fields = lengthField.hidden ? { iterations } : { iterations, lengths };
    if (!Object.values(fields).every((field) => field.checkValidity())) return;
    const numbers = Object.entries(fields).map(([name, field]) => [name, field.valueAsNumber]);
    onChange({ speed: "own", ...Object.fromEntries(numbers) });
  }

  const segment = (speed) => el("label", { class: "segment" }, speeds[speed], el("span", {}, NAMES[speed]));
  const segments = SPEEDS.map(segment);
  const lengthField = el("label", { class: "field" }, el("span", {}, "Lengths ", el("var", {}, "l")), lengths);
  root.replaceChildren(
    el("fieldset", { class: "segments" }, el("legend", {}, "Speed"), el("div", { class: "segment-row" }, ...segments)),
    el("label", { class: "field" }, el("span", {}, "Passes ", el("var", {}, "T")), iterations),
    lengthField,
  );

  return {
    /**
     * Shows a state; with a named speed, the numbers are those that the server `used`, where known. A model that tried no
     * lengths has no field for them.
     */
    show(state, used) {
      lengthField.hidden = used?.lengths === null;
      speeds[state.speed].checked = true;
      const own = state.speed === "own";
      setUnlessFocused(iterations, own ? state.iterations : used?.iterations);
      setUnlessFocused(lengths, own ? state.lengths : used?.lengths);
    },
  };
}

function numberField([min, max], onInput) {
  const kind = { type: "number", inputmode: "numeric", required: true, placeholder: "\u2013" };
  return el("input", { ...kind, min, max, step: 1, oninput: onInput });
}

/** A field somebody types into is left alone. */
function setUnlessFocused(field, value) {
  if (field !== document.activeElement) field.value = value ?? "";
}
