"""Words that a user imposes on a CMLM's translation: pins and sentences with gaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Gap, Pin, Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.errors import UserError
from maskpredict.systems.base import System

SETTINGS = MaskPredictSettings(iterations=4, length_candidates=3, suppress_tokens=(0, 1, 4))
Sources = list[tuple[int, ...]]


@pytest.fixture
def decoder(make_system: Callable[..., System], decoder_of: Callable[[System], Decoder]) -> Decoder:
    return decoder_of(make_system("cmlm"))


def positions_of(phrase: tuple[int, ...], ids: list[int]) -> list[int]:
    return [start for start in range(len(ids)) if tuple(ids[start : start + len(phrase)]) == phrase]


def test_a_pin_with_a_place_stays_there_in_every_pass_and_candidate(decoder: Decoder, sources: Sources) -> None:
    requests = [Request(source, pins=(Pin((17, 18), 1), Pin((16,), 4))) for source in sources]
    for (hypothesis,) in decoder.translate(requests, replace(SETTINGS, trace=True)):
        assert hypothesis.ids[1:3] == [17, 18]
        assert hypothesis.ids[4] == 16
        assert hypothesis.trace is not None
        for candidate in hypothesis.trace.candidates:
            for step in candidate.passes:
                assert [*step.ids[1:3], step.ids[4]] == [17, 18, 16]
                assert not any(step.masked[i] for i in (1, 2, 4))
                assert [step.probabilities[i] for i in (1, 2, 4)] == [1.0, 1.0, 1.0]


def test_pinned_positions_do_not_enter_the_score(decoder: Decoder, sources: Sources) -> None:
    (((hypothesis),),) = decoder.translate([Request(sources[0], pins=(Pin((17, 18), 1),))], SETTINGS)
    free = [p for place, p in enumerate(hypothesis.log_probs) if place not in (1, 2)]
    assert hypothesis.score == pytest.approx(sum(free) / len(free), abs=1e-6)


def test_phrases_without_a_place_appear_whole_and_do_not_overlap(decoder: Decoder, sources: Sources) -> None:
    requests = [Request(source, pins=(Pin((17, 18, 17)), Pin((15, 16)))) for source in sources]
    for (hypothesis,) in decoder.translate(requests, SETTINGS):
        long, short = positions_of((17, 18, 17), hypothesis.ids), positions_of((15, 16), hypothesis.ids)
        assert long
        assert short


def test_a_phrase_goes_where_the_model_finds_it_likeliest(decoder: Decoder, sources: Sources) -> None:
    plain, pinned = Request(sources[1], length=7), Request(sources[1], length=7, pins=(Pin((17,)),))
    first_pass = replace(SETTINGS, iterations=1)
    scores = [decoder.score([plain], [[5] * place + [17] + [5] * (6 - place)], first_pass)[0] for place in range(6)]
    likeliest = max(range(6), key=lambda place: scores[place].log_probs[place])
    ((hypothesis,),) = decoder.translate([pinned], replace(SETTINGS, trace=True))
    assert hypothesis.trace is not None
    assert hypothesis.trace.passes[0].masked.index(False) == likeliest


def test_a_target_is_made_long_enough_for_its_pins(decoder: Decoder, sources: Sources) -> None:
    requests = [Request(source, pins=(Pin((17,), 20),)) for source in sources[:3]]
    for (hypothesis,) in decoder.translate(requests, SETTINGS):
        assert len(hypothesis.ids) >= 22
        assert hypothesis.ids[20] == 17


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (Request((5, 2), length=4, pins=(Pin((17,), 3),)), "does not fit a target of 4 positions"),
        (Request((5, 2), pins=(Pin((17, 18), 1), Pin((16,), 2))), "overlap"),
        (Request((5, 2), length=4, pins=(Pin((17, 18)), Pin((16, 15)))), "no room for each other"),
        (Request((5, 2), pins=(Pin((17,), 40),)), "between 1 and 31"),
        (Request((5, 2), template=((5,) * 40, Gap())), "between 1 and 31"),
    ],
)
def test_constraints_that_cannot_be_met_are_refused(decoder: Decoder, request_: Request, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        decoder.translate([request_], SETTINGS)


def test_filling_keeps_the_given_words_in_order_and_ends_with_the_end_mark(decoder: Decoder, sources: Sources) -> None:
    template = ((17, 18), Gap(), (16,), Gap(2), (15,))
    for (hypothesis,) in decoder.translate([Request(source, template=template) for source in sources], SETTINGS):
        assert hypothesis.ids[:2] == [17, 18]
        assert hypothesis.ids[-2:] == [15, 2]
        assert hypothesis.ids[-5] == 16
        assert len(hypothesis.ids) >= 2 + 1 + 1 + 2 + 1 + 1


def test_a_gap_of_a_given_size_has_that_size(decoder: Decoder, sources: Sources) -> None:
    requests = [Request(source, template=(Gap(3), (17,))) for source in sources]
    for (hypothesis,) in decoder.translate(requests, SETTINGS):
        assert len(hypothesis.ids) == 5
        assert hypothesis.ids[3:] == [17, 2]


def test_a_sentence_without_gaps_comes_back_as_it_is(decoder: Decoder, sources: Sources) -> None:
    (((hypothesis),),) = decoder.translate([Request(sources[0], template=((17, 18),))], SETTINGS)
    assert hypothesis.ids == [17, 18, 2]
    assert hypothesis.passes == 0


def test_constraints_of_one_sentence_leave_the_others_alone(decoder: Decoder, sources: Sources) -> None:
    plain = decoder.translate([Request(source) for source in sources], SETTINGS)
    requests = [Request(source) for source in sources]
    requests[3] = Request(sources[3], pins=(Pin((17, 18)),))
    requests[5] = Request(sources[5], template=((17,), Gap()))
    mixed = decoder.translate(requests, SETTINGS)
    assert [actual for i, actual in enumerate(mixed) if i not in (3, 5)] == [
        actual for i, actual in enumerate(plain) if i not in (3, 5)
    ]
    assert mixed[3] == decoder.translate([requests[3]], SETTINGS)[0]


def test_an_imposed_length_may_be_longer_than_any_predicted_one(
    make_system: Callable[..., System], decoder_of: Callable[[System], Decoder]
) -> None:
    decoder = decoder_of(make_system("cmlm", length_classes=8))
    ((actual,),) = decoder.translate([Request((5, 6, 2), length=20)], MaskPredictSettings(2, 1, length_weight=0.5))
    assert len(actual.ids) == 20
