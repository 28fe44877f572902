// Terms of a glossary as plain data: `{source, target, soft}`, and as lines of text between tabs.

import { remembered } from "./storage.js";

const SOFT = "soft";

/** Terms from lines of source, target and a note between tabs, or in CSV; lines with fewer cells are left out. */
export function parseTerms(text, { csv = false } = {}) {
  const rows = csv ? csvRows(text) : text.split(/\r?\n/).map((line) => line.split("\t"));
  return rows
    .map((cells) => cells.map((cell) => cell.trim()))
    .filter(([source, target]) => source && target)
    .map(([source, target, ...notes]) => ({ source, target, soft: notes.includes(SOFT) }));
}

/** The terms as lines, which `maskpredict translate --glossary` reads, too. */
export function writtenTerms(terms) {
  return terms.map(({ source, target, soft }) => [source, target, ...(soft ? [SOFT] : [])].join("\t")).join("\n");
}

/** The terms that this browser keeps for a direction. */
export function keptTerms(source, target) {
  return parseTerms(remembered.read(keyOf(source, target)) ?? "");
}

/** Keeps the terms of a direction. */
export function keepTerms(source, target, terms) {
  remembered.write(keyOf(source, target), terms.length > 0 ? writtenTerms(terms) : null);
}

const keyOf = (source, target) => `terms ${source} ${target}`;

function csvRows(text) {
  const rows = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    rows.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end !== ",") rows.push([]);
  }
  return rows;
}
