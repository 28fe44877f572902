"""Which requests are computed together.

Results should not depend on the company a sentence is in, so the system says which sources may share a batch
(`systems.base.Sharing`); within that, a budget decides how many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import torch

from maskpredict.decoding.drafts import SPLITS
from maskpredict.decoding.hypothesis import Gap, Request
from maskpredict.errors import UserError
from maskpredict.model.batch import padded_width
from maskpredict.systems.base import Sharing

BatchType = Literal["tokens", "examples"]

CPU_BATCH_TOKENS, MOST_BATCH_TOKENS = 2_048, 262_144
"""Default batch sizes, beyond which more hardly pays."""
BYTES_PER_TOKEN = 100_000
"""What a batch needs of a GPU's memory: a search with five beams is what needs most."""


def batch_tokens(device: torch.device) -> int:
    """The default batch size in tokens; on a GPU, one that takes up to a quarter of its memory."""
    if device.type != "cuda":
        return CPU_BATCH_TOKENS
    memory = torch.cuda.get_device_properties(device).total_memory
    return min(MOST_BATCH_TOKENS, memory // 4 // BYTES_PER_TOKEN)


def batches(
    requests: Sequence[Request],
    settings: Any,
    max_batch_size: int,
    batch_type: BatchType,
    *,
    slot: bool,
    sharing: Sharing,
    most: Callable[[int, Any], int | None] = lambda width, settings: None,
) -> Iterator[list[int]]:
    """Indices of the requests to compute together, the longest sources first.

    `max_batch_size` counts sentences ("examples") or source positions times the target drafts each sentence is decoded
    with ("tokens"); a single sentence may exceed the latter. `slot`: the system reserves a position in each source;
    `sharing`: which of them may share a batch; `most`: how many of a width, the longest of the batch, under these
    settings.
    """
    if max_batch_size < 1:
        raise UserError(f"max_batch_size is {max_batch_size}; use 1 or more.")
    if batch_type not in ("tokens", "examples"):
        raise UserError(f"batch_type is {batch_type!r}; choose tokens or examples.")
    widths = [padded_width(len(request.source), slot=slot) for request in requests]
    longest_first = sorted(range(len(requests)), key=lambda index: -widths[index])
    batch: list[int] = []
    cost, limit = 0, None

    def own_cost(index: int) -> int:
        if batch_type == "examples":
            return 1
        filled_up_to = index if sharing == "any" or not batch else batch[0]
        return widths[filled_up_to] * _drafts(requests[index], settings)

    for index in longest_first:
        joins = not batch or company(widths[index], sharing) == company(widths[batch[0]], sharing)
        if batch and not (joins and len(batch) != limit and cost + own_cost(index) <= max_batch_size):
            yield batch
            batch, cost = [], 0
        if not batch:
            limit = most(widths[index], settings)
        cost += own_cost(index)
        batch.append(index)
    if batch:
        yield batch


def company(width: int, sharing: Sharing) -> int:
    """Sources of widths with the same company may share a batch."""
    if sharing == "alike":
        return width.bit_length()  # at most twice as long as each other
    return 0 if sharing == "any" else width


def _drafts(request: Request, settings: Any) -> int:
    """How many targets a sentence is decoded into side by side."""
    side_by_side: int = getattr(settings, "length_candidates", getattr(settings, "beam_size", 1))
    open_gaps = sum(isinstance(part, Gap) and part.length is None for part in request.template or ())
    return side_by_side * SPLITS if open_gaps > 1 else side_by_side
