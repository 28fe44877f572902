"""Counts single words and headings that are translated rightly, by `translate` and by the model alone.

    python benchmarks/headings.py benchmarks/results/headings.json de-en-shallow de-en en-de de-en-ar

`cases/headings.tsv` has the language, the set (what the rules were chosen on, or tested on), the source, and all
translations that count as right; capitals, a full stop and an article in front make no difference.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from maskpredict import Translator

CASES = Path(__file__).parent / "cases" / "headings.tsv"
KINDS = {"translate": ("", False), "raw": ("", True), "raw_with_full_stop": (".", True)}
_ARTICLE = re.compile(r"^(the|an?|der|die|das) ")


def measure(model: str) -> list[dict[str, Any]]:
    """Translate the cases in the model's source language, and count."""
    translator = Translator(model)
    rows = [line.split("\t") for line in CASES.read_text(encoding="utf-8").splitlines()]
    results = []
    for name in dict.fromkeys(name for language, name, *_ in rows if language == translator.languages.source):
        cases = [row[2:] for row in rows if row[:2] == [translator.languages.source, name]]
        result: dict[str, Any] = {"model": model, "set": name, "cases": len(cases)}
        for kind, (mark, raw) in KINDS.items():
            texts = [one.text for one in translator.translate([source + mark for source, _ in cases], raw=raw)]
            wrong = {
                source: text
                for (source, right), text in zip(cases, texts, strict=True)
                if _plain(text) not in {_plain(one) for one in right.split("|")}
            }
            result[kind] = {"right": len(cases) - len(wrong), "wrong": wrong}
        results.append(result)
    return results


def _plain(text: str) -> str:
    return _ARTICLE.sub("", text.strip(" .!?:").casefold())


def main(output: Path, *models: str) -> None:
    """Measure some models."""
    results = [result for model in models for result in measure(model)]
    for result in results:
        print(result["model"], result["set"], result["cases"], *(result[kind]["right"] for kind in KINDS))
    output.write_text(json.dumps({"results": results}, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
