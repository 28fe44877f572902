"""Iterative refinement: what it is trained on, and how it translates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import RefinementSettings
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens, pad
from maskpredict.model.layout import Padded
from maskpredict.systems import refinement
from maskpredict.systems.base import System
from maskpredict.systems.refinement import CORRUPTED_SHARE, Refinement, corrupted

CPU = torch.device("cpu")
SOURCES = [[5, 6, 7, 2], [8, 9, 10, 11, 12, 2], [13, 2]]
TARGETS = [[6, 7, 2], [8, 9, 10, 11, 5, 19, 18, 2], [2]]
MASK, SUPPRESSED = 4, (0, 1, 4)


@pytest.fixture
def model(make_system: Callable[..., System]) -> Refinement:
    system = make_system("refinement")
    assert isinstance(system, Refinement)
    return system


@pytest.fixture
def decoder(model: Refinement, decoder_of: Callable[[System], Decoder]) -> Decoder:
    return decoder_of(model)


def log_probs_of_one(model: Refinement, source: Sequence[int], inputs: list[int]) -> tuple[Tensor, Tensor]:
    """Log-probabilities of every length, and of every token at every position, for one pair alone."""
    tokens = pad([source], 0, CPU, slot=True)
    encoded, length_BL, layout = model.encode_tokens(tokens)
    target = pad([inputs], 0, CPU)
    memory = model.transformer.memory(encoded)
    hidden = model.transformer.decode(target.ids, target.layout, memory, layout, causal=False)
    return length_BL[0], model.transformer.output(hidden[0, : len(inputs)]).log_softmax(-1)


@pytest.mark.parametrize("predicted_share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("refinements", [1, 3])
def test_the_loss_is_that_of_a_guess_from_masks_and_of_its_corrections(
    model: Refinement, monkeypatch: pytest.MonkeyPatch, predicted_share: float, refinements: int
) -> None:
    monkeypatch.setattr(refinement, "PREDICTED_SHARE", predicted_share)
    monkeypatch.setattr(refinement, "REFINEMENTS", refinements)
    batch = Batch(pad(SOURCES, 0, CPU, slot=True), pad(TARGETS, 0, CPU))
    torch.manual_seed(7)
    draws = [
        ((torch.rand(3) < predicted_share).tolist(), corrupted(batch.target, 20).tolist()) for _ in range(refinements)
    ]
    torch.manual_seed(7)
    loss = model.loss(batch)

    words = smoothed = lengths = torch.zeros(())
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        length_L, words_TV = log_probs_of_one(model, source, [MASK] * len(target))
        lengths = lengths - length_L[len(target)]
        passes = [words_TV]
        for use_predicted_B, noisy_BT in draws:
            inputs = passes[-1].argmax(-1).tolist() if use_predicted_B[row] else noisy_BT[row][: len(target)]
            passes.append(log_probs_of_one(model, source, inputs)[1])
        for words_TV in passes:
            for place, token in enumerate(target):
                words = words - words_TV[place, token]
                smoothed = smoothed - 0.9 * words_TV[place, token] - 0.1 * words_TV[place].mean()
    assert int(loss.count) == (1 + refinements) * sum(map(len, TARGETS))
    torch.testing.assert_close(loss.parts["word"], words)
    torch.testing.assert_close(loss.parts["length"], lengths)
    torch.testing.assert_close(loss.total, smoothed + lengths)


def corrupted_one_by_one(words: list[int], kinds: list[int | None], others: list[int]) -> list[int]:
    """The corruption in the words of Lee et al."""
    words = list(words)
    for place, kind in enumerate(kinds):
        if kind == 1:
            words[place] = others[place]
        elif kind is not None and place + 1 < len(words):
            words[place + 1], words[place] = words[place], words[place if kind == 0 else place + 1]
    return words


def test_corruption_repeats_replaces_or_swaps_half_of_the_words_from_left_to_right() -> None:
    target = pad([[100 + place for place in range(length)] for length in (1, 2, 3, 9, 9, 9)] * 50, 0, CPU)
    torch.manual_seed(1)
    noisy_BT = corrupted(target, 90).tolist()
    torch.manual_seed(1)
    kind_BT = torch.randint(3, target.ids.shape)
    is_corrupted_BT = torch.rand(target.ids.shape) < CORRUPTED_SHARE
    other_BT = torch.randint(90, target.ids.shape)
    for row, length in enumerate(target.layout.lengths_B.tolist()):
        kinds = [int(kind) if hit else None for kind, hit in zip(kind_BT[row], is_corrupted_BT[row], strict=True)]
        words = target.ids[row, :length].tolist()
        assert noisy_BT[row][:length] == corrupted_one_by_one(words, kinds[:length], other_BT[row].tolist())


def test_each_kind_of_corruption_is_as_frequent() -> None:
    torch.manual_seed(1)
    ids_BT = torch.arange(100, 110).repeat(20_000, 1)
    noisy_BT = corrupted(Tokens(ids_BT, Padded.of(torch.full((20_000,), 10), 10)), 100)
    # A word is any other in a sixth of all cases, and in as many its right neighbour.
    assert float((noisy_BT < 100).float().mean()) == pytest.approx(1 / 6, abs=0.005)
    assert float((noisy_BT - ids_BT == 1)[:, :-1].float().mean()) == pytest.approx(1 / 6, abs=0.005)
    # To a third of all places a word comes from the left, and two thirds of these stay there.
    from_left_BT = (noisy_BT >= 100) & (noisy_BT < ids_BT)
    assert float(from_left_BT[:, 1:-1].float().mean()) == pytest.approx(2 / 9, abs=0.005)


def test_corruption_never_crosses_the_border_between_packed_sentences(pack: Callable[..., Tokens]) -> None:
    torch.manual_seed(2)
    rows = [[10, 11], [20, 21, 22], [30]] * 2_000
    noisy = corrupted(pack(rows, [1]), 5).tolist()[:-1]  # any other word is below 5
    sentences = [token // 10 for row in rows for token in row]
    assert all(word < 5 or word // 10 == own for word, own in zip(noisy, sentences, strict=True))


def refined(model: Refinement, source: tuple[int, ...], size: int, passes: int) -> list[list[int]]:
    """The words after each pass, in the words of the specification."""
    words, seen = [], [MASK] * size
    for _ in range(passes):
        log_probs_TV = log_probs_of_one(model, source, seen)[1]
        log_probs_TV[:, list(SUPPRESSED)] = -math.inf
        seen = log_probs_TV.argmax(-1).tolist()
        words.append(seen)
    return words


@torch.inference_mode()
def test_each_pass_predicts_all_words_from_all_words_of_the_one_before(
    model: Refinement, decoder: Decoder, sources: list[tuple[int, ...]]
) -> None:
    settings = RefinementSettings(iterations=4, suppress_tokens=SUPPRESSED, trace=True)
    actual = decoder.translate([Request(source, length=6) for source in sources], settings)
    for source, (best,) in zip(sources, actual, strict=True):
        expected = refined(model, source, 6, 4)
        assert best.ids == expected[-1]
        assert best.trace is not None
        assert [step.ids for step in best.trace.candidates[0].passes] == expected
        assert all(all(step.masked) for step in best.trace.candidates[0].passes)


@torch.inference_mode()
def test_until_stable_it_ends_where_a_pass_changes_nothing(
    model: Refinement, decoder: Decoder, sources: list[tuple[int, ...]]
) -> None:
    settings = RefinementSettings(iterations=10, suppress_tokens=SUPPRESSED, stop_when_stable=True)
    actual = decoder.translate([Request(source, length=2) for source in sources], settings)
    for source, (best,) in zip(sources, actual, strict=True):
        steps = refined(model, source, 2, 10)
        assert best.ids == steps[-1]
        stable = [number for number in range(2, 11) if steps[number - 1] == steps[number - 2]]
        assert best.passes == (stable[0] if stable else 10)
    assert any(best.passes < 10 for (best,) in actual)


def test_another_strategy_is_refused() -> None:
    with pytest.raises(UserError, match="learned no other strategy than refine"):
        RefinementSettings(strategy="mask_predict")
