"""The CMLM's training objective, against the paper's text spelled out position by position."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
import torch
from torch import Tensor

from maskpredict.model.batch import Batch, pad
from maskpredict.model.layout import Layout, Packed, Padded
from maskpredict.systems.base import System
from maskpredict.systems.cmlm import CMLM
from maskpredict.systems.masking import masked_places, sample_masks

CPU = torch.device("cpu")
SOURCES = [[5, 6, 7, 2], [8, 9, 10, 11, 12, 2], [13, 2]]
TARGETS = [[6, 7, 2], [8, 9, 10, 11, 5, 19, 18, 2], [2]]


def batch() -> Batch:
    return Batch(pad(SOURCES, 0, CPU, slot=True), pad(TARGETS, 0, CPU))


@pytest.fixture
def cmlm(make_system: Callable[..., System]) -> CMLM:
    system = make_system("cmlm")
    assert isinstance(system, CMLM)
    return system


def log_probs_of_one(cmlm: CMLM, source: list[int], inputs: list[int]) -> tuple[Tensor, Tensor]:
    """Log-probabilities of every length, and of every token at every position, for one pair alone."""
    tokens = pad([source], 0, CPU, slot=True)
    encoded = cmlm.transformer.encode(tokens.ids, tokens.layout, slot=cmlm.length.slot)
    rest, layout = tokens.layout.without_firsts(encoded)
    target = pad([inputs], 0, CPU)
    hidden = cmlm.transformer.decode(target.ids, target.layout, cmlm.transformer.memory(rest), layout, causal=False)
    words = cmlm.transformer.output(hidden[0, : len(inputs)]).log_softmax(-1)
    return cmlm.length(encoded[:, 0])[0], words


def test_only_masked_positions_enter_the_loss_smoothed_and_the_length_enters_unsmoothed(cmlm: CMLM) -> None:
    torch.manual_seed(7)
    masked_BT = sample_masks(batch().target.layout)
    torch.manual_seed(7)
    loss = cmlm.loss(batch())

    words = smoothed = lengths = torch.zeros(())
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        inputs = [4 if masked_BT[row, place] else token for place, token in enumerate(target)]
        length_L, words_TV = log_probs_of_one(cmlm, source, inputs)
        lengths = lengths - length_L[len(target)]  # the end mark counts
        for place, token in enumerate(target):
            if masked_BT[row, place]:
                words = words - words_TV[place, token]
                smoothed = smoothed - 0.9 * words_TV[place, token] - 0.1 * words_TV[place].mean()
    assert int(loss.count) == int(masked_BT.sum())
    torch.testing.assert_close(loss.parts["word"], words)
    torch.testing.assert_close(loss.parts["length"], lengths)
    torch.testing.assert_close(loss.total, smoothed + lengths)


def layouts() -> dict[str, Layout]:
    """20,000 sentences of seven tokens, padded and packed."""
    rows = 20_000
    starts = torch.arange(0, 7 * rows + 8, 7, dtype=torch.int32)
    return {
        "padded": Padded.of(torch.full((rows,), 7), 8),
        "packed": Packed.of(starts, torch.tensor(rows), 7 * rows + 7, 8),  # with one row of padding
    }


@pytest.mark.parametrize("kind", ["padded", "packed"])
def test_n_is_uniform_1_to_N_inclusive(kind: str) -> None:
    torch.manual_seed(1)
    layout = layouts()[kind]
    masked = sample_masks(layout)
    assert not masked[~layout.valid].any()
    counts = torch.bincount(masked[layout.valid].view(-1, 7).sum(1), minlength=8)
    assert counts[0] == 0
    # Each of the seven sizes is expected 2,857 times, with a standard deviation of 49.
    assert (counts[1:] - 20_000 / 7).abs().max() < 250


def test_every_subset_of_a_size_is_equally_likely() -> None:
    torch.manual_seed(2)
    masked_BT = sample_masks(Padded.of(torch.full((40_000,), 4), 8))[:, :4]
    pairs_B4 = masked_BT[masked_BT.sum(1) == 2]
    for chosen in combinations(range(4), 2):
        share = float(pairs_B4[:, list(chosen)].all(1).float().mean())
        assert share == pytest.approx(1 / 6, abs=0.02), chosen


def test_the_fully_masked_target_from_which_decoding_starts_is_trained_on() -> None:
    torch.manual_seed(3)
    masked_BT = sample_masks(Padded.of(torch.full((4_000,), 10), 16))[:, :10]
    assert float(masked_BT.all(1).float().mean()) == pytest.approx(0.1, abs=0.03)


def test_EOS_is_maskable_and_counts(cmlm: CMLM) -> None:
    only_eos = Batch(pad([[5, 2], [6, 7, 2]], 0, CPU, slot=True), pad([[2], [2]], 0, CPU))
    loss = cmlm.loss(only_eos)
    assert int(loss.count) == 2
    expected = -sum(log_probs_of_one(cmlm, source, [4])[1][0, 2] for source in ([5, 2], [6, 7, 2]))
    torch.testing.assert_close(loss.parts["word"], expected)
    torch.manual_seed(4)
    at_the_end = sample_masks(Padded.of(torch.full((4_000,), 5), 8))[:, 4]
    assert float(at_the_end.float().mean()) == pytest.approx(0.6, abs=0.03)  # (N + 1) / 2N


def test_no_label_smoothing_makes_the_total_the_sum_of_its_parts(cmlm: CMLM) -> None:
    cmlm.label_smoothing = 0.0
    loss = cmlm.loss(batch())
    torch.testing.assert_close(loss.total, loss.parts["word"] + loss.parts["length"])


def test_masks_are_drawn_anew_each_time_and_repeat_with_the_seed() -> None:
    layout = Padded.of(torch.full((50,), 9), 16)
    torch.manual_seed(5)
    first, second = sample_masks(layout), sample_masks(layout)
    torch.manual_seed(5)
    assert torch.equal(sample_masks(layout), first)
    assert not torch.equal(first, second)


def test_a_packed_batch_has_room_for_all_its_masked_tokens() -> None:
    torch.manual_seed(6)
    layout = layouts()["packed"]
    masked = sample_masks(layout)
    index_M, counted_M = masked_places(masked, layout)
    assert index_M[counted_M.bool()].tolist() == masked.nonzero()[:, 0].tolist()


@pytest.mark.parametrize(("tokens", "length"), [(1_024, 60), (4_096, 31), (4_096, 126), (16_384, 40)])
def test_masked_tokens_of_small_packed_parts_are_not_lost(tokens: int, length: int) -> None:
    torch.manual_seed(8)
    rows = tokens // length
    starts = torch.arange(rows + 1, dtype=torch.int32) * length
    layout = Packed.of(starts, torch.tensor(rows), tokens, max_length=127)
    lost = drawn = 0
    for _ in range(200):
        masked = sample_masks(layout)
        index_M, counted_M = masked_places(masked, layout)
        drawn += int(masked.sum())
        lost += int(masked.sum()) - int(counted_M.sum())
        assert len(index_M) <= tokens
    assert lost <= drawn / 10_000


@pytest.mark.parametrize("system_name", ["cmlm", "autoregressive"])
def test_losses_of_parts_add_up_to_that_of_the_whole(make_system: Callable[..., System], system_name: str) -> None:
    system = make_system(system_name)
    targets = [[2], [2], [2]] if system_name == "cmlm" else TARGETS
    slot = system.reserves_slot
    whole = system.loss(Batch(pad(SOURCES, 0, CPU, slot=slot), pad(targets, 0, CPU)))
    parts = [
        system.loss(Batch(pad([source], 0, CPU, slot=slot), pad([target], 0, CPU)))
        for source, target in zip(SOURCES, targets, strict=True)
    ]
    torch.testing.assert_close(whole.total, sum(part.total for part in parts))
    assert int(whole.count) == sum(int(part.count) for part in parts)
