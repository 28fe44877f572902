"""How long each layer of a base model takes on a GPU, with the fused kernels cut up in several ways and without them.

    python benchmarks/gpu_kernels.py results.json

For every layer and several numbers of rows, in float16: microseconds of one launch in a recorded graph of many, one
after the other as in a translation, with weights that come from memory and with weights that are in the cache; which
way of cutting up is fastest, against the one that `kernels.linear_blocks` and `kernels.vocabulary` choose; and
PyTorch's own kernels. Then attention to the source, from the norm on, as one kernel and as two. Then the chosen ways of
all layers once more, without being started before the kernel in front of them has ended (`kernels.pdl`).
Takes a minute, most of it compiling.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskpredict.kernels import pdl
from maskpredict.kernels import reference as fused_ops
from maskpredict.kernels.cross_attention import cross_attend
from maskpredict.kernels.linear import linear
from maskpredict.kernels.linear_blocks import MANY_ROWS, Blocks, choose_blocks
from maskpredict.kernels.reference import Activation
from maskpredict.kernels.row_attention import attend
from maskpredict.kernels.vocabulary import TILES_BY_ROWS, Tile, block_bests, choose_tile

ROWS = (16, 32, 40, 160, 200)
"""A sentence or two at T=4 with one length candidate, or one with five of them."""
WIDTH, VOCABULARY = 512, 16_000
LAUNCHES = 100
"""In a graph, at least."""
MORE_THAN_THE_CACHE = 120 * 2**20
"""Bytes of weights that one graph goes through, so that none is still in the cache when its turn comes again."""
REPLAYS = 20
COMPILERS = 12
"""Kernels that are compiled side by side."""
SMALL = [Blocks(16, 16), Blocks(16, 32), Blocks(32, 16), Blocks(32, 32)]
LARGE = [Blocks(16, 64), Blocks(32, 64), Blocks(64, 32), Blocks(64, 64), Blocks(16, 128), Blocks(32, 128), MANY_ROWS]
DRAFTS, POSITIONS, SOURCE, HEADS = (1, 5), 32, 27, 8
"""Of attention to the source."""

Way = Blocks | Tile | None
"""How a kernel is cut up; None: the way that is chosen for this number of rows."""
Run = Callable[[Tensor, Tensor, Way], object]
"""(rows, weights, way) -> outputs"""


@dataclass(frozen=True)
class ProductShape:
    """One kind of layer."""

    name: str
    inputs: int
    outputs: int
    ways: Sequence[Blocks | Tile]
    norm: bool = False
    activation: Activation | None = None
    residual: bool = False


SHAPES = [
    ProductShape("queries, keys, values", WIDTH, 3 * WIDTH, [*SMALL, *LARGE, Blocks(16, 32, warps=4)], norm=True),
    ProductShape("cross query", WIDTH, WIDTH, [*SMALL, Blocks(16, 32, warps=4)], norm=True),
    ProductShape(
        "attention output", WIDTH, WIDTH, [*SMALL, Blocks(16, 16, warps=4), Blocks(16, 32, warps=4)], residual=True
    ),
    ProductShape("feed-forward 1", WIDTH, 4 * WIDTH, [*SMALL[1:], *LARGE], norm=True, activation="gelu"),
    ProductShape(
        "feed-forward 2",
        4 * WIDTH,
        WIDTH,
        [*SMALL, *(Blocks(16, 16, step=step) for step in (256, 1024)), Blocks(16, 16, warps=4)],
        residual=True,
    ),
    ProductShape("vocabulary", WIDTH, VOCABULARY, [*TILES_BY_ROWS, Tile(16, 64, 4), Tile(32, 64, 4), Tile(64, 128, 3)]),
]


@dataclass(frozen=True)
class Measured:
    """One layer, one number of rows, one way."""

    shape: str
    rows: int
    way: str
    chosen: bool
    """Whether this is the way that is taken by itself."""
    from_memory: float
    """Microseconds of a launch whose weights come from memory."""
    from_cache: float
    difference: float
    """The largest one to float32, relative to the largest output."""
    same_in_company: bool
    """Whether the first row comes out the same as it does alone, the chosen way."""


class Layer:
    """A shape with numbers in it."""

    def __init__(self, shape: ProductShape) -> None:
        self.shape = shape
        count = max(1, -(-MORE_THAN_THE_CACHE // (2 * shape.inputs * shape.outputs)))
        self.weights = numbers(count, shape.outputs, shape.inputs) / shape.inputs**0.5
        self.bias = numbers(shape.outputs)
        self.norm = nn.LayerNorm(shape.inputs).to("cuda", torch.float16)
        self.norm.weight.data, self.norm.bias.data = 1 + 0.1 * numbers(shape.inputs), 0.1 * numbers(shape.inputs)
        self.x, self.residual = numbers(max(ROWS), shape.inputs), numbers(max(ROWS), shape.outputs)
        self.penalty = torch.zeros(shape.outputs, device="cuda")

    @property
    def of_vocabulary(self) -> bool:
        return self.shape.name == "vocabulary"

    def fused(self, x: Tensor, weight: Tensor, way: Way) -> Tensor:
        """With one of our kernels."""
        if self.of_vocabulary:
            assert way is None or isinstance(way, Tile)
            return block_bests(x, self.norm, weight, self.penalty, tile=way).highest_GN.T
        assert way is None or isinstance(way, Blocks)
        return linear(x, weight, self.bias, **self.around(x), blocks=way)

    def plain(self, x: Tensor, weight: Tensor, way: Way = None) -> object:
        """With PyTorch's."""
        if not self.of_vocabulary:
            return fused_ops.linear(x, weight, self.bias, **self.around(x))
        logits = F.linear(self.norm(x), weight).float() + self.penalty
        return logits.max(1), logits.logsumexp(1)

    def exact(self, x: Tensor, weight: Tensor) -> Tensor:
        """In float32."""
        norm = nn.LayerNorm(self.shape.inputs, device="cuda")
        norm.load_state_dict(self.norm.state_dict())
        if self.of_vocabulary:
            return fused_ops.block_bests(x.float(), norm, weight.float(), self.penalty).highest_GN.T
        around = self.around(x)
        if self.shape.norm:
            around["norm"] = norm
        if self.shape.residual:
            around["residual_NM"] = around["residual_NM"].float()
        return fused_ops.linear(x.float(), weight.float(), self.bias.float(), **around)

    def around(self, x: Tensor) -> dict[str, Any]:
        """What stands around the linear layer."""
        return {
            "norm": self.norm if self.shape.norm else None,
            "activation": self.shape.activation,
            "residual_NM": self.residual[: len(x)] if self.shape.residual else None,
        }

    def chosen(self, rows: int) -> Way:
        """The way that is taken by itself."""
        if self.of_vocabulary:
            return choose_tile(rows)
        return choose_blocks(rows, self.shape.inputs, self.shape.outputs, whole=self.shape.norm)


def main(results: str) -> None:
    """Measure every shape; write and print the results."""
    torch.manual_seed(1)
    layers = [Layer(shape) for shape in SHAPES]
    compile_all(layers)
    measured: list[Measured] = []
    for layer in layers:
        for rows in ROWS:
            found, plain = measured_ways(layer, rows), of_pytorch(layer, rows)
            measured += [*found, plain]
            show(plain, found)
        write(Path(results), measured)
    for drafts in DRAFTS:
        measured += attention_to_the_source(layers[1], drafts)
    wanted = chain(layers[1], layers[2])
    pdl.ENABLED = False
    compile_all(layers, chosen_only=True)
    print("not started ahead; a chain of layers comes out the same:", torch.equal(wanted, chain(layers[1], layers[2])))
    for layer in layers:
        for rows in ROWS:
            behind = measure(layer, rows, None)
            measured.append(replace(behind, way="not ahead"))
            print(f"{layer.shape.name:22} {rows:4} rows: {behind.from_memory:6.2f} us  same {behind.same_in_company}")
        write(Path(results), measured)


def numbers(*shape: int) -> Tensor:
    """Random ones."""
    return torch.randn(shape, device="cuda", dtype=torch.float16)


def ways_of(layer: Layer, rows: int) -> list[Way]:
    """Those of the shape, and the chosen one if it is none of them."""
    return list(dict.fromkeys([*layer.shape.ways, layer.chosen(rows)]))


@torch.inference_mode()
def compile_all(layers: Sequence[Layer], *, chosen_only: bool = False) -> None:
    """Launch everything once, so that it is compiled."""

    def launch(job: tuple[Layer, Way]) -> None:
        layer, way = job
        try:
            with torch.inference_mode():
                layer.fused(layer.x[:16], layer.weights[0], way)
        except Exception as error:  # the others go on; `measured_ways` says it again
            print(f"{layer.shape.name}, {way}: {error}")

    jobs = dict.fromkeys(
        (layer, way)
        for layer in layers
        for rows in ROWS
        for way in ([layer.chosen(rows)] if chosen_only else ways_of(layer, rows))
    )
    with ThreadPoolExecutor(COMPILERS) as pool:
        list(pool.map(launch, jobs))
    torch.cuda.synchronize()


def measured_ways(layer: Layer, rows: int) -> list[Measured]:
    """Every way that works."""
    found = []
    for way in ways_of(layer, rows):
        try:
            found.append(measure(layer, rows, way))
        except Exception as error:  # too little room on this GPU, for instance
            print(f"{layer.shape.name}, {rows} rows, {way}: {error}")
    return found


@torch.inference_mode()
def measure(layer: Layer, rows: int, way: Way) -> Measured:
    """One of our kernels."""
    x, weight = layer.x[:rows], layer.weights[0]
    got, exact = layer.fused(x, weight, way), layer.exact(x, weight)
    same = torch.equal(got[:1], layer.fused(x[:1], weight, None))
    difference = float((got - exact).abs().max() / exact.abs().max())
    chosen = way is None or way == layer.chosen(rows)
    return Measured(layer.shape.name, rows, str(way), chosen, *times(layer, x, layer.fused, way), difference, same)


@torch.inference_mode()
def attention_to_the_source(queries: Layer, drafts: int) -> list[Measured]:
    """From the layer norm to the heads' outputs, as one kernel and as two."""
    x = queries.x[: drafts * POSITIONS]
    keys, values = numbers(2, 1, POSITIONS, HEADS, WIDTH // HEADS)
    lengths, layer = torch.tensor([SOURCE], device="cuda"), nn.Linear(WIDTH, WIDTH, device="cuda", dtype=torch.float16)

    def one(x: Tensor, weight: Tensor, way: Way) -> Tensor:
        layer.weight.data = weight
        return cross_attend(x, queries.norm, layer, keys, values, lengths, drafts)

    def two(x: Tensor, weight: Tensor, way: Way) -> Tensor:
        q = linear(x, weight, layer.bias, norm=queries.norm).view(drafts, POSITIONS, HEADS, -1)
        return attend(q, keys, values, lengths).flatten(0, 1).flatten(1)

    found = []
    wanted = two(x, queries.weights[0], None)
    for name, run in (("one kernel", one), ("two kernels", two)):
        difference = float((run(x, queries.weights[0], None) - wanted).abs().max() / wanted.abs().max())
        took = times(queries, x, run)
        found.append(Measured("attention to the source", len(x), name, run is one, *took, difference, False))
        print(
            f"attention to the source {len(x):4} rows: {took[0]:6.2f} us  {name}, off by {difference:.1e}", flush=True
        )
    return found


@torch.inference_mode()
def chain(first: Layer, second: Layer, rows: int = 32) -> Tensor:
    """What comes out of a graph of many layers, each of which needs what the one before it wrote."""
    before = first.x[:rows].clone()

    def run() -> Tensor:
        x = before
        for number in range(LAUNCHES // 2):
            inner = linear(x, first.weights[number], first.bias, norm=first.norm)
            x = linear(inner, second.weights[number], second.bias, residual_NM=x)
        return x

    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        after = run()
    for _ in range(REPLAYS):
        graph.replay()
    torch.cuda.synchronize()
    return after.clone()


@torch.inference_mode()
def of_pytorch(layer: Layer, rows: int) -> Measured:
    """PyTorch's kernels, as many as it takes."""
    return Measured(layer.shape.name, rows, "PyTorch", False, *times(layer, layer.x[:rows], layer.plain), 0.0, False)


def times(layer: Layer, x: Tensor, run: Run, way: Way = None) -> tuple[float, float]:
    """Microseconds of a launch, with weights from memory and from the cache."""
    launches = len(layer.weights) if layer.of_vocabulary else max(LAUNCHES, len(layer.weights))
    return timed(run, x, layer.weights, launches, way), timed(run, x, layer.weights[:1], launches, way)


def timed(run: Run, x: Tensor, weights: Tensor, launches: int, way: Way) -> float:
    """Microseconds of one of many launches in a graph: the median over its replays."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run(x, weights[0], way)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for number in range(launches):
            run(x, weights[number % len(weights)], way)
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(REPLAYS + 1)]
    graph.replay()
    marks[0].record()
    for mark in marks[1:]:
        graph.replay()
        mark.record()
    torch.cuda.synchronize()
    return 1000 * median(one.elapsed_time(other) for one, other in pairwise(marks)) / launches


def show(plain: Measured, found: Sequence[Measured]) -> None:
    """The chosen way and all others, the fastest first."""
    print(f"{plain.shape:22} {plain.rows:4} rows: PyTorch {plain.from_memory:6.2f} us")
    for one in sorted(found, key=lambda one: one.from_memory):
        mark = "*" if one.chosen else " "
        print(
            f"  {mark} {one.from_memory:6.2f} us  in cache {one.from_cache:6.2f} us"
            f"  off by {one.difference:.1e}  same {one.same_in_company!s:5} {one.way}",
            flush=True,
        )


def write(results: Path, measured: Sequence[Measured]) -> None:
    """Everything so far."""
    machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    results.write_text(json.dumps({**machine, "measured": [asdict(one) for one in measured]}, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
