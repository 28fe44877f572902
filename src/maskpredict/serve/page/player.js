// Plays how a sentence was formed. Knows a candidate's passes and nothing else: where they were computed, in a server
// or in this browser, is not its business.
//
//   const player = createPlayer(element, { onWord(place, button) {} });
//   player.show(trace.candidates[trace.chosen].passes);

import { el, icon, iconButton } from "./dom.js";
import { describeFrame, frameAt, frameCount, frameTime } from "./frames.js";
import { createLegend } from "./legend.js";
import { installRoving, renderMarks, renderRow } from "./rows.js";
import { FREE } from "./steering.js";

const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

/** A player inside `root`; `onWord` is called when a word of the last row is clicked. */
export function createPlayer(root, { onWord = () => {} } = {}) {
  let passes = [];
  let frame = 0;
  let timer = null;

  const playButton = el("button", { type: "button", class: "button play", onclick: () => toggle() });
  const backButton = iconButton("One step back", "back", () => step(-1));
  const forwardButton = iconButton("One step forward", "forward", () => step(1));
  const slider = el("input", { type: "range", class: "slider", min: "0", step: "1", "aria-label": "Pass" });
  const label = el("span", { class: "frame-label", "aria-hidden": "true" }); // the slider says the same
  const controls = el("div", { class: "controls" }, backButton, playButton, forwardButton, slider, label);
  const rows = el("ol", { class: "rows", tabindex: "0", "aria-label": "Passes; arrow keys step, the space bar plays" });
  const spoken = el("p", { class: "sr-only", role: "status" });
  const legend = createLegend();
  const aside = el("div", { class: "aside" }); // room for what an owner of the player has to say below the last row
  const stage = [controls, rows, aside, legend.element, spoken];

  slider.addEventListener("input", () => {
    pause();
    go(Number(slider.value));
  });
  root.addEventListener("keydown", onKey);
  rows.addEventListener("pointerover", (event) => point(event.target.closest?.(".token")));
  rows.addEventListener("pointerleave", () => point(null));
  rows.addEventListener("focusin", (event) => point(event.target.closest(".token")));
  rows.addEventListener("focusout", () => point(null));
  rows.addEventListener("click", (event) => {
    const button = event.target.closest("button.token");
    if (button) onWord(Number(button.dataset.place), button);
  });

  function last() {
    return frameCount(passes) - 1;
  }

  /** Shows other passes: finished, or from the start if `play` (unless the person wants no motion). */
  function show(newPasses, { marks = FREE, pinned = FREE, play = false } = {}) {
    pause();
    passes = newPasses;
    if (!rows.isConnected) root.replaceChildren(...stage);
    rows.replaceChildren(
      ...passes.map((_, index) => renderRow(passes, index, { last: index === passes.length - 1 })),
    );
    installRoving(rows.lastElementChild);
    showMarks(marks, pinned);
    slider.max = String(last());
    const moving = play && !calm.matches;
    go(moving ? 0 : last());
    if (moving) start();
  }

  /** Shows nothing but a sentence. */
  function rest(sentence) {
    pause();
    const ghosts = el("div", { class: "line", "aria-hidden": "true" }, ...[5, 9, 4, 7, 11, 3].map(ghost));
    root.replaceChildren(el("div", { class: "resting" }, ghosts, el("p", {}, sentence)));
  }

  /** Shows what is marked in the last row, and which of its words were pinned when it was formed. */
  function showMarks(marks, pinned = FREE) {
    renderMarks(rows.lastElementChild, passes.at(-1), marks, pinned);
  }

  function go(to) {
    frame = Math.max(0, Math.min(last(), to));
    const { pass, masked } = frameAt(frame);
    [...rows.children].forEach((row, index) => {
      row.classList.toggle("later", index > pass);
      row.classList.toggle("current", index === pass);
      row.classList.toggle("masked", index > pass || (index === pass && masked));
    });
    root.classList.toggle("finished", frame === last());
    slider.value = String(frame);
    slider.style.setProperty("--done", `${(100 * frame) / last()}%`);
    const description = describeFrame(passes, frame);
    slider.setAttribute("aria-valuetext", description);
    label.textContent = description;
    backButton.disabled = frame === 0;
    forwardButton.disabled = frame === last();
    showPlayButton();
  }

  /** One frame on, said aloud. */
  function step(by) {
    pause();
    go(frame + by);
    spoken.textContent = describeFrame(passes, frame);
  }

  function start() {
    if (frame === last()) go(0);
    timer = setInterval(() => {
      go(frame + 1);
      if (frame === last()) pause();
    }, frameTime(passes));
    showPlayButton();
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    showPlayButton();
  }

  function toggle() {
    if (timer) pause();
    else start();
  }

  function showPlayButton() {
    playButton.replaceChildren(icon(timer ? "pause" : "play"), timer ? "Pause" : "Play");
  }

  function onKey(event) {
    // The slider and the words have arrow keys of their own, and a button its own space bar.
    if (event.target.matches("input, .token") || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      ArrowRight: () => step(1),
      ArrowLeft: () => step(-1),
      Home: () => step(-frame),
      End: () => step(last() - frame),
      " ": event.target === rows ? toggle : null,
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  /** Marks one position in all rows, so that the eye can follow it through the passes. */
  function point(token) {
    const place = token?.dataset.place;
    for (const each of rows.querySelectorAll(".token")) {
      each.classList.toggle("same-place", each.dataset.place === place);
    }
    const row = token ? [...rows.children].indexOf(token.closest(".row")) : -1;
    legend.tell(row < 0 ? null : { passes, row, place: Number(place) });
  }

  return { show, rest, showMarks, aside, focus: () => rows.focus() };
}

function ghost(width) {
  const node = el("span", { class: "ghost" });
  node.style.width = `${width}ch`;
  return node;
}
