"""Time of the CTC lattice on a GPU: kernels, plain PyTorch, and PyTorch's own CTC loss.

    python benchmarks/gpu_ctc_lattice.py results.json

For several shapes of a packed batch, in milliseconds: the sum over all alignments with its gradient, and the best
alignments. Kernels and plain PyTorch are timed as replays of a captured CUDA graph, as in training; PyTorch's CTC loss
cannot be captured, and is timed from launch to end. The script fails if kernels and plain PyTorch disagree. Takes about
15 seconds, most of it capturing hundreds of plain steps.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.kernels import ctc_lattice as kernels
from maskpredict.model.layout import Packed
from maskpredict.systems.ctc_lattice import LatticeInputs, best_reference, sum_reference

REPLAYS = 20
VOCABULARY = 16_000
TOLERANCE = 1e-3
"""Largest difference of posterior probabilities, and relative difference of log-likelihoods."""


@dataclass(frozen=True)
class Shape:
    """Size of a batch; sentences have half to all of `longest` positions, and half as many words."""

    name: str
    sentences: int
    longest: int
    positions: int
    """Width of the tensors, at least `longest`."""
    words: int


SHAPES = [
    Shape("short sentences", 1200, 60, 60, 30),
    Shape("long sentences", 256, 254, 254, 126),
    Shape("short sentences in a training batch, which is as wide as the longest sentence", 1200, 60, 256, 128),
]


@dataclass(frozen=True)
class Measured:
    """Milliseconds of each way at one shape."""

    shape: Shape
    sum_kernel: float
    sum_plain: float
    sum_of_pytorch: float
    best_kernel: float
    best_plain: float
    gradient_difference: float
    """Largest difference between kernel and plain."""
    score_difference: float
    """Largest difference of the best alignments' scores; equally good alignments may differ."""


@dataclass(frozen=True)
class PackedLattice:
    """Random scores of a packed batch."""

    inputs: LatticeInputs
    layout: Packed

    @classmethod
    def of(cls, shape: Shape, device: torch.device) -> PackedLattice:
        """Return a batch of this shape."""
        torch.manual_seed(1)
        lengths_B = torch.randint(shape.longest // 2, shape.longest + 1, (shape.sentences,))
        starts = F.pad(lengths_B.cumsum(0), (1, 0)).int().to(device)
        tokens = int(lengths_B.sum())
        layout = Packed.of(starts, torch.tensor(shape.sentences, device=device), tokens, shape.positions)
        words_BL = torch.randint(5, VOCABULARY, (shape.sentences, shape.words), device=device)
        scores_NC = (3 * torch.randn(tokens, shape.words + 1, device=device)).log_softmax(1)
        counts_B = (lengths_B // 2).clamp(max=shape.words).to(device)
        places_BT = layout.spread(torch.arange(tokens, device=device))
        return cls(LatticeInputs(scores_NC, places_BT, layout.lengths_B, words_BL, counts_B), layout)

    def fields(self) -> tuple[Tensor, ...]:
        """The arguments of the kernels."""
        return tuple(getattr(self.inputs, name) for name in LatticeInputs.__dataclass_fields__)

    def score(self, best_BT: Tensor) -> Tensor:
        """Log-probability [B] of alignments."""
        scores_BTC = self.inputs.scores_NC[self.inputs.places_BT]
        inside_BT = torch.arange(best_BT.shape[1], device=best_BT.device) < self.inputs.lengths_B[:, None]
        return (scores_BTC.gather(2, best_BT[:, :, None])[:, :, 0] * inside_BT).sum(1)

    def loss_of_pytorch(self) -> Callable[[], object]:
        """Return a function that computes PyTorch's CTC loss and its gradient; columns stand for the words."""
        inputs = self.inputs
        log_probs_TBC = inputs.scores_NC[inputs.places_BT.T].requires_grad_()
        targets_BL = torch.arange(1, inputs.words_BL.shape[1] + 1, device=log_probs_TBC.device)
        targets_BL = targets_BL.expand_as(inputs.words_BL).contiguous()
        lengths_B, counts_B = inputs.lengths_B.cpu(), inputs.word_counts_B.cpu()

        def run() -> object:
            loss = F.ctc_loss(log_probs_TBC, targets_BL, lengths_B, counts_B, reduction="sum", zero_infinity=True)
            return torch.autograd.grad(loss, log_probs_TBC)

        return run


def main(results: str) -> None:
    """Measure all shapes; write and print the results."""
    measured = []
    for shape in SHAPES:
        lattice = PackedLattice.of(shape, torch.device("cuda"))
        measured.append(measure(lattice, shape))
        print(json.dumps(asdict(measured[-1])), flush=True)
    machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    Path(results).write_text(json.dumps({**machine, "measured": [asdict(one) for one in measured]}, indent=1) + "\n")


def measure(lattice: PackedLattice, shape: Shape) -> Measured:
    """Compare kernels with plain PyTorch, then time all ways."""
    gradient_difference, score_difference = differences(lattice)
    fields, layout = lattice.fields(), lattice.layout
    return Measured(
        shape,
        sum_kernel=captured(lambda: kernels.sum_alignments(*fields)),
        sum_plain=captured(lambda: sum_reference(lattice.inputs, layout.rows, layout.positions)),
        sum_of_pytorch=timed(lattice.loss_of_pytorch()),
        best_kernel=captured(lambda: kernels.best_alignments(*fields)),
        best_plain=captured(lambda: best_reference(lattice.inputs)),
        gradient_difference=gradient_difference,
        score_difference=score_difference,
    )


def differences(lattice: PackedLattice) -> tuple[float, float]:
    """Return the largest differences between kernels and plain PyTorch, of the gradient and the best scores."""
    nll_B, gradient_NC = kernels.sum_alignments(*lattice.fields())
    plain_B, plain_NC = sum_reference(lattice.inputs, lattice.layout.rows, lattice.layout.positions)
    torch.testing.assert_close(nll_B, plain_B, rtol=TOLERANCE, atol=TOLERANCE)
    torch.testing.assert_close(gradient_NC, plain_NC, rtol=0.0, atol=TOLERANCE)
    best_B, plain_best_B = (
        lattice.score(best_BT)
        for best_BT in (kernels.best_alignments(*lattice.fields()), best_reference(lattice.inputs))
    )
    torch.testing.assert_close(best_B, plain_best_B, rtol=TOLERANCE, atol=TOLERANCE)
    return float((gradient_NC - plain_NC).abs().max()), float((best_B - plain_best_B).abs().max())


def captured(run: Callable[[], object]) -> float:
    """Return the milliseconds of a replay of the captured function."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return timed(graph.replay)


def timed(run: Callable[[], object]) -> float:
    """Return the milliseconds of a run: the median of many, one after the other."""
    run()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(REPLAYS + 1)]
    marks[0].record()
    for mark in marks[1:]:
        run()
        mark.record()
    torch.cuda.synchronize()
    return median(one.elapsed_time(other) for one, other in pairwise(marks))


if __name__ == "__main__":
    main(*sys.argv[1:])
