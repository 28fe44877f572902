"""Length candidates that are given up after the first pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maskpredict import Translator, UserError

FOUR_PASSES: dict[str, Any] = {"iterations": 4, "length_candidates": 5}


@pytest.fixture(scope="module")
def cmlm(cmlm_folder: Path) -> Translator:
    return Translator(cmlm_folder, device="cpu")


def test_the_most_confident_candidates_go_on_and_the_others_stop(cmlm: Translator, sentences: list[str]) -> None:
    after_one = cmlm.translate(sentences, iterations=1, length_candidates=5, trace=True)
    pruned = cmlm.translate(sentences, **FOUR_PASSES, prune_candidates=2, trace=True)
    for one, translation in zip(after_one, pruned, strict=True):
        assert one.trace is not None
        assert translation.trace is not None
        scores = [candidate.score for candidate in one.trace.candidates]
        best = sorted(range(len(scores)), key=lambda place: -scores[place])[:2]
        passes = [len(candidate.passes) for candidate in translation.trace.candidates]
        assert passes == [4 if place in best else 1 for place in range(len(passes))]
        assert translation.trace.chosen in best


def test_a_candidate_that_goes_on_is_decoded_as_without_pruning(cmlm: Translator, sentences: list[str]) -> None:
    full = cmlm.translate(sentences, **FOUR_PASSES, trace=True)
    pruned = cmlm.translate(sentences, **FOUR_PASSES, prune_candidates=3, trace=True)
    for one, other in zip(full, pruned, strict=True):
        assert one.trace is not None
        assert other.trace is not None
        for whole, cut in zip(one.trace.candidates, other.trace.candidates, strict=True):
            assert whole.passes[: len(cut.passes)] == cut.passes


@pytest.mark.parametrize("settings", [{}, {"strategy": "easy_first"}, {"threshold": 0.6}, {"stop_when_stable": True}])
def test_keeping_all_candidates_changes_nothing(
    cmlm: Translator, sentences: list[str], settings: dict[str, Any]
) -> None:
    settings = {**FOUR_PASSES, **settings, "num_hypotheses": 2, "trace": True}
    assert cmlm.translate(sentences[:20], prune_candidates=5, **settings) == cmlm.translate(sentences[:20], **settings)


def test_a_single_pass_has_nothing_to_prune(cmlm: Translator, sentences: list[str]) -> None:
    settings: dict[str, Any] = {"iterations": 1, "length_candidates": 4}
    pruned = cmlm.translate(sentences[:20], prune_candidates=1, **settings)
    assert pruned == cmlm.translate(sentences[:20], **settings)


@pytest.mark.parametrize("settings", [{"prune_candidates": 0}, {"prune_candidates": 2, "num_hypotheses": 3}])
def test_pruning_leaves_what_is_asked_for(cmlm: Translator, settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="use 1 or more, and no fewer than num_hypotheses"):
        cmlm.translate(["luri."], **settings)
