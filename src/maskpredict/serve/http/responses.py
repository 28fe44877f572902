"""Translations as the JSON that `schemas` describes."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from maskpredict.decoding.trace import Pass, Trace
from maskpredict.runtime.translation import Translation
from maskpredict.serve.queue.texts import TranslatedText
from maskpredict.serve.text.detection import Detected

MOST_CELLS = 100_000
"""Predicted tokens in all the traces of an answer, some megabytes; sentences beyond that come without."""


def detected_answer(detected: Detected) -> dict[str, Any]:
    """A language and how likely it is."""
    return asdict(detected)


def translate_answer(
    translated: TranslatedText, seconds: float, *, traced: bool, alternatives: int = 0
) -> dict[str, Any]:
    """A translated text, sentence by sentence."""
    answer: dict[str, Any] = {"translatedText": translated.text}
    if translated.opened.detected is not None:
        answer["detectedLanguage"] = detected_answer(translated.opened.detected)
    answer["sentences"] = _sentences(translated, traced, alternatives)
    answer["seconds"] = round(seconds, 4)
    return answer


def sentence_answer(source: str, translation: Translation, *, traced: bool, alternatives: int = 0) -> dict[str, Any]:
    """One sentence."""
    others = {other.text: other.score for other in reversed(translation.hypotheses) if other.text != translation.text}
    ranked = sorted(others.items(), key=lambda other: -other[1])
    return {
        "source": source,
        "text": translation.text,
        "score": translation.score,
        "tokens": translation.tokens,
        "confidences": [_short(math.exp(value)) for value in translation.log_probs],
        "passes": translation.passes,
        "lengths": list(translation.lengths),
        "alternatives": [{"text": text, "score": score} for text, score in ranked[:alternatives]],
        "trace": trace_answer(translation.trace) if traced and translation.trace else None,
    }


def trace_answer(trace: Trace) -> dict[str, Any]:
    """Every pass of every candidate."""
    return {
        "chosen": trace.chosen,
        "candidates": [
            {
                "length": candidate.length,
                "score": candidate.score,
                "passes": [pass_answer(one) for one in candidate.passes],
            }
            for candidate in trace.candidates
        ],
    }


def _sentences(translated: TranslatedText, traced: bool, alternatives: int) -> list[dict[str, Any]]:
    answers, cells = [], 0
    for source, translation in zip(translated.opened.document.sentences, translated.translations, strict=True):
        cells += _cells(translation.trace)
        small = cells <= MOST_CELLS
        answers.append(sentence_answer(source, translation, traced=traced and small, alternatives=alternatives))
    return answers


def pass_answer(one: Pass) -> dict[str, Any]:
    """The target after one pass."""
    return {
        "masked": one.masked,
        "tokens": one.tokens,
        "probabilities": [_short(value) for value in one.probabilities],
    }


def _cells(trace: Trace | None) -> int:
    return sum(one.length * len(one.passes) for one in trace.candidates) if trace else 0


def _short(probability: float) -> float:
    return round(probability, 4)
