"""Measures how many tags inside sentences come back around the right words: `inline_tags.tsv` has the sentences.

python benchmarks/inline_tags.py benchmarks/results/inline-tags.json
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

from maskpredict import Translator
from maskpredict.documents.block import Item, Sentence, Tag, TagKind, Text
from maskpredict.documents.projection import place_tags
from maskpredict.runtime.lines import Line

CASES = Path(__file__).with_name("inline_tags.tsv")
MODELS = {"de-en": "de", "de-en-shallow": "de", "de-en-ar": "de", "en-de": "en", "en-de-ar": "en"}


@dataclass(frozen=True)
class Case:
    """A sentence with tags, and the words of its translation that each may be around."""

    language: str
    set: str
    """development or test."""
    sentence: Sentence
    accepted: tuple[frozenset[str], ...]
    """By the number of the tag; for a point the word in front of it."""


def read_cases() -> list[Case]:
    """Read the test set."""
    rows = [line.split("\t") for line in CASES.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    return [
        Case(
            language,
            name,
            _sentence(marked),
            tuple(frozenset(map(_plain, one.split("|"))) for one in accepted.split(";")),
        )
        for language, name, marked, accepted in rows
    ]


def _sentence(marked: str) -> Sentence:
    items: list[Item] = []
    open_numbers: list[int] = []
    count = 0
    for part in re.split(r"(\[\]|\[|\])", marked):
        if part == "[]":
            items.append(Tag(TagKind.POINT, count))
            count += 1
        elif part == "[":
            items.append(Tag(TagKind.OPEN, count, pair=count))
            open_numbers.append(count)
            count += 1
        elif part == "]":
            number = open_numbers.pop()
            items.append(Tag(TagKind.CLOSE, number, pair=number))
        elif part:
            items.append(Text(part))
    return Sentence(tuple(items))


def judge(case: Case, items: list[Item]) -> tuple[list[bool], bool]:
    """Return whether each tag is around accepted words, and whether all are there once and well nested."""
    text, open_at, around = "", dict[int, int](), dict[int, str]()
    stack: list[int] = []
    sound = True
    for item in items:
        if isinstance(item, Text):
            text += item.text
        elif item.kind is TagKind.POINT:
            around[item.source] = (text.split() or [""])[-1]
        elif item.kind is TagKind.OPEN:
            open_at[item.source] = len(text)
            stack.append(item.source)
        else:
            sound = sound and bool(stack) and stack.pop() == item.source
            around[item.source] = text[open_at.get(item.source, 0) :]
    tags = [item for item in items if isinstance(item, Tag)]
    expected = [item for item in case.sentence.items if isinstance(item, Tag)]
    sound = sound and not stack and sorted(map(repr, tags)) == sorted(map(repr, expected))
    return [_plain(around.get(number, "")) in words for number, words in enumerate(case.accepted)], sound


def _plain(text: str) -> str:
    return text.strip(" .,!?").casefold()


def _spelled(items: list[Item]) -> str:
    marks = {TagKind.OPEN: "[", TagKind.CLOSE: "]", TagKind.POINT: "[]"}
    return "".join(item.text if isinstance(item, Text) else marks[item.kind] for item in items)


def measure(model: str, cases: list[Case], *, aligned: bool) -> dict[str, Any]:
    """Translate the cases with one model and count the tags."""
    translator = Translator(model)
    lines = [Line(case.sentence.text, align=aligned) for case in cases]
    list(translator.translate_lines(lines[:1]))
    start = perf_counter()
    translations = list(translator.translate_lines(lines))
    seconds = perf_counter() - start
    right = total = sound = 0
    wrong = []
    for case, translation in zip(cases, translations, strict=True):
        items = place_tags(case.sentence, translation.text, translation.alignment)
        verdicts, is_sound = judge(case, items)
        right, total, sound = right + sum(verdicts), total + len(verdicts), sound + is_sound
        if not all(verdicts):
            wrong.append({"source": _spelled(list(case.sentence.items)), "translation": _spelled(items)})
    return {
        "model": model,
        "placed_by": "alignment" if aligned else "order",
        "sentences": len(cases),
        "tags": total,
        "right_percent": round(100 * right / total, 1),
        "sound_percent": round(100 * sound / len(cases), 1),
        "milliseconds_per_sentence": round(1_000 * seconds / len(cases), 1),
        "wrong": wrong,
    }


def main(output: Path) -> None:
    """Measure all models, with alignment and by the order of the words alone."""
    cases = read_cases()
    results = []
    for model, language in MODELS.items():
        for name, aligned in product(("development", "test"), (True, False)):
            own = [case for case in cases if (case.language, case.set) == (language, name)]
            results.append({"set": name, **measure(model, own, aligned=aligned)})
            print({key: value for key, value in results[-1].items() if key != "wrong"}, file=sys.stderr)
    output.write_text(json.dumps({"results": results}, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
