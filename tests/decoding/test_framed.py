"""Decoding with a fixed BOS and end mark, which nobody outside sees."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Pin, Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.systems.base import System

BOS, EOS = 1, 2
REQUESTS = [Request((5, 6, 7, EOS)), Request((9, EOS))]
SETTINGS = MaskPredictSettings(iterations=4, length_candidates=3, suppress_tokens=(0, BOS, EOS, 4), trace=True)


@pytest.fixture
def decoder(make_system: Callable[..., System], decoder_of: Callable[[System], Decoder]) -> Decoder:
    return decoder_of(make_system("fairseq_cmlm"))


def test_a_translation_ends_in_an_end_mark_that_was_never_masked_and_has_no_BOS(decoder: Decoder) -> None:
    for (hypothesis,) in decoder.translate(REQUESTS, SETTINGS):
        assert hypothesis.ids.index(EOS) == len(hypothesis.ids) - 1
        assert BOS not in hypothesis.ids
        assert hypothesis.log_probs[-1] == 0.0
        assert all(log_prob < 0 for log_prob in hypothesis.log_probs[:-1])
        assert hypothesis.score == pytest.approx(sum(hypothesis.log_probs) / (len(hypothesis.ids) - 1))
        assert hypothesis.trace is not None
        assert hypothesis.trace.passes[-1].ids == hypothesis.ids
        assert hypothesis.trace.passes[0].masked == [True] * (len(hypothesis.ids) - 1) + [False]
        assert [len(step.probabilities) for step in hypothesis.trace.passes] == [len(hypothesis.ids)] * 4


def test_a_given_target_gets_scores_of_its_own(decoder: Decoder) -> None:
    for request, (best,) in zip(REQUESTS, decoder.translate(REQUESTS, SETTINGS), strict=True):
        other = [5 + (token + 1) % 15 for token in best.ids[:-1]] + [EOS]
        as_translated, worse = decoder.score([request] * 2, [best.ids, other], SETTINGS)
        assert as_translated.ids == best.ids
        assert as_translated.log_probs == pytest.approx(best.log_probs, abs=1e-5)
        assert worse.ids == other
        assert worse.score < as_translated.score


def test_words_are_pinned_at_places_that_are_counted_without_BOS(decoder: Decoder) -> None:
    request = Request(
        (5, 6, 7, EOS),
        length=6,
        pins=(
            Pin((8,), 0),
            Pin((11, 12)),
        ),
    )
    ((hypothesis,),) = decoder.translate([request], SETTINGS)
    assert hypothesis.ids[0] == 8
    assert (11, 12) in zip(hypothesis.ids, hypothesis.ids[1:], strict=False)
    assert len(hypothesis.ids) == 6
