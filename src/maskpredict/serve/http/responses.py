"""Translations as JSON, in the form that `schemas` describes."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from maskpredict.decoding.trace import Pass, Trace
from maskpredict.runtime.translation import Translation
from maskpredict.serve.queue.detection import Detection
from maskpredict.serve.queue.texts import TranslatedText

MAX_TRACED_TOKENS = 100_000
"""Predicted tokens in all traces of a response, some megabytes; further sentences have no trace."""


def detection_response(detected: Detection) -> dict[str, Any]:
    """Return a detected language as JSON."""
    return asdict(detected)


def translate_response(
    translated: TranslatedText, seconds: float, *, traced: bool, alternatives: int = 0
) -> dict[str, Any]:
    """Return a translated text as JSON, sentence by sentence."""
    response: dict[str, Any] = {"translatedText": translated.text}
    if translated.prepared.detected is not None:
        response["detectedLanguage"] = detection_response(translated.prepared.detected)
    response["sentences"] = _sentences(translated, traced, alternatives)
    response["seconds"] = round(seconds, 4)
    return response


def sentence_response(source: str, translation: Translation, *, traced: bool, alternatives: int = 0) -> dict[str, Any]:
    """Return a translated sentence as JSON."""
    others = {other.text: other.score for other in reversed(translation.hypotheses) if other.text != translation.text}
    ranked = sorted(others.items(), key=lambda other: -other[1])
    return {
        "source": source,
        "text": translation.text,
        "score": translation.score,
        "tokens": translation.tokens,
        "confidences": [_rounded(math.exp(value)) for value in translation.log_probs],
        "passes": translation.passes,
        "lengths": list(translation.lengths),
        "alternatives": [{"text": text, "score": score} for text, score in ranked[:alternatives]],
        "trace": trace_response(translation.trace) if traced and translation.trace else None,
    }


def trace_response(trace: Trace) -> dict[str, Any]:
    """Return every pass of every length candidate as JSON."""
    return {
        "chosen": trace.chosen,
        "candidates": [
            {
                "length": candidate.length,
                "score": candidate.score,
                "passes": [pass_response(one) for one in candidate.passes],
            }
            for candidate in trace.candidates
        ],
    }


def _sentences(translated: TranslatedText, traced: bool, alternatives: int) -> list[dict[str, Any]]:
    responses, traced_tokens = [], 0
    for sentence, translation in zip(translated.prepared.segmented.sentences, translated.translations, strict=True):
        traced_tokens += _count_tokens(translation.trace)
        is_traced = traced and traced_tokens <= MAX_TRACED_TOKENS
        responses.append(sentence_response(sentence.text, translation, traced=is_traced, alternatives=alternatives))
    return responses


def pass_response(one: Pass) -> dict[str, Any]:
    """Return the target after one pass as JSON."""
    return {
        "masked": one.masked,
        "tokens": one.tokens,
        "probabilities": [_rounded(value) for value in one.probabilities],
    }


def _count_tokens(trace: Trace | None) -> int:
    return sum(one.length * len(one.passes) for one in trace.candidates) if trace else 0


def _rounded(probability: float) -> float:
    return round(probability, 4)
