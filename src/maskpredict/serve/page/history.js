// Translations of before, kept by this browser alone; a click brings one back.

import { el, iconButton } from "./dom.js";
import { remembered } from "./storage.js";

const KEY = "history";
const OFF = "history-off";
const MOST = 50;
const LONGEST_TEXT = 5_000; // characters

/** The list inside `root`; `onOpen` gets the entry that is clicked: `{source, target, text, translation}`. */
export function createHistory(root, { nameOf, onOpen }) {
  let entries = readEntries();
  const keeps = () => remembered.read(OFF) === null;
  const list = el("ul", { class: "past" });
  const note = el("p", { class: "note" });
  const keep = el("input", { type: "checkbox", onchange: () => switchTo(keep.checked) });
  const forgetAll = el("button", { type: "button", class: "button", onclick: () => write([]) }, "Forget all");
  const foot = el("div", { class: "fold-foot" }, el("label", { class: "check" }, keep, "Keep new ones"), forgetAll);
  root.replaceChildren(note, list, foot);

  function switchTo(on) {
    remembered.write(OFF, on ? null : "off");
    draw();
  }

  /** Adds a translation. One whose text only went on replaces the one before. */
  function add(entry) {
    if (!keeps() || entry.text.length > LONGEST_TEXT) return;
    const others = readEntries().filter((each) => !isSame(each, entry)); // another tab may have added some
    const [last] = others;
    const goesOn = last && isPair(last, entry) && entry.text.startsWith(last.text);
    write([entry, ...(goesOn ? others.slice(1) : others)].slice(0, MOST));
  }

  function write(changed) {
    entries = changed;
    remembered.write(KEY, entries.length > 0 ? JSON.stringify(entries) : null);
    draw();
  }

  function draw() {
    keep.checked = keeps();
    forgetAll.hidden = entries.length === 0;
    note.textContent = entries.length > 0 ? "" : "Nothing yet.";
    note.hidden = entries.length > 0;
    list.replaceChildren(...entries.map(item));
  }

  function item(entry) {
    const languages = `${nameOf(entry.source)} \u2192 ${nameOf(entry.target)}`;
    const open = el(
      "button",
      { type: "button", class: "past-open", onclick: () => onOpen(entry) },
      el("span", { class: "past-text", dir: "auto", lang: entry.source }, entry.text),
      el("span", { class: "past-text", dir: "auto", lang: entry.target }, entry.translation),
      el("span", { class: "note" }, languages),
    );
    const forget = iconButton("Forget this one", "clear", () => write(entries.filter((each) => each !== entry)));
    return el("li", {}, open, forget);
  }

  draw();
  return { add, draw };
}

const isPair = (one, other) => one.source === other.source && one.target === other.target;
const isSame = (one, other) => isPair(one, other) && one.text === other.text;

function readEntries() {
  try {
    const kept = JSON.parse(remembered.read(KEY) ?? "[]");
    const texts = (one) => [one.source, one.target, one.text, one.translation];
    return kept.filter((one) => texts(one).every((text) => typeof text === "string"));
  } catch {
    return []; // somebody else's, or damaged
  }
}
