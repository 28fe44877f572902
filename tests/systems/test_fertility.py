"""The transformer with fertilities: its loss, what the decoder sees, and how it translates and scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.fertility import copied as copied_by_decoder
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import FertilitySettings
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens, pad
from maskpredict.systems.base import System
from maskpredict.systems.fertility import Fertility, copies
from maskpredict.systems.positional_attention import PositionalLayer, sinusoids
from maskpredict.systems.word_aligner import alignment_loss, fertilities

CPU = torch.device("cpu")
SUPPRESSED = (0, 1, 4)
SETTINGS = FertilitySettings(suppress_tokens=SUPPRESSED)
SOURCES = [[5, 6, 7, 2], [8, 9, 10, 11, 12, 2], [13, 2]]
TARGETS = [[6, 7, 2], [8, 9, 9, 11, 5, 19, 18, 2], [2]]


@pytest.fixture
def model(make_system: Callable[..., System]) -> Fertility:
    system = make_system("fertility", seed=5, max_positions=64)
    assert isinstance(system, Fertility)
    return system


@pytest.fixture
def decoder(model: Fertility, decoder_of: Callable[[System], Decoder]) -> Decoder:
    return decoder_of(model)


def copied(source: Sequence[int], counts: Sequence[int]) -> list[int]:
    """The copies, or the end mark's alone where there are none."""
    return [token for token, count in zip(source, counts, strict=False) for _ in range(count)] or [source[-1]]


def logits_of_one(model: Fertility, source: Sequence[int], inputs: list[int]) -> Tensor:
    """Of every token at every position of a target, where the decoder sees these copies."""
    tokens, target = pad([source], 0, CPU), pad([inputs], 0, CPU)
    memory = model.transformer.memory(model.transformer.encode(tokens.ids, tokens.layout))
    states = model.transformer.source(target.ids, target.layout.positions)
    hidden = model.transformer.decode_states(states, target.layout, memory, tokens.layout, causal=False)
    return model.transformer.output(hidden[0, : len(inputs)])


def predicted(model: Fertility, source: Sequence[int]) -> Tensor:
    tokens = pad([source], 0, CPU)
    return model.fertility(model.transformer.encode(tokens.ids, tokens.layout))[0, : len(source)]


def test_the_loss_is_that_of_words_fertilities_and_aligner(model: Fertility) -> None:
    batch = Batch(pad(SOURCES, 0, CPU), pad(TARGETS, 0, CPU))
    loss = model.loss(batch)
    aligned_BSL = model.aligner(batch)
    counts_BS = fertilities(aligned_BSL, batch).tolist()
    words = smoothed = fertility = torch.zeros(())
    for source, target, counts in zip(SOURCES, TARGETS, counts_BS, strict=True):
        log_probs_TV = logits_of_one(model, source, copied(source, counts)).log_softmax(-1)
        words = words + F.nll_loss(log_probs_TV, torch.tensor(target), reduction="sum")
        smoothed = smoothed - 0.1 * log_probs_TV.mean(-1).sum()
        scores_SC = predicted(model, source)
        fertility = fertility + F.cross_entropy(scores_SC, torch.tensor(counts[: len(source)]), reduction="sum")
    torch.testing.assert_close(loss.parts["word"], words)
    torch.testing.assert_close(loss.parts["fertility"], fertility)
    torch.testing.assert_close(loss.parts["alignment"], alignment_loss(aligned_BSL, batch))
    torch.testing.assert_close(loss.total, 0.9 * words + smoothed + fertility + loss.parts["alignment"])
    assert int(loss.count) == sum(map(len, TARGETS))


@pytest.mark.parametrize(
    ("counts", "length", "places"),
    [
        ([2, 0, 1], 3, [0, 0, 2]),
        ([0, 3, 0], 3, [1, 1, 1]),
        ([2, 0, 1], 6, [0, 0, 0, 0, 2, 2]),  # stretched
        ([2, 2, 2], 3, [0, 1, 2]),  # and squeezed
    ],
)
def test_a_source_word_is_copied_as_often_as_its_fertility_says(
    counts: list[int], length: int, places: list[int]
) -> None:
    found_BL = copies(torch.tensor([counts]), torch.tensor([length]), 8)
    assert found_BL[0, :length].tolist() == places
    assert copied_by_decoder([0, 1, 2], np.array(counts), length) == places


@torch.inference_mode()
def test_a_translation_is_the_likeliest_words_for_the_likeliest_copies(
    model: Fertility, decoder: Decoder, sources: list[tuple[int, ...]]
) -> None:
    actual = decoder.translate([Request(source) for source in sources], SETTINGS)
    for source, (best,) in zip(sources, actual, strict=True):
        inputs = copied(source, predicted(model, source).argmax(-1).tolist())
        logits_TV = logits_of_one(model, source, inputs)
        logits_TV[:, list(SUPPRESSED)] = -torch.inf
        top = logits_TV.log_softmax(-1).max(-1)
        assert best.ids == top.indices.tolist()
        assert best.score == pytest.approx(float(top.values.mean()), abs=1e-5)
        assert best.passes == 1
    assert len({len(best.ids) for (best,) in actual}) > 3


@torch.inference_mode()
def test_scoring_a_translation_gives_the_score_it_had(decoder: Decoder, sources: list[tuple[int, ...]]) -> None:
    requests = [Request(source) for source in sources]
    actual = [best for (best,) in decoder.translate(requests, SETTINGS)]
    for best, again in zip(actual, decoder.score(requests, [best.ids for best in actual], SETTINGS), strict=True):
        assert again.ids == best.ids
        assert again.log_probs == pytest.approx(best.log_probs, abs=1e-5)
        assert again.score == pytest.approx(best.score, abs=1e-5)


@torch.inference_mode()
def test_without_any_copies_a_translation_is_one_word(model: Fertility, decoder: Decoder) -> None:
    model.fertility.weight.zero_()
    model.fertility.bias.copy_(F.one_hot(torch.tensor(0), 10))
    (best,) = decoder.translate([Request((5, 6, 2))], SETTINGS)[0]
    assert len(best.ids) == 1


def ones_that_are_drawn(decoder: Decoder, request: Request, **settings: int) -> list[list[int]]:
    """All different translations of a request, by the fertilities that are drawn for it."""
    samples = settings.pop("samples", 40)
    drawn = FertilitySettings("sample", samples, num_hypotheses=samples, suppress_tokens=SUPPRESSED, **settings)
    (several,) = decoder.translate([request], drawn)
    assert [one.score for one in several] == sorted((one.score for one in several), reverse=True)
    return [one.ids for one in several]


@torch.inference_mode()
def test_the_average_fertilities_are_the_rounded_means(
    model: Fertility, decoder: Decoder, sources: list[tuple[int, ...]]
) -> None:
    averaged = decoder.translate(
        [Request(s) for s in sources], FertilitySettings("average", suppress_tokens=SUPPRESSED)
    )
    for source, (best,) in zip(sources, averaged, strict=True):
        means_S = predicted(model, source).softmax(-1) @ torch.arange(10.0)
        inputs = copied(source, (means_S + 0.5).floor().int().tolist())
        logits_TV = logits_of_one(model, source, inputs)
        logits_TV[:, list(SUPPRESSED)] = -torch.inf
        assert best.ids == logits_TV.argmax(-1).tolist()
    likeliest = decoder.translate([Request(source) for source in sources], SETTINGS)
    assert [best.ids for (best,) in averaged] != [best.ids for (best,) in likeliest]


@torch.inference_mode()
def test_fertilities_are_drawn_as_often_as_they_are_likely(model: Fertility, decoder: Decoder) -> None:
    log_odds = torch.tensor([0.0, 0.7, 0.0, -1.0, *[-50.0] * 6])
    model.fertility.weight.zero_()
    model.fertility.bias.copy_(log_odds)
    shares = torch.zeros(10)
    for seed in range(400):
        settings = FertilitySettings("sample", 1, seed=seed)
        ((one,),) = decoder.translate([Request((5, 2))], settings)
        shares[len(one.ids)] += 1 / 400
    chance = log_odds.softmax(-1)
    expected = [sum(float(chance[one] * chance[total - one]) for one in range(total + 1)) for total in range(7)]
    expected[:2] = [0.0, expected[0] + expected[1]]  # a translation has at least one word
    assert shares[:7].tolist() == pytest.approx(expected, abs=0.07)


@torch.inference_mode()
def test_what_is_drawn_depends_on_seed_and_sentence_and_not_on_the_batch(
    decoder: Decoder, sources: list[tuple[int, ...]]
) -> None:
    requests = [Request(source) for source in sources]
    alone = [ones_that_are_drawn(decoder, request) for request in requests]
    settings = FertilitySettings("sample", 40, num_hypotheses=40, suppress_tokens=SUPPRESSED)
    assert [[one.ids for one in own] for own in decoder.translate(requests, settings)] == alone
    assert alone != [ones_that_are_drawn(decoder, request, seed=2) for request in requests]
    assert all(len(set(map(tuple, own))) > 1 for own in alone)
    few = ones_that_are_drawn(decoder, requests[0], samples=2)
    assert all(ids in alone[0] for ids in few), "more samples are the first ones and others"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"fertilities": "best"}, "choose one of argmax, average, sample"),
        ({"fertilities": "sample", "samples": 0}, "use 1 to 1000"),
        ({"num_hypotheses": 2}, "is 1 without fertilities=sample"),
    ],
)
def test_settings_without_meaning_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        replace(FertilitySettings(), **wrong)


@torch.no_grad()
def test_positional_attention_looks_at_places_and_never_at_words(make_system: Callable[..., System]) -> None:
    layer = make_system("fertility").transformer.decoder[0]
    assert isinstance(layer, PositionalLayer)
    tokens = pad([[5, 6, 7, 8, 2]], 0, CPU)
    x = torch.randn(1, 8, 16, generator=torch.Generator().manual_seed(1))
    order = torch.tensor([3, 1, 0, 4, 2, 5, 6, 7])
    # Weights come from the places: moving what stands there moves the values alone.
    weights_LL = attention_weights(layer, tokens, 5)
    values = layer.positional.v(x)[0, :5].view(5, 2, 8)
    mixed = torch.einsum("hls,shk->lhk", weights_LL, values).flatten(1)
    torch.testing.assert_close(layer.positional(x, tokens.layout)[0, :5], layer.positional.out(mixed))
    assert not torch.allclose(layer.positional(x, tokens.layout), layer.positional(x[:, order], tokens.layout))


def attention_weights(layer: PositionalLayer, tokens: Tokens, length: int) -> Tensor:
    places = sinusoids(tokens.layout.positions[0, :length], 16)
    q, k = layer.positional.qk(places).view(length, 2, 2, 8).unbind(1)
    return (torch.einsum("lhk,shk->hls", q, k) / 8**0.5).softmax(-1)
