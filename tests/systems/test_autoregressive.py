"""The autoregressive baseline: its loss, its beam search with incremental state, its scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Gap, Hypothesis, Pin, Request
from maskpredict.decoding.settings import BeamSettings
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, pad
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.systems.base import System

CPU = torch.device("cpu")
SETTINGS = BeamSettings(beam_size=3, num_hypotheses=3, suppress_tokens=(0, 1, 4))
Sources = list[tuple[int, ...]]


@pytest.fixture
def model(make_system: Callable[..., System]) -> Autoregressive:
    system = make_system("autoregressive")
    assert isinstance(system, Autoregressive)
    return system


@pytest.fixture
def decoder(model: Autoregressive, decoder_of: Callable[[System], Decoder]) -> Decoder:
    return decoder_of(model)


def translate(decoder: Decoder, sources: Sources, settings: BeamSettings = SETTINGS) -> list[list[Hypothesis]]:
    return decoder.translate([Request(source) for source in sources], settings)


def log_probs_after(model: Autoregressive, source: tuple[int, ...], prefix: list[int]) -> Tensor:
    """The next token's log-probabilities, by a whole pass over the prefix."""
    tokens, inputs = pad([source], 0, CPU), pad([[1, *prefix]], 0, CPU)
    memory = model.transformer.memory(model.transformer.encode(tokens.ids, tokens.layout))
    hidden = model.transformer.decode(inputs.ids, inputs.layout, memory, tokens.layout, causal=True)
    logits_V = model.transformer.output(hidden[0, len(prefix)])
    logits_V[list(SETTINGS.suppress_tokens)] = -torch.inf
    return logits_V.log_softmax(-1)


def test_the_loss_is_the_cross_entropy_of_every_token_given_those_before_it(model: Autoregressive) -> None:
    sources, targets = [[5, 6, 2], [7, 2]], [[8, 9, 10, 2], [11, 2]]
    loss = model.loss(Batch(pad(sources, 0, CPU), pad(targets, 0, CPU)))
    plain = smoothed = torch.zeros(())
    for source, target in zip(sources, targets, strict=True):
        tokens, inputs = pad([source], 0, CPU), pad([[1, *target[:-1]]], 0, CPU)
        memory = model.transformer.memory(model.transformer.encode(tokens.ids, tokens.layout))
        hidden = model.transformer.decode(inputs.ids, inputs.layout, memory, tokens.layout, causal=True)
        log_probs_TV = model.transformer.output(hidden[0, : len(target)]).log_softmax(-1)
        for place, token in enumerate(target):
            plain = plain - log_probs_TV[place, token]
            smoothed = smoothed - 0.9 * log_probs_TV[place, token] - 0.1 * log_probs_TV[place].mean()
    assert int(loss.count) == 6
    torch.testing.assert_close(loss.parts["word"], plain)
    torch.testing.assert_close(loss.total, smoothed)


@torch.inference_mode()
def test_one_beam_is_greedy(model: Autoregressive, decoder: Decoder, sources: Sources) -> None:
    greedy = replace(SETTINGS, beam_size=1, num_hypotheses=1)
    for source, (hypothesis,) in zip(sources[:6], translate(decoder, sources[:6], greedy), strict=True):
        ids: list[int] = []
        limit = 2 * len(source) + 10
        while len(ids) < limit - 1 and 2 not in ids:
            ids.append(int(log_probs_after(model, source, ids).argmax()))
        assert hypothesis.ids == (ids if ids[-1] == 2 else [*ids, 2])


@torch.inference_mode()
def test_incremental_state_follows_the_beams(model: Autoregressive, decoder: Decoder, sources: Sources) -> None:
    for source, hypotheses in zip(sources[:6], translate(decoder, sources[:6]), strict=True):
        for hypothesis in hypotheses:
            expected = [
                float(log_probs_after(model, source, hypothesis.ids[:place])[token])
                for place, token in enumerate(hypothesis.ids)
            ]
            assert hypothesis.log_probs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_scoring_a_translation_gives_its_own_score(decoder: Decoder, sources: Sources, length_penalty: float) -> None:
    settings = replace(SETTINGS, length_penalty=length_penalty)
    translated = [hypotheses[0] for hypotheses in translate(decoder, sources, settings)]
    scored = decoder.score([Request(source) for source in sources], [t.ids for t in translated], settings)
    for one, other in zip(translated, scored, strict=True):
        assert other.score == pytest.approx(one.score, abs=1e-5 * max(1.0, abs(one.score)))
        assert (other.ids, other.passes) == (one.ids, 1)
        assert other.log_probs == pytest.approx(one.log_probs, abs=1e-4)


def test_the_score_is_the_sum_of_log_probabilities_over_length_to_the_penalty(
    decoder: Decoder, sources: Sources
) -> None:
    for hypotheses in translate(decoder, sources, replace(SETTINGS, length_penalty=0.6)):
        for hypothesis in hypotheses:
            expected = sum(hypothesis.log_probs) / len(hypothesis.ids) ** 0.6
            assert hypothesis.score == pytest.approx(expected, abs=1e-5)


def test_hypotheses_come_best_first_and_differ(decoder: Decoder, sources: Sources) -> None:
    for hypotheses in translate(decoder, sources):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(hypothesis.ids) for hypothesis in hypotheses}) == len(hypotheses) == 3


@pytest.mark.parametrize("beam_size", [1, 3, 5])
def test_a_translation_does_not_depend_on_the_batch_the_order_or_the_threads(
    decoder: Decoder, sources: Sources, beam_size: int
) -> None:
    settings = replace(SETTINGS, beam_size=beam_size, num_hypotheses=1)
    together = translate(decoder, sources, settings)
    assert [translate(decoder, [source], settings)[0] for source in sources] == together
    assert translate(decoder, sources[::-1], settings) == together[::-1]
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3 - min(threads, 2))
        assert translate(decoder, sources, settings) == together
    finally:
        torch.set_num_threads(threads)


def test_every_translation_ends_within_its_limit(model: Autoregressive, decoder: Decoder, sources: Sources) -> None:
    with torch.no_grad():  # the end mark never comes by itself
        model.transformer.output.weight[2] = 0.0
    for source, hypotheses in zip(
        sources, translate(decoder, sources, replace(SETTINGS, max_length_ratio=1.0)), strict=True
    ):
        for hypothesis in hypotheses:
            assert len(hypothesis.ids) <= min(len(source) + 10, 32)
            assert hypothesis.ids.index(2) == len(hypothesis.ids) - 1


def test_suppressed_tokens_are_never_produced(decoder: Decoder, sources: Sources) -> None:
    produced = {token for hypotheses in translate(decoder, sources) for token in hypotheses[0].ids}
    unwanted = tuple(sorted(produced - {2})[:3])
    assert unwanted
    for hypotheses in translate(decoder, sources, replace(SETTINGS, suppress_tokens=unwanted)):
        assert not any(token in unwanted for hypothesis in hypotheses for token in hypothesis.ids)


@pytest.mark.parametrize("imposed", [{"pins": (Pin((5,)),)}, {"length": 4}, {"template": (Gap(),)}], ids=str)
def test_what_only_a_CMLM_can_do_is_refused(decoder: Decoder, imposed: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="use a CMLM"):
        decoder.translate([Request((5, 2), **imposed)], SETTINGS)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"beam_size": 0}, "beam_size is 0"),
        ({"num_hypotheses": 6}, "between 1 and beam_size"),
        ({"num_hypotheses": 0}, "between 1 and beam_size"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        BeamSettings(**settings)
