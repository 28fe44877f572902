"""What a system with one pass says of its translations, and of given ones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import pytest

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.engine import Query
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import FertilitySettings
from maskpredict.systems.base import System

REQUEST = Request((5, 6, 7, 2))
SETTINGS = FertilitySettings(suppress_tokens=(0, 1, 4))


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
    make_system: Callable[..., System], decoder_of: Callable[[System], Decoder], sources: list[tuple[int, ...]]
) -> None:
    decoder = decoder_of(make_system("ctc"))
    blank, few = decoder.engine.special.mask, (*range(4), *range(7, 20))  # so that neighbours are often equal
    merged = 0
    for source in sources:
        ((hypothesis,),) = decoder.translate([Request(source)], decoder.settings_type(suppress_tokens=few))
        passes = decoder.engine.encode([source]).passes([0], [3 * len(source)])
        draft_BT = passes.array([[blank] * 3 * len(source)], 0)
        prediction = passes.predict(draft_BT, draft_BT == blank, Query(few))
        positions = list(zip(prediction.tokens_BT[0].tolist(), prediction.log_probs_BT[0].tolist(), strict=True))
        runs = [list(run) for _, run in groupby(positions[: 3 * len(source)], lambda position: position[0])]
        assert hypothesis.ids == [run[0][0] for run in runs if run[0][0] != blank]
        highest = [max(log_prob for _, log_prob in run) for run in runs if run[0][0] != blank]
        assert hypothesis.log_probs == pytest.approx(highest, abs=1e-5)
        merged += sum(len(run) > 1 for run in runs if run[0][0] != blank)
    assert merged


def test_scores_of_alignments_are_of_one_pass(
    make_system: Callable[..., System], decoder_of: Callable[[System], Decoder]
) -> None:
    decoder = decoder_of(make_system("ctc"))
    settings = decoder.settings_type(suppress_tokens=SETTINGS.suppress_tokens)
    ((best,),) = decoder.translate([REQUEST], settings)
    (scored,) = decoder.score([REQUEST], [best.ids], settings)
    assert (scored.ids, scored.passes) == (best.ids, 1)
    assert scored.score >= best.score - 1e-5
