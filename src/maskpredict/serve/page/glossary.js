// The editor of a glossary: a row for each term, kept by this browser, one glossary for each direction.

import { el, iconButton } from "./dom.js";
import { parseTerms, writtenTerms } from "./terms.js";

/** The editor inside `root`; `onChange` gets the complete terms whenever they change. */
export function createGlossary(root, { onChange }) {
  const title = el("p", { class: "note" });
  const rows = el("div", { class: "terms", role: "group", "aria-label": "Terms" });
  const kinds = ".tsv,.csv,.txt";
  const file = el("input", { type: "file", accept: kinds, class: "sr-only", tabindex: "-1", onchange: read });
  const add = button("Add a term", () => addRow().querySelector("input").focus());
  const open = button("Open a file", () => file.click());
  const save = button("Save as a file", download);
  const clear = button("Remove all", () => replace([]));
  const foot = el("div", { class: "fold-foot" }, add, open, save, clear, file);
  root.replaceChildren(title, rows, foot);

  /** Shows the terms of a direction; `title` says which, or why there can be none (then `terms` is null). */
  function show(said, terms) {
    title.textContent = said;
    rows.hidden = foot.hidden = terms === null;
    if (terms !== null && writtenTerms(terms) !== writtenTerms(current())) fill(terms);
    showButtons();
  }

  function fill(terms) {
    rows.replaceChildren(...terms.map(row));
    if (terms.length === 0) addRow();
  }

  function replace(terms) {
    fill(terms);
    changed();
  }

  function changed() {
    showButtons();
    onChange(current());
  }

  function showButtons() {
    save.hidden = clear.hidden = current().length === 0;
    if (rows.children.length === 0) addRow();
  }

  function addRow() {
    rows.append(row({ source: "", target: "", soft: false }));
    return rows.lastElementChild;
  }

  function row({ source, target, soft }) {
    const text = { type: "text", maxlength: "200", dir: "auto", autocomplete: "off", oninput: changed };
    const input = (name, value) =>
      el("input", { ...text, class: name, value, "aria-label": NAMES[name], placeholder: NAMES[name] });
    const inflected = el("input", { type: "checkbox", class: "soft", onchange: changed, checked: soft });
    const title = "The model may inflect the translation";
    const label = el("label", { class: "check", title }, inflected, "may be inflected");
    const node = el("div", { class: "term" }, input("source", source), input("target", target), label);
    node.append(iconButton("Remove this term", "clear", () => (node.remove(), changed())));
    return node;
  }

  function current() {
    return [...rows.children]
      .map((node) => ({
        source: node.querySelector(".source").value.trim(),
        target: node.querySelector(".target").value.trim(),
        soft: node.querySelector(".soft").checked,
      }))
      .filter((term) => term.source && term.target);
  }

  async function read() {
    const [chosen] = file.files;
    if (!chosen) return;
    const terms = parseTerms(await chosen.text(), { csv: /\.csv$/i.test(chosen.name) });
    file.value = "";
    replace([...current(), ...terms]);
  }

  function download() {
    const content = new Blob([`${writtenTerms(current())}\n`], { type: "text/tab-separated-values" });
    const address = URL.createObjectURL(content);
    el("a", { href: address, download: "terms.tsv" }).click();
    URL.revokeObjectURL(address);
  }

  return { show };
}

const NAMES = { source: "Term", target: "Its translation" };

const button = (name, onclick) => el("button", { type: "button", class: "button", onclick }, name);
