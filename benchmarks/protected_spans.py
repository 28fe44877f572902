"""Shares of placeholders, addresses, numbers and the like that survive translation, and what protecting them costs.

    python benchmarks/protected_spans.py RESULTS.json MODEL... --sentences test.de test.en

Translates the 300 cases of `cases/protected_spans.tsv`, 150 in each language, with each model. The marks ⟦ ⟧ stand
around what must survive; numbers must become those of the other column. A case is intact if all its spans
are there, in any order, with capitals if it was in capitals, and with a mark at the end only if it had one. `raw` rows
are without protection.

The sentences, aligned, of the source and target language of the first model, give BLEU and time with and without
protection, and BLEU of those that end in a full stop if it is taken away.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import sacrebleu

from maskpredict import Translator
from maskpredict.corpus.reading import read_lines

CASES = Path(__file__).parent / "cases" / "protected_spans.tsv"
LANGUAGES = ("de", "en")
RUNS, TIMED = 3, 100
"""Times that the first `TIMED` sentences are translated in each way, in turns."""
_MARKED = re.compile("⟦(.*?)⟧")
_NUMBER = re.compile(r"\d[\d.,]*(?: \S{1,4})?")
_ENDED = re.compile(r"[.!?…:][^\w\s]*$")


@dataclass(frozen=True)
class Case:
    """A source, and what its translation must contain."""

    kind: str
    source: str
    spans: tuple[str, ...]

    def kept(self, translation: str) -> int:
        """Return how many of the spans are in a translation."""
        left = translation
        for span in sorted(self.spans, key=len, reverse=True):
            left = left.replace(span, "\0", 1)
        return left.count("\0")

    def is_intact(self, translation: str) -> bool:
        """Return True if a translation has all spans, and the capitals and the ending of its source."""
        capitals = translation.isupper() or not self.source.isupper()
        ending = bool(_ENDED.search(self.source)) or not translation.endswith(".")
        return self.kept(translation) == len(self.spans) and capitals and ending and "⁇" not in translation


def read_cases(source: str) -> list[Case]:
    """Return the cases in one language. Spans stay as they are, but numbers become those of the other language."""
    rows = [line.split("\t") for line in CASES.read_text(encoding="utf-8").splitlines()]
    cases = []
    for kind, *texts in rows:
        own, other = texts if source == LANGUAGES[0] else reversed(texts)
        pairs = zip(_MARKED.findall(own), _MARKED.findall(other), strict=True)
        wanted = tuple(theirs if _NUMBER.fullmatch(ours) else ours for ours, theirs in pairs)
        cases.append(Case(kind, _MARKED.sub(r"\1", own), wanted))
    return cases


def measure(translator: Translator, *, raw: bool) -> dict[str, Any]:
    """Translate all cases and count."""
    cases = read_cases(translator.languages.source)
    texts = [one.text for one in translator.translate([case.source for case in cases], raw=raw)]
    spans, kept = Counter[str](), Counter[str]()
    for case, text in zip(cases, texts, strict=True):
        spans[case.kind] += len(case.spans)
        kept[case.kind] += case.kept(text)
    broken = [
        {"source": case.source, "translation": text}
        for case, text in zip(cases, texts, strict=True)
        if not case.is_intact(text)
    ]
    return {
        "cases": len(cases),
        "intact_share": round(1 - len(broken) / len(cases), 4),
        "spans": spans.total(),
        "kept_share": round(kept.total() / spans.total(), 4),
        "kept_share_by_kind": {kind: round(kept[kind] / spans[kind], 4) for kind in spans if spans[kind]},
        "broken": broken,
    }


def measure_sentences(translator: Translator, sources: list[str], targets: list[str]) -> dict[str, Any]:
    """Return BLEU, equal translations and time of plain sentences, protected and raw."""
    protected, raw = (translations(translator, sources, raw=raw) for raw in (False, True))
    ended = [pair for pair in zip(sources, targets, strict=True) if pair[0].endswith(".") and pair[1].endswith(".")]
    unended = [source[:-1] for source, _ in ended]
    references = [target[:-1] for _, target in ended]
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(RUNS):
        for is_raw in (True, False):
            start = time.perf_counter()
            translations(translator, sources[:TIMED], raw=is_raw)
            seconds[is_raw].append(time.perf_counter() - start)
    return {
        "sentences": len(sources),
        "bleu": {"protected": bleu(protected, targets), "raw": bleu(raw, targets)},
        "equal_share": round(sum(map(str.__eq__, protected, raw)) / len(raw), 4),
        "time_ratio": round(median(seconds[False]) / median(seconds[True]), 3),
        "without_full_stop": {
            "sentences": len(unended),
            "bleu": {
                "protected": bleu(translations(translator, unended, raw=False), references),
                "raw": bleu(translations(translator, unended, raw=True), references),
            },
        },
    }


def translations(translator: Translator, sources: list[str], *, raw: bool) -> list[str]:
    """Return the texts of translations."""
    return [one.text for one in translator.translate(sources, raw=raw)]


def bleu(outputs: list[str], references: list[str]) -> float:
    """Return BLEU."""
    return round(sacrebleu.corpus_bleu(outputs, [references]).score, 2)


def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--sentences", nargs=2, type=Path, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--limit", type=int, default=200, help="number of sentences")
    arguments = parser.parse_args()
    document: dict[str, Any] = {"models": {}}
    for model in arguments.models:
        translator = Translator(model)
        document["models"][model] = {
            "protected": measure(translator, raw=False),
            "raw": {**measure(translator, raw=True), "broken": None},
        }
        print(model, document["models"][model]["protected"]["kept_share"], flush=True)
    if arguments.sentences:
        first = Translator(arguments.models[0])
        sources, targets = (list(read_lines(path))[: arguments.limit] for path in arguments.sentences)
        document["sentences"] = {"model": arguments.models[0], **measure_sentences(first, sources, targets)}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    arguments.results.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
