"""Expected bigram matches against all texts that the positions may say, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product

import pytest
import torch
from torch import Tensor

from maskpredict.model.batch import Batch, Tokens, pad
from maskpredict.model.layout import Packed, Padded
from maskpredict.systems.alignment import Alignment, AlignmentOptions, RevealConfig
from maskpredict.systems.base import System
from maskpredict.systems.bigram_matches import unmatched_bigrams
from maskpredict.systems.ctc import CTC, CTCOptions
from maskpredict.systems.ctc_lattice import LatticeInputs
from maskpredict.training.engine import mixed_precision

CPU = torch.device("cpu")
BLANK, VOCABULARY = 0, 4
LENGTHS = [5, 3, 5, 1, 4]
TARGETS = [[1, 2, 3], [2, 2], [1, 2, 1, 2], [3], [3, 3, 3, 1, 2]]
"""The third says a bigram twice, and the last is too long for its four positions."""


def logits() -> Tensor:
    torch.manual_seed(1)
    return (2 * torch.randn(sum(LENGTHS), VOCABULARY)).requires_grad_()


def one_by_one(logits_TV: Tensor, target: list[int]) -> Tensor:
    """1 - F1 of the bigrams of all texts, by their probabilities."""
    log_probs_TV = logits_TV.log_softmax(-1)
    expected: dict[tuple[int, int], Tensor] = Counter()  # type: ignore[assignment]
    for way in product(range(VOCABULARY), repeat=len(log_probs_TV)):
        said = [token for place, token in enumerate(way) if token != BLANK and way[:place][-1:] != (token,)]
        probability = torch.stack([log_probs_TV[t, token] for t, token in enumerate(way)]).sum().exp()
        for bigram in pairwise(said):
            expected[bigram] = expected[bigram] + probability
    wanted = Counter(pairwise(target))
    matched = torch.stack([torch.clamp(expected[bigram], max=float(count)) for bigram, count in wanted.items()]).sum()
    return 1 - 2 * matched / (sum(expected.values()) + sum(wanted.values()))


def inputs_of(logits_NV: Tensor, layout: Padded | Packed, targets: list[list[int]]) -> LatticeInputs:
    width = max(map(len, targets))
    words_BL = torch.tensor([target + [0] * (width - len(target)) for target in targets])
    wanted_NC = torch.cat([torch.full_like(words_BL[:, :1], BLANK), words_BL], 1)[layout.rows.flatten()]
    scores_NC = logits_NV.log_softmax(-1).gather(1, wanted_NC)
    places = torch.arange(len(logits_NV)).view(layout.rows.shape)
    return LatticeInputs(
        scores_NC, layout.spread(places), layout.lengths_B, words_BL, torch.tensor([len(target) for target in targets])
    )


@pytest.mark.parametrize("packed", [False, True])
def test_the_loss_and_its_gradient_are_those_of_all_texts_one_by_one(packed: bool) -> None:
    real_NV = logits()
    starts = torch.tensor([0, *LENGTHS]).cumsum(0).int()
    layout: Padded | Packed = Packed.of(starts, torch.tensor(5), int(starts[-1]), 8)
    logits_NV = real_NV
    if not packed:
        layout = Padded.of(torch.tensor(LENGTHS), 8)
        logits_NV = torch.zeros(5 * 8, VOCABULARY).index_put((layout.valid.flatten().nonzero()[:, 0],), real_NV)
    unmatched_B = unmatched_bigrams(inputs_of(logits_NV, layout, TARGETS), logits_NV, layout, BLANK)
    sentences = [real_NV[start:end] for start, end in pairwise(starts.tolist())]
    expected = [
        one_by_one(sentence, target) if len(target) > 1 else torch.tensor(0.0)
        for sentence, target in zip(sentences, TARGETS, strict=True)
    ]
    torch.testing.assert_close(unmatched_B, torch.stack(expected), rtol=1e-4, atol=1e-5)
    weights_B = torch.linspace(1.0, 2.0, len(TARGETS))
    (gradient,) = torch.autograd.grad((weights_B * unmatched_B).sum(), real_NV, retain_graph=True)
    (wanted,) = torch.autograd.grad((weights_B * torch.stack(expected)).sum(), real_NV)
    torch.testing.assert_close(gradient, wanted, rtol=1e-3, atol=1e-5)


def test_a_text_that_is_certain_costs_nothing_and_one_in_another_order_little() -> None:
    target, layout = [1, 2, 3, 1], Padded.of(torch.tensor([8]), 8)
    losses = []
    for said in ([1, 0, 2, 2, 3, 0, 0, 1], [3, 1, 0, 2, 0, 3, 0, 0], [3, 0, 2, 0, 1, 0, 0, 0]):
        logits_NV = torch.full((8, VOCABULARY), -60.0).index_put(
            (torch.arange(8), torch.tensor(said)), torch.tensor(0.0)
        )
        losses.append(float(unmatched_bigrams(inputs_of(logits_NV, layout, [target]), logits_NV, layout, BLANK)))
    assert losses[0] == pytest.approx(0.0, abs=1e-5)
    assert losses[1] == pytest.approx(0.0, abs=1e-5)  # 3 1, 1 2, 2 3: the same bigrams
    assert losses[2] == pytest.approx(1.0, abs=1e-5)


SOURCES = [[5, 6, 7, 2], [8, 9, 10, 11, 12, 2], [2]]
WANTED = [[6, 7, 2], [8, 9, 9, 11, 5, 19, 18, 2], [5, 6, 7, 2]]
"""The last has four words and its source three positions."""


def batch() -> Batch:
    return Batch(pad(SOURCES, 0, CPU), pad(WANTED, 0, CPU))


@pytest.mark.parametrize("name", ["ctc", "alignment"])
def test_it_takes_its_share_of_the_loss_where_nothing_is_shown(make_system: Callable[..., System], name: str) -> None:
    system = make_system(name, seed=2)
    assert isinstance(system, CTC)
    totals = []
    for share in (0.0, 0.5, 1.0):
        options = AlignmentOptions(share, RevealConfig(partial=0.0, glancing=0.0))
        system.options = options if isinstance(system, Alignment) else CTCOptions(share)
        loss = system.loss(batch())
        assert int(loss.count) == 3 + 8
        totals.append(float(loss.total.detach()))
    assert totals[1] == pytest.approx((totals[0] + totals[2]) / 2, rel=1e-4)
    assert 0 < totals[2] < 3 + 8
    with mixed_precision(CPU, torch.bfloat16):
        half = system.loss(batch())
    half.total.backward()
    assert float(half.total.detach()) == pytest.approx(totals[2], rel=0.05)
    assert all(p.grad is None or p.grad.isfinite().all() for p in system.parameters())


def test_sentences_that_show_something_keep_the_likelihood(
    make_system: Callable[..., System], monkeypatch: pytest.MonkeyPatch
) -> None:
    system = make_system("alignment", seed=2)
    assert isinstance(system, Alignment)
    monkeypatch.setattr(Alignment, "_shown_counts", lambda self, layout, wrong_N: torch.tensor([2, 2, 2]))
    totals = []
    for share in (0.0, 1.0):
        system.options = AlignmentOptions(share)
        torch.manual_seed(1)
        totals.append(float(system.loss(batch()).total.detach()))
    assert totals[0] == totals[1]


def test_the_loss_can_be_compiled_in_one_piece(make_system: Callable[..., System], pack: Callable[..., Tokens]) -> None:
    system = make_system("ctc")
    assert isinstance(system, CTC)
    system.options = CTCOptions(0.5)
    packed = Batch(pack(SOURCES, [3, 0]), pack(WANTED, [5, 0]))
    compiled = torch.compile(lambda: system.loss(packed).total, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(), system.loss(packed).total)
