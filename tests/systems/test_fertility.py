"""The transformer with fertilities: its loss, what the decoder sees, and how it translates and scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import OnePassSettings
from maskpredict.model.batch import Batch, pad
from maskpredict.systems.base import System
from maskpredict.systems.fertility import Fertility, copies
from maskpredict.systems.word_aligner import alignment_loss, fertilities

CPU = torch.device("cpu")
SUPPRESSED = (0, 1, 4)
SETTINGS = OnePassSettings(suppress_tokens=SUPPRESSED)
SOURCES = [[5, 6, 7, 2], [8, 9, 10, 11, 12, 2], [13, 2]]
TARGETS = [[6, 7, 2], [8, 9, 9, 11, 5, 19, 18, 2], [2]]


@pytest.fixture
def model(make_system: Callable[..., System]) -> Fertility:
    system = make_system("fertility")
    assert isinstance(system, Fertility)
    return system


@pytest.fixture
def decoder(model: Fertility, decoder_of: Callable[[System], Decoder]) -> Decoder:
    return decoder_of(model)


def copied(source: Sequence[int], counts: Sequence[int]) -> list[int]:
    return [token for token, count in zip(source, counts, strict=False) for _ in range(count)]


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
