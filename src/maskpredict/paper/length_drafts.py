"""Translations with few length candidates, taken from one run that kept the drafts of many.

The drafts of a sentence's lengths do not depend on each other (section 3.3 of the paper). So a run with nine lengths
that keeps every draft also has the translations with one to eight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.paper.exact_decoding import RECOMMENDATIONS
from maskpredict.runtime.translation import Translation

MOST_CANDIDATES = 9
"""Largest number of length candidates in the paper."""
_DEFAULTS = {setting.name: setting.default for setting in fields(MaskPredictSettings)}


def have_free_drafts(settings: Mapping[str, Any]) -> bool:
    """True for the paper's decoding, T passes with l length candidates, where one draft does not affect another."""
    named = {"iterations", "length_candidates"}
    others = {name: value for name, value in settings.items() if name not in named}
    return named <= settings.keys() and all(
        name in RECOMMENDATIONS and value == _DEFAULTS[name] for name, value in others.items()
    )


def with_all_drafts(settings: Mapping[str, Any], candidates: int) -> dict[str, Any]:
    """Settings that try so many lengths and keep the draft of each."""
    kept = {"num_hypotheses": candidates} if candidates > 1 else {}
    return {**settings, "length_candidates": candidates, **kept}


def with_fewer_lengths(translation: Translation, candidates: int, tried: int) -> Translation | None:
    """Translation with the likeliest `candidates` of `tried` lengths; None if not all drafts are known.

    Drafts are missing where a long line was translated in pieces, and where several predicted lengths were clipped to
    the same one.
    """
    if len(translation.lengths) != tried:
        return None
    lengths = translation.lengths[:candidates]
    drafts = translation.hypotheses or (translation,)  # the best first
    best = next(draft for draft in drafts if len(draft.tokens) in lengths)
    return replace(best, lengths=lengths, hypotheses=())
