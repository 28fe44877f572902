"""The aligner finds which words translate each other, and counts them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
import torch

from maskpredict.model.batch import Batch, Tokens, pad
from maskpredict.systems.word_aligner import WordAligner, alignment_loss, fertilities

CPU = torch.device("cpu")


def test_the_aligner_learns_a_dictionary_despite_another_word_order() -> None:
    # Word w becomes w + 20, and words from 15 on become two; the words of a target change places with their neighbours.
    chance, pairs = random.Random(1), []
    for _ in range(300):
        source = [chance.randrange(5, 20) for _ in range(chance.randint(3, 6))]
        order = [source[place ^ 1] if place ^ 1 < len(source) else source[place] for place in range(len(source))]
        target = [word for w in order for word in ([w + 20, w + 30] if w >= 15 else [w + 20])]
        pairs.append((source, target))
    batch = Batch(pad([source for source, _ in pairs], 0, CPU), pad([target for _, target in pairs], 0, CPU))
    torch.manual_seed(1)
    aligner = WordAligner(20, 60)
    optimizer = torch.optim.Adam(aligner.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        alignment_loss(aligner(batch), batch).backward()
        optimizer.step()
    fertilities_BS = fertilities(aligner(batch), batch)
    right = total = 0
    for (source, target), counts in zip(pairs, fertilities_BS.tolist(), strict=True):
        assert sum(counts) == len(target)
        assert not any(counts[len(source) :])
        if len(set(source)) == len(source):  # which of two equal words it is, does not matter
            right += sum(count == (2 if word >= 15 else 1) for count, word in zip(counts, source, strict=False))
            total += len(source)
    assert total > 300
    assert right / total > 0.99


def test_alignment_probabilities_are_those_of_the_model() -> None:
    torch.manual_seed(2)
    aligner = WordAligner(20, 20)
    source, target = [5, 6, 2], [7, 8, 9, 2]
    batch = Batch(pad([source, [5, 2]], 0, CPU), pad([target, [7, 2]], 0, CPU))
    aligned_SL = aligner(batch)[0].detach()
    becomes_SV = aligner.become(aligner.words(torch.tensor(source))).log_softmax(-1).detach()
    for place, word in enumerate(target):
        away = [abs((s + 0.5) / 3 - (place + 0.5) / 4) for s in range(3)]
        norm = sum(math.exp(-4 * distance) for distance in away)
        for s in range(3):
            expected = float(becomes_SV[s, word]) - 4 * away[s] - math.log(norm)
            assert float(aligned_SL[s, place]) == pytest.approx(expected, abs=1e-4)
    assert (aligned_SL[3:] == -math.inf).all()


def test_packed_sentences_give_the_same_results(pack: Callable[..., Tokens]) -> None:
    torch.manual_seed(3)
    aligner = WordAligner(20, 20)
    sources, targets = [[5, 6, 2], [7, 2]], [[7, 8, 9, 2], [10, 2]]
    padded = Batch(pad(sources, 0, CPU), pad(targets, 0, CPU))
    packed = Batch(pack(sources, [3, 0]), pack(targets, [2, 0]))
    gradients = []
    for batch in (padded, packed):
        aligner.zero_grad()
        alignment_loss(aligner(batch), batch).backward()
        gradients.append([parameter.grad.clone() for parameter in aligner.parameters() if parameter.grad is not None])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)
    assert fertilities(aligner(packed), packed)[:2, :3].tolist() == fertilities(aligner(padded), padded)[:, :3].tolist()
