// A document that is dropped on the page: sent to the server, and its translation offered for download.

import { addressOf, upload } from "./api.js";
import { el } from "./dom.js";
import { sentenceFor } from "./status.js";

/** Takes documents dropped anywhere on the page; `pair()` gives the languages, `root` is where the result is shown. */
export function installDocuments(root, pair) {
  let cancel = null;

  const show = (...parts) => root.replaceChildren(el("p", { class: "document" }, ...parts));

  async function translate(file) {
    cancel?.abort();
    const own = (cancel = new AbortController());
    const stop = el("button", { type: "button", class: "button", onclick: () => own.abort() }, "Cancel");
    show(el("span", {}, `Translating ${file.name}`), stop);
    const form = new FormData();
    form.append("file", file);
    for (const [name, value] of Object.entries(pair())) form.append(name, value);
    try {
      const answer = await upload("translate_file", form, own.signal);
      // The page may know the server under another name than the server itself does.
      const name = new URL(answer.translatedFileUrl).pathname.split("/").pop();
      const link = el("a", { href: addressOf(`download_file/${name}`), download: file.name }, file.name);
      show(el("span", {}, "Translated: "), link);
    } catch (error) {
      if (own !== cancel) return; // another document has taken its place
      if (error.name === "AbortError") root.replaceChildren();
      else show(el("span", {}, `${file.name}: ${sentenceFor(error)}`));
    }
  }

  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) translate(file);
  });
}
