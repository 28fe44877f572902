"""Batches of requests.

A sentence's translation must not depend on its batch, so the engine says which sources may share one
(`BatchPolicy`); within that, a budget decides how many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.drafts import MAX_SPLITS
from maskpredict.decoding.engine import BatchPolicy
from maskpredict.decoding.hypothesis import Gap, Request
from maskpredict.errors import UserError
from maskpredict.model.padding import padded_width

BatchType = Literal["tokens", "examples"]


def batches(
    requests: Sequence[Request],
    settings: Any,
    decoder: Decoder,
    max_batch_size: int | None = None,
    batch_type: BatchType = "tokens",
) -> Iterator[list[int]]:
    """Yield the indices of requests to compute together, the longest sources first.

    `max_batch_size` counts sentences ("examples") or source positions times the target drafts each sentence is decoded
    with ("tokens"); a single sentence may exceed the latter. None leaves it to the engine.
    """
    if batch_type not in ("tokens", "examples"):
        raise UserError(f"batch_type is {batch_type!r}; choose tokens or examples.")
    engine = decoder.engine
    if max_batch_size is None:
        max_batch_size = engine.batch_tokens if batch_type == "tokens" else engine.batch_tokens // 64
    if max_batch_size < 1:
        raise UserError(f"max_batch_size is {max_batch_size}; use 1 or more.")
    widths = [padded_width(len(request.source), slot=decoder.reserves_slot) for request in requests]
    keys = [batch_key(width, engine.batch_policy) for width in widths]
    batch: list[int] = []
    cost, limit = 0, None

    def cost_of(index: int) -> int:
        if batch_type == "examples":
            return 1
        widest = index if engine.batch_policy is BatchPolicy.ANY or not batch else batch[0]
        return widths[widest] * _drafts(requests[index], settings)

    for index in sorted(range(len(requests)), key=lambda index: -widths[index]):
        joins = not batch or keys[index] == keys[batch[0]]
        if batch and not (joins and len(batch) != limit and cost + cost_of(index) <= max_batch_size):
            yield batch
            batch, cost = [], 0
        if not batch:
            limit = engine.batch_limit(widths[index], settings)
        cost += cost_of(index)
        batch.append(index)
    if batch:
        yield batch


def batch_key(width: int, policy: BatchPolicy) -> int:
    """Return the same number for all widths of sources that may share a batch."""
    if policy is BatchPolicy.SIMILAR_WIDTH:
        return width.bit_length()  # at most twice as long as each other
    return 0 if policy is BatchPolicy.ANY else width


def _drafts(request: Request, settings: Any) -> int:
    """Return the number of target drafts of a sentence."""
    open_gaps = sum(isinstance(part, Gap) and part.length is None for part in request.template or ())
    drafts: int = settings.drafts_per_sentence
    return drafts * MAX_SPLITS if open_gaps > 1 else drafts
