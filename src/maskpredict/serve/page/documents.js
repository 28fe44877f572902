// A document that is dropped on the page or chosen: sent to the server, and its translation offered for download.

import { addressOf, stream } from "./api.js";
import { el } from "./dom.js";
import { sentenceFor } from "./status.js";

const SHOWN = 4; // sentences of the preview

/**
 * Takes documents dropped anywhere on the page; `root` is where the result is shown, `fields()` gives the languages and
 * whatever else goes with a document. Returns a function that takes a file.
 */
export function installDocuments(root, fields) {
  let cancel = null;

  async function translate(file) {
    cancel?.abort();
    const own = (cancel = new AbortController());
    const view = createView(file.name, () => own.abort());
    root.replaceChildren(view.element);
    const form = new FormData();
    form.append("file", file);
    for (const [name, value] of Object.entries(fields())) form.append(name, value);
    try {
      for await (const { name, data } of stream("v1/documents", form, own.signal)) {
        if (name === "progress") view.progress(data);
        if (name === "done") view.done(data.translatedFileUrl);
      }
    } catch (error) {
      if (own !== cancel) return; // another document has taken its place
      if (error.name === "AbortError") root.replaceChildren();
      else view.fail(sentenceFor(error));
    }
  }

  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (on) => document.body.classList.toggle("dropping", on);
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(true);
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && mark(false));
  addEventListener("drop", (event) => {
    mark(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) translate(file);
  });
  return translate;
}

/** What is shown of one document: its name, how far it is, its first sentences, and in the end where it is. */
function createView(name, onCancel) {
  const said = el("p", { class: "document-said", role: "status" }, `Translating ${name}`);
  const count = el("span", { class: "note", "aria-hidden": "true" });
  const stop = el("button", { type: "button", class: "button", onclick: onCancel }, "Cancel");
  const bar = el("progress", { "aria-label": "Translated sentences" });
  const preview = el("dl", { class: "preview", "aria-label": "The first sentences" });
  const head = el("div", { class: "document-head" }, said, count, stop);
  const finish = (...words) => {
    said.replaceChildren(...words);
    stop.remove();
    bar.remove();
  };
  return {
    element: el("section", { class: "card document", "aria-label": "Document" }, head, bar, preview),
    progress({ sentences, done, translated }) {
      bar.max = Math.max(1, sentences);
      bar.value = done;
      count.textContent = `${done} of ${sentences} sentences`;
      for (const { source, text } of translated) {
        if (preview.children.length >= 2 * SHOWN) break;
        preview.append(el("dt", { dir: "auto" }, source), el("dd", { dir: "auto" }, text));
      }
    },
    done(address) {
      // The page may know the server under another name than the server itself does.
      const stored = new URL(address).pathname.split("/").pop();
      finish("Translated: ", el("a", { href: addressOf(`download_file/${stored}`), download: name }, name));
    },
    fail(sentence) {
      finish(`${name}: ${sentence}`);
      count.remove();
    },
  };
}
