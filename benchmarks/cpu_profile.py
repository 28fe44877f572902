"""Where the time of a translation on a CPU in eight bits goes, part by part.

    python benchmarks/cpu_profile.py CMLM SENTENCES results.json [THREADS]

SENTENCES is a text file, compressed or not, whose first 96 lines are translated in 4 passes with one length candidate,
one by one and 32 at a time, lines of similar length together as in `maskpredict bench`. Each function that makes up a
part is put under a clock. Time in a part within another counts for the inner one alone; what is in none is the rest. To
see what the machine could do, the matrix products of a round are then made once more with nothing between them.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from maskpredict.bench.machine import describe_machine
from maskpredict.corpus.reading import read_lines
from maskpredict.decoding import finish
from maskpredict.model import int8_transformer
from maskpredict.model.int8 import Int8Linear, Int8Matrix
from maskpredict.model.int8_transformer import Int8Transformer
from maskpredict.runtime.lines import LineCodec
from maskpredict.runtime.translator import Translator

SENTENCES, ROUNDS = 96, 9
BATCH_SIZES = (1, 32)
SETTINGS: dict[str, Any] = {"iterations": 4, "length_candidates": 1}
LAYERS, VOCABULARY, ACTIVATION, REST = "layers' products", "vocabulary's product", "activation", "the rest"
PARTS: list[tuple[str, list[tuple[Any, str]]]] = [
    ("rounding inputs, scaling outputs", [(Int8Linear, "consume"), (Int8Linear, "forward")]),
    ("attention", [(int8_transformer, "_attend")]),
    ("layer norms, residual sums", [(int8_transformer._Sublayer, "before"), (int8_transformer._Sublayer, "after")]),
    ("best tokens", [(finish, "best_tokens")]),
    ("choice of masks", [(finish, "mask_predict")]),
    ("subwords", [(LineCodec, "requests"), (LineCodec, "translation")]),
]
"""What each part is made of, besides the products and the activation."""


@dataclass
class Clock:
    """Seconds that were spent in each part, without the parts inside it."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    inside: list[float] = field(default_factory=lambda: [0.0])
    """Of each part that has not ended yet, the seconds spent in parts inside it."""

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function under the clock."""

        def run(*args: Any, **options: Any) -> Any:
            self.inside.append(0.0)
            started = time.perf_counter()
            result = function(*args, **options)
            took = time.perf_counter() - started
            self.seconds[part] += took - self.inside.pop()
            self.inside[-1] += took
            return result

        return run


@dataclass(frozen=True)
class Product:
    """A matrix product that was made."""

    linear: Int8Linear
    multiply: Callable[..., Tensor]
    shape: tuple[int, int, int]
    """Rows, inputs, outputs."""


@dataclass(frozen=True)
class Profile:
    """One batch size; milliseconds are for one sentence, medians over rounds."""

    batch_size: int
    milliseconds: float
    parts: dict[str, float]
    products_alone: float
    """Milliseconds of the matrix products with nothing between them."""
    operations: float
    """Of these products for one sentence, in thousand millions; a multiplication and an addition are two."""


def main(model: str, sentences: str, results: str, threads: str = "2") -> None:
    """Measure; write and print the results."""
    clock, made = Clock(), list[Product]()
    for part, functions in PARTS:
        for owner, name in functions:
            setattr(owner, name, clock.timed(part, getattr(owner, name)))
    watch_products(clock, made)
    translator = Translator(model, device="cpu", compute_type="int8", intra_threads=int(threads))
    watch_activations(translator.system.transformer, clock)
    encode = translator.tokenizers.source.encode
    texts = sorted(islice(read_lines(Path(sentences)), SENTENCES), key=lambda text: len(encode(text)))
    profiles = [profile(translator, texts, size, clock, made) for size in BATCH_SIZES]
    print(table(profiles))
    machine = asdict(describe_machine("cpu", int(threads)))
    content = {"machine": machine, "settings": SETTINGS, "profiles": [asdict(one) for one in profiles]}
    Path(results).write_text(json.dumps(content, indent=1) + "\n")


def watch_products(clock: Clock, made: list[Product]) -> None:
    """Put the products of all layers that are made from now on under the clock, and note each product."""
    initialise = Int8Linear.__init__

    def noted(linear: Int8Linear, multiply: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def run(x: Tensor, *rest: Any) -> Tensor:
            y = multiply(x, *rest)
            made.append(Product(linear, multiply, (x.numel() // x.shape[-1], x.shape[-1], y.shape[-1])))
            return y

        return run

    def initialise_watched(linear: Int8Linear, matrix: Int8Matrix, bias: Tensor | None) -> None:
        initialise(linear, matrix, bias)
        part = VOCABULARY if bias is None else LAYERS  # no other layer is without a bias
        linear.multiply = clock.timed(part, noted(linear, linear.multiply))

    Int8Linear.__init__ = initialise_watched  # type: ignore[method-assign, assignment]


def watch_activations(transformer: Any, clock: Clock) -> None:
    """Put the feed-forward layers' activation under the clock."""
    assert isinstance(transformer, Int8Transformer)
    for step in chain(*transformer.encoder_steps, *transformer.decoder_steps):
        if isinstance(step, int8_transformer._FeedForward):
            step.activation = clock.timed(ACTIVATION, step.activation)


def profile(translator: Translator, texts: Sequence[str], size: int, clock: Clock, made: list[Product]) -> Profile:
    """Several rounds over all texts, and after each its products alone."""
    totals, alone = [], []
    parts: dict[str, list[float]] = defaultdict(list)
    for number in range(1 + ROUNDS):  # the first one warms up
        clock.seconds.clear()
        made.clear()
        started = time.perf_counter()
        for first in range(0, len(texts), size):
            translator.translate(texts[first : first + size], **SETTINGS)
        took = time.perf_counter() - started
        if number:
            totals.append(took)
            for part, seconds in {**clock.seconds, REST: took - sum(clock.seconds.values())}.items():
                parts[part].append(seconds)
            alone.append(seconds_alone(made))

    def milliseconds(seconds: Sequence[float]) -> float:
        return round(1000 * median(seconds) / len(texts), 3)

    operations = sum(2 * rows * inputs * outputs for rows, inputs, outputs in (product.shape for product in made))
    return Profile(
        size,
        milliseconds(totals),
        {part: milliseconds(seconds) for part, seconds in parts.items()},
        milliseconds(alone),
        round(operations / len(texts) / 1e9, 3),
    )


@torch.inference_mode()
def seconds_alone(made: Sequence[Product]) -> float:
    """Time of the same products in the same order."""
    inputs = {product.shape[:2]: torch.rand(product.shape[:2]) for product in made}
    started = time.perf_counter()
    for product in made:
        linear = product.linear
        product.multiply(inputs[product.shape[:2]], 1 / linear.levels, linear.levels + 1, linear.packed)
    return time.perf_counter() - started


def table(profiles: Sequence[Profile]) -> str:
    """As Markdown: milliseconds of each part and its share."""
    parts = [LAYERS, VOCABULARY, PARTS[0][0], PARTS[1][0], ACTIVATION, *(part for part, _ in PARTS[2:]), REST]
    lines = ["| part |" + "".join(f" ms, batches of {one.batch_size} | share |" for one in profiles)]
    lines.append("|---|" + "---:|---:|" * len(profiles))
    for part in parts:
        found = [(one.parts[part], one.parts[part] / one.milliseconds) for one in profiles]
        lines.append(f"| {part} |" + "".join(f" {took:.1f} | {share:.0%} |" for took, share in found))
    lines.append("| all |" + "".join(f" {one.milliseconds:.1f} | |" for one in profiles))
    for one in profiles:
        rates = [one.operations / one.products_alone, one.operations / (one.parts[LAYERS] + one.parts[VOCABULARY])]
        lines.append(
            f"\nBatches of {one.batch_size}: products of {one.operations:.1f} thousand million operations a sentence; "
            f"{one.products_alone:.1f} ms with nothing between them, {1000 * rates[0]:.0f} thousand million a second; "
            f"{1000 * rates[1]:.0f} in place."
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
