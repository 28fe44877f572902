"""Whether a model may be computed with fused kernels here: they have to prove themselves on it first.

Kernels are compiled on the machine that runs them. Where they cannot be, or where what they compute is not what the
plain transformer computes, translation goes on without them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from maskpredict.engines.cuda.fused_transformer import FusedTransformer, no_penalty_but, suits
from maskpredict.kernels import reference as fused_ops
from maskpredict.kernels.reference import Ops
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Memory, Transformer

FUSING = True
"""Whether recorded translations use fused kernels where these prove themselves."""
TOLERANCE = 32
"""Units of rounding that the results may differ by, relative to their size; wrong results differ by far more."""
PATIENCE = 2.0
"""Seconds of compiling after which it is said what is going on; compiled kernels are kept for the next time."""

logger = logging.getLogger(__name__)


def fused_view(plain: Transformer) -> FusedTransformer | None:
    """The transformer with fused kernels, or None where it is better left as it is."""
    weight = plain.output.weight
    half = weight.dtype in (torch.float16, torch.bfloat16)
    if not (weight.is_cuda and half and type(plain) is Transformer and suits(plain.config)):
        return None
    try:
        from maskpredict.kernels import fused as fused_ops_gpu

        with told_if_slow(PATIENCE):
            return proven(plain, fused_ops_gpu)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # whatever a compiler or a driver may find wrong with a kernel
        give_up(error)
        return None


@contextmanager
def told_if_slow(seconds: float) -> Iterator[None]:
    """Say that kernels are being compiled if that takes longer."""
    said = "Compiling kernels for this GPU. That can take a minute, but only the first time."
    timer = threading.Timer(seconds, logger.warning, [said])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def give_up(reason: object) -> None:
    """Say that translation goes on without fused kernels."""
    logger.warning("Translating without fused kernels: %s", reason)


def proven(plain: Transformer, ops: Ops) -> FusedTransformer | None:
    """The transformer with these kernels, if they compute what it does."""
    fused = FusedTransformer(plain, ops)
    with torch.inference_mode():
        differences = [*_differences(fused, plain, sentences=2), *_differences(fused, plain, sentences=9)]
    tolerated = TOLERANCE * torch.finfo(plain.output.weight.dtype).eps
    if not all(difference <= tolerated for difference in differences):  # also when one is not a number
        give_up("they are " + ", ".join(f"{difference:.2g}" for difference in differences) + " off.")
        return None
    return fused


def _differences(fused: FusedTransformer, plain: Transformer, sentences: int) -> list[float]:
    """Relative differences between the two on a made-up batch of two drafts a sentence.

    With few sentences and with more, since kernels are chosen by the number of rows.
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
    memory, own_memory = plain.memory(encoded), fused.memory_of_stream(stream)
    pairs = [(fused.encoder_norm(stream)[source.valid], encoded[source.valid])]

    twice = [Memory(m.keys.repeat_interleave(2, 0), m.values.repeat_interleave(2, 0)) for m in memory]
    decoded = plain.decode(target_ids, target, twice, source.repeat(2), causal=False)
    stream = fused.target_stream(target_ids, target.lengths_B, own_memory, source.lengths_B)
    pairs.append((fused.decoder_norm(stream)[target.valid], decoded[target.valid]))
    # The second and first position of each draft alone.
    place_R1 = torch.arange(2 * sentences, device=device, dtype=torch.int32)[:, None] * target_width
    places_RP = torch.cat([place_R1 + 1, place_R1], 1)
    some = fused.target_stream(target_ids, target.lengths_B, own_memory, source.lengths_B, places_RP)
    pairs.append((fused.decoder_norm(some), decoded[:, :2].flip(1)))

    penalty_V = no_penalty_but((0,), len(plain.output.weight), device)
    own = fused.best_of_stream(stream, penalty_V)
    assert isinstance(fused.decoder_norm, torch.nn.LayerNorm)
    same = fused_ops.block_bests(stream.flatten(0, 1), fused.decoder_norm, plain.output.weight, penalty_V)
    possible = same.highest_GN > -torch.inf
    pairs += [(own.highest_GN[possible], same.highest_GN[possible]), (own.total_GN, same.total_GN)]
    pairs.append((_two_steps(fused, target_ids, own_memory, source), _two_steps(plain, target_ids, memory, source)))
    return [_relative(got, wanted) for got, wanted in pairs]


def _two_steps(transformer: Transformer, ids_RT: Tensor, memory: list[Memory], source: Padded) -> Tensor:
    """What causal decoding with two beams makes of the first two tokens of each draft."""
    past = transformer.new_past(len(source.lengths_B), 2, 8)
    made = []
    for time in range(2):
        seen_BKTK = torch.zeros((len(source.lengths_B), 2, 8, 2), dtype=torch.bool, device=ids_RT.device)
        for beam in range(2):
            seen_BKTK[:, beam, : time + 1, beam] = True
        ids_BK = ids_RT[:, time].view(-1, 2)
        made.append(transformer.decode_step(ids_BK, time, past, seen_BKTK.flatten(2), memory, source))
    return torch.stack(made)


def _some_ids(rows: int, width: int, table: Tensor) -> Tensor:
    return (torch.arange(rows * width, device=table.device) * 7919 % len(table)).view(rows, width)


def _relative(got: Tensor, wanted: Tensor) -> float:
    return float((got.double() - wanted.double()).norm() / wanted.double().norm().clamp(min=1e-9))
