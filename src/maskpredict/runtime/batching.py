"""Which requests are computed together.

Results must not depend on the company a sentence is in, so only sources of one padded width share a batch (see
`model.batch.ROWS`), unless the system has other means (`System.mixes_lengths`); within that, a budget decides how many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from maskpredict.decoding.drafts import SPLITS
from maskpredict.decoding.hypothesis import Gap, Request
from maskpredict.errors import UserError
from maskpredict.model.batch import padded_width

BatchType = Literal["tokens", "examples"]


def batches(
    requests: Sequence[Request], settings: Any, max_batch_size: int, batch_type: BatchType, *, slot: bool, mixed: bool
) -> Iterator[list[int]]:
    """Indices of the requests to compute together, the longest sources first.

    `max_batch_size` counts sentences ("examples") or source positions times the target drafts each sentence is decoded
    with ("tokens"); a single sentence may exceed the latter. `slot`: the system reserves a position in each source;
    `mixed`: sources of any widths may share a batch.
    """
    if max_batch_size < 1:
        raise UserError(f"max_batch_size is {max_batch_size}; use 1 or more.")
    if batch_type not in ("tokens", "examples"):
        raise UserError(f"batch_type is {batch_type!r}; choose tokens or examples.")
    widths = [padded_width(len(request.source), slot=slot) for request in requests]
    longest_first = sorted(range(len(requests)), key=lambda index: -widths[index])
    batch: list[int] = []
    cost = 0
    for index in longest_first:
        own_cost = 1 if batch_type == "examples" else widths[index] * _drafts(requests[index], settings)
        joins = mixed or not batch or widths[index] == widths[batch[-1]]
        if batch and not (joins and cost + own_cost <= max_batch_size):
            yield batch
            batch, cost = [], 0
        batch.append(index)
        cost += own_cost
    if batch:
        yield batch


def _drafts(request: Request, settings: Any) -> int:
    """How many targets a sentence is decoded into side by side."""
    side_by_side: int = getattr(settings, "length_candidates", getattr(settings, "beam_size", 1))
    open_gaps = sum(isinstance(part, Gap) and part.length is None for part in request.template or ())
    return side_by_side * SPLITS if open_gaps > 1 else side_by_side
