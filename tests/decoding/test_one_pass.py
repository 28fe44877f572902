"""What a system with one pass says of its translations, and of given ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from maskpredict.decoding.candidates import Finished
from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.one_pass import OnePassDecoder
from maskpredict.decoding.settings import OnePassSettings
from maskpredict.systems.base import System

REQUEST = Request((5, 6, 7, 2))
SETTINGS = OnePassSettings(suppress_tokens=(0, 1, 4))


@pytest.fixture
def fertility(make_system: Callable[..., System], decoder_of: Callable[[System], Decoder]) -> Decoder:
    return decoder_of(make_system("fertility"))


def test_a_translation_has_the_log_probability_of_each_word_and_their_mean(fertility: Decoder) -> None:
    ((translation,),) = fertility.translate([REQUEST], SETTINGS)
    assert translation.passes == 1
    assert len(translation.log_probs) == len(translation.ids)
    assert all(log_prob < 0 for log_prob in translation.log_probs)
    assert translation.score == pytest.approx(sum(translation.log_probs) / len(translation.log_probs))
    assert not set(translation.ids) & set(SETTINGS.suppress_tokens)


def test_a_given_target_gets_scores_of_its_own(fertility: Decoder) -> None:
    ((best,),) = fertility.translate([REQUEST], SETTINGS)
    other = [5 + (token + 1) % 15 for token in best.ids]
    as_translated, worse = fertility.score([REQUEST] * 2, [best.ids, other], SETTINGS)
    assert (as_translated.ids, as_translated.log_probs) == (best.ids, best.log_probs)
    assert worse.ids == other
    assert all(low < high for low, high in zip(worse.log_probs, best.log_probs, strict=True))
    assert worse.score < as_translated.score


def test_equal_neighbours_become_one_word_with_the_higher_probability(
    make_system: Callable[..., System], decoder_of: Callable[[System], Decoder]
) -> None:
    decoder = decoder_of(make_system("ctc"))
    assert isinstance(decoder, OnePassDecoder)
    blank = decoder.engine.special.mask
    ids = [blank, 7, 7, blank, 7, 9, 9, 9, 2]
    hypothesis = decoder.hypothesis(Finished(ids, [-0.1, -3, -2, -0.1, -4, -1, -0.5, -6, -0.2], -1.5, 1, []))
    assert hypothesis.ids == [7, 7, 9, 2]
    assert hypothesis.log_probs == [-2, -4, -0.5, -0.2]
    assert (hypothesis.score, hypothesis.passes) == (-1.5, 1)


def test_scores_of_alignments_are_of_one_pass(
    make_system: Callable[..., System], decoder_of: Callable[[System], Decoder]
) -> None:
    decoder = decoder_of(make_system("ctc"))
    ((best,),) = decoder.translate([REQUEST], SETTINGS)
    (scored,) = decoder.score([REQUEST], [best.ids], SETTINGS)
    assert (scored.ids, scored.passes) == (best.ids, 1)
    assert scored.score >= best.score - 1e-5
