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
from maskpredict.systems.refinement import Refinement, with_noise

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


@pytest.mark.parametrize("own_guesses", [0.0, 0.5, 1.0])
def test_the_loss_is_that_of_a_guess_from_masks_and_of_its_correction(
    model: Refinement, monkeypatch: pytest.MonkeyPatch, own_guesses: float
) -> None:
    monkeypatch.setattr(refinement, "OWN_GUESS_SHARE", own_guesses)
    batch = Batch(pad(SOURCES, 0, CPU, slot=True), pad(TARGETS, 0, CPU))
    torch.manual_seed(7)
    own_B = (torch.rand(3) < own_guesses).tolist()
    noisy_BT = with_noise(batch.target, 20).tolist()
    torch.manual_seed(7)
    loss = model.loss(batch)

    words = smoothed = lengths = torch.zeros(())
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        length_L, first_TV = log_probs_of_one(model, source, [MASK] * len(target))
        flawed = first_TV.argmax(-1).tolist() if own_B[row] else noisy_BT[row][: len(target)]
        _, second_TV = log_probs_of_one(model, source, flawed)
        lengths = lengths - length_L[len(target)]
        for words_TV in (first_TV, second_TV):
            for place, token in enumerate(target):
                words = words - words_TV[place, token]
                smoothed = smoothed - 0.9 * words_TV[place, token] - 0.1 * words_TV[place].mean()
    assert int(loss.count) == 2 * sum(map(len, TARGETS))
    torch.testing.assert_close(loss.parts["word"], words)
    torch.testing.assert_close(loss.parts["length"], lengths)
    torch.testing.assert_close(loss.total, smoothed + lengths)


def test_noise_replaces_up_to_half_of_the_words_by_neighbours_or_by_any() -> None:
    torch.manual_seed(1)
    ids_BT = torch.arange(100, 110).repeat(20_000, 1)
    noisy_BT = with_noise(Tokens(ids_BT, Padded.of(torch.full((20_000,), 10), 10)), 1_000)
    changed_BT = noisy_BT != ids_BT
    assert float(changed_BT[:, 1:-1].float().mean()) == pytest.approx(0.25, abs=0.01)
    step = (noisy_BT - ids_BT)[:, 1:-1]
    for neighbour in (-1, 1):
        assert float((step == neighbour).float().mean()) == pytest.approx(0.25 / 3, abs=0.005)
    assert len(noisy_BT[changed_BT].unique()) > 900
    # The share is drawn for each sentence: some have no noise at all, some much.
    assert changed_BT.any(1).float().mean() < 0.95
    assert changed_BT.float().mean(1).max() >= 0.8


def test_noise_never_crosses_the_border_between_packed_sentences(pack: Callable[..., Tokens]) -> None:
    torch.manual_seed(2)
    rows = [[10, 11], [20, 21, 22], [30]] * 2_000
    noisy = with_noise(pack(rows, [1]), 5).tolist()[:-1]  # any other word is below 5
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
