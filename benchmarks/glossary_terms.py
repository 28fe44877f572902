"""The share of a glossary's terms that translations have, and what the terms cost the rest of the sentences.

    python benchmarks/glossary_terms.py RESULTS.json MODEL...

Translates the 200 sentences of `cases/glossary_sentences.txt` from German without a glossary, with the 24 terms of
`cases/glossary_terms.tsv`, and with the same terms as pins, which have no place in the source. The terms are not the
words that the models would choose. chrF and BLEU compare a translation with that without a glossary in which the
model's own words for the terms are left as they are, so they cannot reach 100.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import sacrebleu

from maskpredict import Translator
from maskpredict.runtime.glossary.reading import read_glossary

CASES = Path(__file__).parent / "cases"


def measure(translator: Translator, sentences: list[str]) -> dict[str, Any]:
    """Translate in all three ways and compare."""
    glossary = read_glossary(CASES / "glossary_terms.tsv", translator.languages)
    terms = [[match.term.target for match in glossary.find(sentence)] for sentence in sentences]
    start = time.perf_counter()
    plain = [one.text for one in translator.translate(sentences)]
    plain_seconds, start = time.perf_counter() - start, time.perf_counter()
    with_glossary = [one.text for one in translator.translate(sentences, glossary=glossary)]
    glossary_seconds = time.perf_counter() - start
    pinned = [one.text for one in translator.translate(sentences, pins=terms)]
    return {
        "sentences": len(sentences),
        "occurrences": sum(map(len, terms)),
        "without": {"share": share(terms, plain)},
        "glossary": {"share": share(terms, with_glossary), **similarity(with_glossary, plain)},
        "pins": {"share": share(terms, pinned), **similarity(pinned, plain)},
        "time_ratio": round(glossary_seconds / plain_seconds, 2),
    }


def share(terms: list[list[str]], translations: list[str]) -> float:
    """Return the share of terms that are in their translations."""
    found = [term.lower() in text.lower() for own, text in zip(terms, translations, strict=True) for term in own]
    return round(sum(found) / len(found), 4)


def similarity(translations: list[str], plain: list[str]) -> dict[str, float]:
    """Return chrF and BLEU against other translations."""
    chrf = sacrebleu.corpus_chrf(translations, [plain]).score
    return {"chrf": round(chrf, 1), "bleu": round(sacrebleu.corpus_bleu(translations, [plain]).score, 1)}


def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("models", nargs="+")
    arguments = parser.parse_args()
    sentences = (CASES / "glossary_sentences.txt").read_text(encoding="utf-8").splitlines()
    models = {model: measure(Translator(model), sentences) for model in arguments.models}
    text = json.dumps({"models": models}, indent=1, ensure_ascii=False)
    arguments.results.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
