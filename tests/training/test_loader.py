"""Batches in the run's order, for one worker or several, from any position."""

from __future__ import annotations

import threading
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from maskpredict.corpus.batches import PackedBatches, PaddedBatches
from maskpredict.corpus.dataset import Dataset
from maskpredict.tokenizer import SpecialIds
from maskpredict.training.loader import Position, Update, UpdateLoader, to_batch


@pytest.fixture
def batches(data_folder: Path) -> PaddedBatches:
    split = Dataset(data_folder).split("train")
    return PaddedBatches(split, SpecialIds(), tokens=512, max_length=48, slot=True, seed=1)


def take(feed: UpdateLoader, position: Position, count: int) -> list[Update]:
    updates = feed.updates(position)
    try:
        return list(islice(updates, count))
    finally:
        updates.close()


def content(update: Update) -> list[tuple[int, list[list[int]]]]:
    return [(part.number, part.arrays.target.ids.tolist()) for part in update.parts]


def test_a_feed_continues_from_any_position_as_if_it_had_never_stopped(batches: PaddedBatches) -> None:
    feed = UpdateLoader(batches, parts=3)
    whole = take(feed, Position(), 40)
    assert whole[0].position == Position(0, 0)
    assert {update.position.epoch for update in whole} >= {0, 1}
    for cut in (1, 7, 20):
        rest = take(feed, whole[cut - 1].after, 40 - cut)
        assert [update.position for update in rest] == [update.position for update in whole[cut:]]
        assert [content(update) for update in rest] == [content(update) for update in whole[cut:]]


def test_an_epoch_ends_once_all_its_batches_were_used_and_its_last_update_is_completed_from_its_beginning(
    batches: PaddedBatches,
) -> None:
    plan = batches.plan(0)
    parts = next(n for n in (4, 5, 7) if len(plan) % n)
    feed = UpdateLoader(batches, parts=parts)
    count = -(-len(plan) // parts)
    updates = take(feed, Position(), count + 1)
    assert [update.ends_epoch for update in updates] == [False] * (count - 1) + [True, False]
    assert updates[count - 1].after == updates[count].position == Position(1, 0)
    used = [arrays for update in updates[:count] for _, arrays in content(update)]
    expected = [batches.arrays(plan[i % len(plan)]).target.ids.tolist() for i in range(count * parts)]
    assert used == expected


def test_workers_share_out_the_parts_of_an_update_without_overlap(batches: PaddedBatches) -> None:
    alone = take(UpdateLoader(batches, parts=4), Position(), 10)
    shares = [take(UpdateLoader(batches, parts=4, rank=rank, world_size=2), Position(), 10) for rank in (0, 1)]
    for whole, *own in zip(alone, *shares, strict=True):
        assert sorted(part for update in own for part in content(update)) == content(whole)
        assert [len(update.parts) for update in own] == [2, 2]


def test_a_mistake_while_making_batches_reaches_the_one_who_waits_for_them() -> None:
    class Broken:
        def plan(self, epoch: int) -> list[np.ndarray]:
            raise RuntimeError("no data after all")

    with pytest.raises(RuntimeError, match="no data after all"):
        take(UpdateLoader(Broken(), parts=1), Position(), 1)  # type: ignore[arg-type]


def test_closing_a_feed_ends_its_thread(batches: PaddedBatches) -> None:
    take(UpdateLoader(batches, parts=1), Position(), 3)
    assert not [thread for thread in threading.enumerate() if thread.name == "batches"]


def test_padded_and_packed_arrays_become_batches_of_the_same_sentences(data_folder: Path) -> None:
    split = Dataset(data_folder).split("train")
    options = {"tokens": 512, "max_length": 48, "slot": True, "seed": 1}
    pairs = np.arange(12)
    sentences = []
    for kind in (PaddedBatches, PackedBatches):
        arrays = kind(split, SpecialIds(), **options).arrays(pairs)  # type: ignore[arg-type]
        batch = to_batch(arrays, torch.device("cpu"), 48)
        sentences.append([side.ids[side.layout.valid].tolist() for side in (batch.source, batch.target)])
        assert int(batch.target.layout.valid_rows.sum()) == 12
        assert arrays.target_tokens == len(sentences[-1][1])
    assert sentences[0] == sentences[1]
