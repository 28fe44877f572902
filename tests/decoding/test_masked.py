"""How a CMLM translates: mask-predict on length candidates, with a real (random) transformer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.errors import UserError
from maskpredict.model.batch import pad
from maskpredict.model.layout import Layout
from maskpredict.systems.base import System
from maskpredict.systems.cmlm import CMLM

CPU = torch.device("cpu")
SUPPRESSED = (0, 1, 4)
SETTINGS = MaskPredictSettings(iterations=4, length_candidates=3, suppress_tokens=SUPPRESSED)
Sources = list[tuple[int, ...]]


@pytest.fixture
def cmlm(make_system: Callable[..., System]) -> CMLM:
    system = make_system("cmlm")
    assert isinstance(system, CMLM)
    return system


@pytest.fixture
def decoder(cmlm: CMLM, decoder_of: Callable[[System], Decoder]) -> Decoder:
    return decoder_of(cmlm)


def translate(decoder: Decoder, sources: Sources, settings: MaskPredictSettings = SETTINGS) -> list[Hypothesis]:
    """The best translation of each source."""
    return [hypotheses[0] for hypotheses in decoder.translate([Request(source) for source in sources], settings)]


class SlowTranslator:
    """One sentence, one candidate at a time, in the words of the specification."""

    def __init__(self, cmlm: CMLM, source: tuple[int, ...]) -> None:
        tokens = pad([source], 0, CPU, slot=True)
        encoded = cmlm.transformer.encode(tokens.ids, tokens.layout, slot=cmlm.length.slot)
        rest, layout = tokens.layout.without_firsts(encoded)
        self.layout: Layout = layout
        self.memory = cmlm.transformer.memory(rest)
        self.length_log_probs: list[float] = cmlm.length(encoded[:, 0])[0].tolist()
        self.cmlm = cmlm

    def log_probs(self, tokens: list[int]) -> Tensor:
        target = pad([tokens], 0, CPU)
        hidden = self.cmlm.transformer.decode(target.ids, target.layout, self.memory, self.layout, causal=False)
        logits_TV = self.cmlm.transformer.output(hidden[0, : len(tokens)])
        logits_TV[:, list(SUPPRESSED)] = -math.inf
        return logits_TV.log_softmax(-1)

    def decode(self, size: int, passes: int) -> tuple[float, list[int]]:
        y, p = [4] * size, [-math.inf] * size
        for t in range(passes):
            n = size if t == 0 else max(1, size * (passes - t) // passes)
            masked = sorted(range(size), key=lambda i: (p[i], i))[:n]
            best = self.log_probs([4 if i in masked else y[i] for i in range(size)]).max(-1)
            for i in masked:
                y[i], p[i] = int(best.indices[i]), float(best.values[i])
        return sum(p) / size, y

    def best(self, candidates: int, passes: int) -> tuple[float, list[int]]:
        likeliest = sorted(range(32), key=lambda n: -self.length_log_probs[n])[:candidates]
        lengths = dict.fromkeys(min(max(n, 2), 31) for n in likeliest)
        return max((self.decode(n, passes) for n in lengths), key=lambda result: result[0])


@pytest.fixture
def slow_translator() -> Iterator[type[SlowTranslator]]:
    with torch.inference_mode():
        yield SlowTranslator


def test_a_translation_is_what_the_specification_says_step_by_step(
    cmlm: CMLM, decoder: Decoder, sources: Sources, slow_translator: type[SlowTranslator]
) -> None:
    for source, hypothesis in zip(sources, translate(decoder, sources), strict=True):
        score, ids = slow_translator(cmlm, source).best(candidates=3, passes=4)
        assert hypothesis.ids == ids
        assert hypothesis.score == pytest.approx(score, abs=1e-5)


def test_the_score_is_the_mean_log_probability_of_the_N_positions(decoder: Decoder, sources: Sources) -> None:
    for hypothesis in translate(decoder, sources):
        assert len(hypothesis.log_probs) == len(hypothesis.ids)
        assert hypothesis.score == pytest.approx(sum(hypothesis.log_probs) / len(hypothesis.ids), abs=1e-6)


def test_the_most_confident_candidate_wins_and_the_others_follow_in_order(decoder: Decoder, sources: Sources) -> None:
    actual = decoder.translate([Request(source) for source in sources], replace(SETTINGS, num_hypotheses=3))
    for hypotheses in actual:
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert sorted(len(hypothesis.ids) for hypothesis in hypotheses) == sorted(hypotheses[0].lengths)


def test_the_earlier_candidate_wins_a_tie(decoder: Decoder, sources: Sources) -> None:
    # With a single possible token every candidate has probability one.
    only_five = tuple(token for token in range(20) if token != 5)
    settings = replace(SETTINGS, suppress_tokens=only_five, num_hypotheses=3)
    for hypotheses in decoder.translate([Request(source) for source in sources], settings):
        assert {hypothesis.score for hypothesis in hypotheses} == {0.0}
        assert [len(hypothesis.ids) for hypothesis in hypotheses] == list(hypotheses[0].lengths)


def test_unlikely_lengths_come_last_even_if_their_words_are_surer(decoder: Decoder, sources: Sources) -> None:
    settings = replace(SETTINGS, num_hypotheses=3, length_threshold=1.0)
    surer = 0
    for hypotheses in decoder.translate([Request(source) for source in sources], settings):
        first, *others = hypotheses
        assert len(first.ids) == first.lengths[0]
        surer += any(other.score > first.score for other in others)
    assert surer


def test_there_are_fewer_candidates_when_short_lengths_fall_together(cmlm: CMLM, decoder: Decoder) -> None:
    with torch.no_grad():
        cmlm.transformer.encoder_norm.weight.zero_()  # type: ignore[operator]
        cmlm.transformer.encoder_norm.bias.fill_(1.0)  # type: ignore[operator]
        cmlm.length.table.weight[1:] = 0.0
        cmlm.length.table.weight[1], cmlm.length.table.weight[2], cmlm.length.table.weight[6] = 3.0, 2.0, 1.0
    (hypothesis,) = translate(decoder, [(5, 2)])
    assert hypothesis.lengths == (2, 6)


def test_a_gold_length_is_decoded_instead_of_predicted_ones(decoder: Decoder, sources: Sources) -> None:
    for length in (1, 2, 9, 31):
        (hypotheses,) = decoder.translate([Request(sources[0], length=length)], SETTINGS)
        assert len(hypotheses[0].ids) == length
        assert hypotheses[0].lengths == (length,)


@pytest.mark.parametrize("length", [0, 32, 500])
def test_a_length_that_the_model_does_not_have_is_refused(decoder: Decoder, sources: Sources, length: int) -> None:
    with pytest.raises(UserError, match="between 1 and 31"):
        decoder.translate([Request(sources[0], length=length)], SETTINGS)


@pytest.mark.parametrize(
    "changes",
    [{}, {"iterations": "N"}, {"iterations": 10}, {"stop_when_stable": True}, {"strategy": "easy_first"}],
    ids=str,
)
def test_a_translation_does_not_depend_on_the_batch_the_order_or_the_threads(
    decoder: Decoder, sources: Sources, changes: dict[str, Any]
) -> None:
    settings = replace(SETTINGS, **changes)
    together = translate(decoder, sources, settings)
    assert [translate(decoder, [source], settings)[0] for source in sources] == together
    assert translate(decoder, sources[::-1], settings) == together[::-1]
    assert translate(decoder, sources[:7], settings) == together[:7]
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3 - min(threads, 2))
        assert translate(decoder, sources, settings) == together
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize(
    "changes", [{}, {"iterations": "N"}, {"threshold": 0.6}, {"strategy": "left_to_right"}], ids=str
)
def test_scoring_a_translation_gives_exactly_its_own_score(
    decoder: Decoder, sources: Sources, changes: dict[str, Any]
) -> None:
    settings = replace(SETTINGS, **changes)
    translated = translate(decoder, sources, settings)
    for group in (range(20), range(5, 12), [3]):  # in another batch than it was translated in
        requests = [Request(sources[i]) for i in group]
        scored = decoder.score(requests, [translated[i].ids for i in group], settings)
        for i, score in zip(group, scored, strict=True):
            assert (score.ids, score.score, score.log_probs) == (
                translated[i].ids,
                translated[i].score,
                translated[i].log_probs,
            )


def test_a_worse_target_scores_lower(decoder: Decoder, sources: Sources) -> None:
    (translated,) = translate(decoder, sources[:1])
    worse = [5 + (token + 1) % 15 for token in translated.ids]
    (scored,) = decoder.score([Request(sources[0])], [worse], SETTINGS)
    assert scored.score < translated.score


@pytest.mark.parametrize("iterations", [1, 4, 10])
def test_exactly_T_passes_are_made_and_traced(decoder: Decoder, sources: Sources, iterations: int) -> None:
    for hypothesis in translate(decoder, sources, replace(SETTINGS, iterations=iterations, trace=True)):
        assert hypothesis.trace is not None
        assert hypothesis.passes == iterations
        assert all(len(candidate.passes) == iterations for candidate in hypothesis.trace.candidates)


def test_T_may_be_N_each_candidates_own_length(decoder: Decoder, sources: Sources) -> None:
    for hypothesis in translate(decoder, sources, replace(SETTINGS, iterations="N", trace=True)):
        assert hypothesis.trace is not None
        assert hypothesis.passes == len(hypothesis.ids)
        assert all(len(candidate.passes) == candidate.length for candidate in hypothesis.trace.candidates)


@pytest.mark.parametrize(("strategy", "passes"), [("one_shot", 1), ("easy_first", None), ("left_to_right", None)])
def test_other_strategies_take_one_pass_or_one_per_token(
    decoder: Decoder, sources: Sources, strategy: str, passes: int | None
) -> None:
    for hypothesis in translate(decoder, sources, replace(SETTINGS, strategy=strategy)):
        assert hypothesis.passes == (passes or len(hypothesis.ids))


def test_the_trace_tells_how_the_translation_came_about(decoder: Decoder, sources: Sources) -> None:
    for hypothesis in translate(decoder, sources, replace(SETTINGS, iterations=6, trace=True)):
        trace = hypothesis.trace
        assert trace is not None
        assert trace.passes[-1].ids == hypothesis.ids
        assert trace.passes[-1].probabilities == pytest.approx([math.exp(p) for p in hypothesis.log_probs])
        assert tuple(candidate.length for candidate in trace.candidates) == hypothesis.lengths
        assert trace.candidates[trace.chosen].score == hypothesis.score == max(c.score for c in trace.candidates)
        for candidate in trace.candidates:
            size = candidate.length
            counts = [sum(step.masked) for step in candidate.passes]
            assert counts == [size] + [max(1, size * (6 - t) // 6) for t in range(1, 6)]
            for before, after in pairwise(candidate.passes):
                lowest = sorted(range(size), key=lambda i: (before.probabilities[i], i))[: sum(after.masked)]
                assert [i for i in range(size) if after.masked[i]] == sorted(lowest)
                assert all(
                    (before.ids[i], before.probabilities[i]) == (after.ids[i], after.probabilities[i])
                    for i in range(size)
                    if not after.masked[i]
                )


def test_without_being_asked_for_there_is_no_trace(decoder: Decoder, sources: Sources) -> None:
    assert translate(decoder, sources[:1])[0].trace is None


def test_PAD_BOS_and_MASK_are_never_produced_when_suppressed(cmlm: CMLM, decoder: Decoder, sources: Sources) -> None:
    with torch.no_grad():  # make them the favourites
        cmlm.transformer.output.weight[list(SUPPRESSED)] *= 8
    free = translate(decoder, sources, replace(SETTINGS, suppress_tokens=()))
    assert any(token in SUPPRESSED for hypothesis in free for token in hypothesis.ids)
    for hypothesis in translate(decoder, sources, replace(SETTINGS, trace=True)):
        assert hypothesis.trace is not None
        for candidate in hypothesis.trace.candidates:
            assert not any(token in SUPPRESSED for step in candidate.passes for token in step.ids)


def test_nothing_is_suppressed_unless_the_settings_say_so() -> None:
    assert MaskPredictSettings().suppress_tokens == ()


def test_a_threshold_of_one_changes_nothing(decoder: Decoder, sources: Sources) -> None:
    assert translate(decoder, sources, replace(SETTINGS, threshold=1.0)) == translate(decoder, sources)


def test_early_exit_takes_fewer_passes_and_ends_when_nothing_changed(decoder: Decoder, sources: Sources) -> None:
    settings = replace(SETTINGS, iterations=12, stop_when_stable=True, trace=True)
    stopped = translate(decoder, sources, settings)
    assert any(hypothesis.passes < 12 for hypothesis in stopped)
    for hypothesis in stopped:
        assert hypothesis.trace is not None
        for candidate in hypothesis.trace.candidates:
            ids = [step.ids for step in candidate.passes]
            unchanged = [one == other for one, other in pairwise(ids)]
            assert not any(unchanged[:-1])
            assert len(ids) == 12 or unchanged[-1]
    sure = translate(decoder, sources, replace(SETTINGS, iterations=12, threshold=0.12))
    assert sum(hypothesis.passes for hypothesis in sure) < 12 * len(sources)


def test_LENGTH_is_removed_before_cross_attention(
    make_system: Callable[..., System], decoder_of: Callable[[System], Decoder], sources: Sources
) -> None:
    cmlm = make_system("cmlm", encoder_layers=0)  # so that LENGTH cannot act through the encoder
    assert isinstance(cmlm, CMLM)
    decoder, request = decoder_of(cmlm), Request(sources[0], length=9)
    before = decoder.translate([request], SETTINGS)
    layout = cmlm.encode(pad([request.source], 0, CPU, slot=True)).layout
    assert layout.lengths_B.tolist() == [len(sources[0])]
    length_log_probs_BL = decoder.engine.encode([request.source]).length_log_probs_BL
    with torch.no_grad():
        cmlm.length.table.weight[0] += torch.arange(16.0)
    changed_BL = decoder.engine.encode([request.source]).length_log_probs_BL
    assert not np.allclose(changed_BL[:, 1:], length_log_probs_BL[:, 1:])
    assert decoder.translate([request], SETTINGS) == before


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"iterations": 0}, "iterations is 0"),
        ({"length_candidates": 0}, "length_candidates is 0"),
        ({"strategy": "magic"}, "no strategy 'magic'; choose one of mask_predict"),
        ({"threshold": 1.5}, "it is a probability"),
        ({"threshold": 0.5, "strategy": "easy_first"}, "threshold is for mask_predict"),
        (
            {"stop_when_stable": True, "strategy": "one_shot"},
            "stop_when_stable is for mask_predict, words",
        ),
        ({"num_hypotheses": 0}, "num_hypotheses is 0"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        MaskPredictSettings(**settings)
