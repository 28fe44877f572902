// The two language lists and the swap between them.

import { el } from "./dom.js";

/** What may be translated into, from a source code or from "auto". */
export function targetsOf(languages, source) {
  const served = source === "auto" ? languages : languages.filter(({ code }) => code === source);
  return [...new Set(served.flatMap(({ targets }) => targets))].filter((code) => code !== source);
}

/** The name of a language, or its code where the server does not say. */
export function nameOf(languages, code) {
  return languages.find((language) => language.code === code)?.name ?? code;
}

/** The language from which alone a target can be translated into, or null. */
export function onlySource(languages, target) {
  const sources = languages.filter(({ targets }) => targets.includes(target));
  return sources.length === 1 ? sources[0].code : null;
}

/** The pair of languages the other way round, or null when the server cannot do that. */
export function swapped(languages, { source, target }, detected) {
  const back = targetsOf(languages, target);
  const wanted = source === "auto" ? (detected ?? back[0]) : source;
  return back.includes(wanted) ? { source: target, target: wanted } : null;
}

/** The state with languages that the server has. */
export function possible(languages, state) {
  const sources = languages.filter(({ targets }) => targets.length > 0).map(({ code }) => code);
  const source = sources.includes(state.source) ? state.source : "auto";
  const targets = targetsOf(languages, source);
  const target = targets.includes(state.target) ? state.target : (targets[0] ?? "");
  return { ...state, source, target };
}

/** Fills the two lists for a state. A detected language is named in the entry for detection. */
export function renderLanguages({ sourceList, targetList }, languages, state, detected) {
  const sources = languages.filter(({ targets }) => targets.length > 0).map(({ code }) => code);
  const auto = detected ? `${nameOf(languages, detected)} (auto)` : "Detect language";
  fill(sourceList, [["auto", auto], ...sources.map((code) => [code, nameOf(languages, code)])], state.source);
  fill(targetList, targetsOf(languages, state.source).map((code) => [code, nameOf(languages, code)]), state.target);
}

function fill(list, entries, value) {
  list.replaceChildren(...entries.map(([code, name]) => el("option", { value: code }, name)));
  list.value = value;
}
