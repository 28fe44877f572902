"""Batches of sources of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def token_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield the indices of sources to translate together, the longest first.

    A batch has at most `budget` tokens, filling included; a single source may have more.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
