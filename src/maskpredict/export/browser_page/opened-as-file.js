// Browsers refuse to load modules of a page that was opened by a double click. A classic script, which they do load, can
// say what to do instead.
addEventListener("DOMContentLoaded", () => {
  document.getElementById("as-file").hidden = location.protocol !== "file:";
});
