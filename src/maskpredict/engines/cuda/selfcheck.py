"""Self-check of fused kernels on a model, before they are used for it.

Kernels are compiled on the machine that runs them. If that fails, or if they do not compute what the plain transformer
computes, translation runs without them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from maskpredict.engines.cuda.fused_transformer import FusedTransformer, suits, suppression_penalty
from maskpredict.kernels import reference
from maskpredict.kernels.reference import Ops
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Memory, Transformer

USE_FUSED_KERNELS = True
"""False turns fused kernels off; otherwise captures use them where the self-check passes."""
TOLERANCE = 32
"""Largest relative difference, in units of the machine epsilon; wrong results differ by far more."""
SLOW_COMPILE_SECONDS = 2.0
"""Seconds of compilation before a warning; Triton caches compiled kernels on disk."""

logger = logging.getLogger(__name__)


def verified_fused(plain: Transformer) -> FusedTransformer | None:
    """Return the transformer with fused kernels, or None if they do not support it or fail the self-check."""
    weight = plain.output.weight
    half = weight.dtype in (torch.float16, torch.bfloat16)
    if not (weight.is_cuda and half and type(plain) is Transformer and suits(plain.config)):
        return None
    try:
        from maskpredict.kernels import fused

        with warn_if_slow(SLOW_COMPILE_SECONDS):
            return fused_if_equal(plain, fused)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # compilers and drivers raise errors of any type
        warn_unfused(error)
        return None


@contextmanager
def warn_if_slow(seconds: float) -> Iterator[None]:
    """Warn that kernels are being compiled if the block takes longer than this."""
    message = "Compiling kernels for this GPU. That can take a minute, but only the first time."
    timer = threading.Timer(seconds, logger.warning, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def warn_unfused(reason: object) -> None:
    """Warn that translation runs without fused kernels."""
    logger.warning("Translating without fused kernels: %s", reason)


def fused_if_equal(plain: Transformer, ops: Ops) -> FusedTransformer | None:
    """Return the transformer with these kernels, or None if their results differ from the plain ones."""
    fused = FusedTransformer(plain, ops)
    with torch.inference_mode():
        differences = [*_differences(fused, plain, sentences=2), *_differences(fused, plain, sentences=9)]
    tolerated = TOLERANCE * torch.finfo(plain.output.weight.dtype).eps
    if not all(difference <= tolerated for difference in differences):  # NaN fails, too
        warn_unfused("their results are off by " + ", ".join(f"{difference:.2g}" for difference in differences) + ".")
        return None
    return fused


def _differences(fused: FusedTransformer, plain: Transformer, sentences: int) -> list[float]:
    """Return relative differences between the two on a synthetic batch with two drafts a sentence.

    The number of sentences matters, since kernels are chosen by the number of rows.
    """
    device, (source_width, target_width) = plain.output.weight.device, (8, 16)
    number_B = torch.arange(sentences, device=device)
    source = Padded.of(3 + number_B % 6, source_width)
    target = Padded.of(5 + torch.arange(2 * sentences, device=device) % 12, target_width)
    source_ids = _some_ids(sentences, source_width, plain.source.tokens.weight)
    target_ids = _some_ids(2 * sentences, target_width, plain.target.tokens.weight)
    slot_D = plain.target.positions.weight[1]

    encoded = plain.encode(source_ids, source, slot=slot_D)
    stream = fused.source_stream(source_ids, source.lengths_B, slot=slot_D)
    memory, fused_memory = plain.memory(encoded), fused.memory_of_stream(stream)
    pairs = [(fused.encoder_norm(stream)[source.valid], encoded[source.valid])]

    twice = [Memory(m.keys.repeat_interleave(2, 0), m.values.repeat_interleave(2, 0)) for m in memory]
    decoded = plain.decode(target_ids, target, twice, source.repeat(2), causal=False)
    stream = fused.target_stream(target_ids, target.lengths_B, fused_memory, source.lengths_B)
    pairs.append((fused.decoder_norm(stream)[target.valid], decoded[target.valid]))
    # Again with only the second and first position of each draft.
    place_R1 = torch.arange(2 * sentences, device=device, dtype=torch.int32)[:, None] * target_width
    places_RP = torch.cat([place_R1 + 1, place_R1], 1)
    two_positions = fused.target_stream(target_ids, target.lengths_B, fused_memory, source.lengths_B, places_RP)
    pairs.append((fused.decoder_norm(two_positions), decoded[:, :2].flip(1)))

    penalty_V = suppression_penalty((0,), len(plain.output.weight), device)
    actual = fused.best_of_stream(stream, penalty_V)
    assert isinstance(fused.decoder_norm, torch.nn.LayerNorm)
    expected = reference.block_bests(stream.flatten(0, 1), fused.decoder_norm, plain.output.weight, penalty_V)
    possible = expected.highest_GN > -torch.inf
    pairs += [(actual.highest_GN[possible], expected.highest_GN[possible]), (actual.total_GN, expected.total_GN)]
    pairs.append((_two_steps(fused, target_ids, fused_memory, source), _two_steps(plain, target_ids, memory, source)))
    return [_relative_difference(actual, expected) for actual, expected in pairs]


def _two_steps(transformer: Transformer, ids_RT: Tensor, memory: list[Memory], source: Padded) -> Tensor:
    """Return the outputs of causal decoding with two beams, fed the first two tokens of each draft."""
    caches = transformer.new_caches(len(source.lengths_B), 2, 8)
    outputs = []
    for time in range(2):
        seen_BKTK = torch.zeros((len(source.lengths_B), 2, 8, 2), dtype=torch.bool, device=ids_RT.device)
        for beam in range(2):
            seen_BKTK[:, beam, : time + 1, beam] = True
        ids_BK = ids_RT[:, time].view(-1, 2)
        outputs.append(transformer.decode_step(ids_BK, time, caches, seen_BKTK.flatten(2), memory, source))
    return torch.stack(outputs)


def _some_ids(rows: int, width: int, table: Tensor) -> Tensor:
    return (torch.arange(rows * width, device=table.device) * 7919 % len(table)).view(rows, width)


def _relative_difference(actual: Tensor, expected: Tensor) -> float:
    return float((actual.double() - expected.double()).norm() / expected.double().norm().clamp(min=1e-9))
