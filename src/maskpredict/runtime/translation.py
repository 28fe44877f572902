"""Translations, and joining those of a long line's pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from maskpredict.decoding.trace import Trace
from maskpredict.runtime.word_alignment import WordAlignment


@dataclass(frozen=True)
class Translation:
    """One translated line."""

    text: str
    """The translation."""
    tokens: list[str]
    """Every target position as a subword, the end mark included; what follows an end mark is not in `text`."""
    score: float
    """Higher is better; 0 for an empty line."""
    log_probs: list[float]
    """Log-probability of each token."""
    passes: int
    """Decoder passes."""
    lengths: tuple[int, ...] = ()
    """Target lengths that were tried, likeliest first, the end mark counted."""
    hypotheses: tuple[Translation, ...] = ()
    """This translation and the next best ones, when more than one was asked for."""
    trace: Trace | None = None
    """Every pass, when asked for."""
    alignment: WordAlignment | None = None
    """Dependence of its subwords on the words of the source, when asked for."""
    parts: tuple[Translation, ...] = ()
    """The translations of its pieces, with their traces, for a line that was too long for the model."""

    def to_dict(self) -> dict[str, Any]:
        """Return the translation for JSON, without empty fields and the trace (see `Trace.to_dict`)."""
        record: dict[str, Any] = {
            "text": self.text,
            "score": self.score,
            "tokens": self.tokens,
            "log_probs": self.log_probs,
            "passes": self.passes,
        }
        if self.lengths:
            record["lengths"] = list(self.lengths)
        if self.hypotheses:
            record["hypotheses"] = [hypothesis.to_dict() for hypothesis in self.hypotheses]
        if self.parts:
            record["parts"] = [part.to_dict() for part in self.parts]
        return record


EMPTY = Translation(text="", tokens=[], score=0.0, log_probs=[], passes=0)
"""The translation of a line without text."""


def joined(parts: Sequence[Translation]) -> Translation:
    """Return one translation of a line from those of its pieces; the score is the mean over all positions."""
    if not parts:
        return EMPTY
    if len(parts) == 1:
        return parts[0]
    ranks = min(len(part.hypotheses) for part in parts)
    return Translation(
        text=" ".join(part.text for part in parts if part.text),
        tokens=[token for part in parts for token in part.tokens],
        score=sum(part.score * len(part.tokens) for part in parts) / max(1, sum(len(part.tokens) for part in parts)),
        log_probs=[value for part in parts for value in part.log_probs],
        passes=sum(part.passes for part in parts),
        hypotheses=tuple(joined([part.hypotheses[rank] for part in parts]) for rank in range(ranks)),
        parts=tuple(parts),
    )


def assembled(parts: Sequence[str | Translation]) -> Translation:
    """Return one translation from those of a line's parts and the text between them, which is kept."""
    translations = [part for part in parts if isinstance(part, Translation)]
    if not any(isinstance(part, str) and part for part in parts) and len(translations) == 1:
        return translations[0]
    whole = joined(translations)
    text = "".join(part if isinstance(part, str) else part.text for part in parts)
    hypotheses = tuple(
        replace(hypothesis, text=_text_of_rank(parts, rank)) for rank, hypothesis in enumerate(whole.hypotheses)
    )
    return replace(whole, text=text, hypotheses=hypotheses)


def _text_of_rank(parts: Sequence[str | Translation], rank: int) -> str:
    return "".join(part if isinstance(part, str) else part.hypotheses[rank].text for part in parts)
