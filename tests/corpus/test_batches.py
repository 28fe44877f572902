"""Which pairs go into which batch, and what the batches look like."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from maskpredict.corpus.batches import Batches, PackedBatches, PaddedBatches, epoch_order
from maskpredict.corpus.dataset import CorpusPart, ParallelIds
from maskpredict.corpus.ids import IdsFile, IdsWriter
from maskpredict.errors import UserError
from maskpredict.tokenizer import SpecialIds

SPECIAL = SpecialIds()


def make_split(folder: Path, pairs: list[tuple[int, int]], weights: dict[int, float] | None = None) -> ParallelIds:
    """Pairs of these source and target lengths; `weights` names the first pair of each corpus."""
    chance = random.Random(1)
    for side in (0, 1):
        with IdsWriter(folder / f"train.{side}", vocab_size=100) as writer:
            for pair in pairs:
                writer.append([chance.randrange(5, 100) for _ in range(pair[side])])
    firsts = sorted(weights or {0: 1.0})
    corpora = [
        CorpusPart(f"part{first}", first, after - first, (weights or {0: 1.0})[first])
        for first, after in zip(firsts, [*firsts[1:], len(pairs)], strict=True)
    ]
    return ParallelIds(IdsFile(folder / "train.0"), IdsFile(folder / "train.1"), corpora, None)


def similar_lengths(count: int, seed: int = 2) -> list[tuple[int, int]]:
    chance = random.Random(seed)
    lengths = [chance.randint(2, 38) for _ in range(count)]
    return [(n, max(1, n + chance.randint(-3, 3))) for n in lengths]


@pytest.fixture
def split(tmp_path: Path) -> ParallelIds:
    return make_split(tmp_path, similar_lengths(3000))


def padded(split: ParallelIds, tokens: int = 1024, max_length: int = 48, slot: bool = False, seed: int = 1) -> Batches:
    return PaddedBatches(split, SPECIAL, tokens=tokens, max_length=max_length, slot=slot, seed=seed)


def packed(split: ParallelIds, tokens: int = 4096, max_length: int = 48, slot: bool = False, seed: int = 1) -> Batches:
    return PackedBatches(split, SPECIAL, tokens=tokens, max_length=max_length, slot=slot, seed=seed)


def test_an_epoch_of_padded_batches_covers_every_pair_once(split: ParallelIds) -> None:
    for epoch in (0, 1):
        pairs = np.concatenate(padded(split).plan(epoch))
        assert sorted(pairs.tolist()) == list(range(3000))


def test_an_epoch_of_packed_batches_covers_every_pair_and_completes_its_last_batch_from_the_beginning(
    split: ParallelIds,
) -> None:
    for epoch in (0, 1):
        pairs = np.concatenate(packed(split).plan(epoch)).tolist()
        assert sorted(pairs[:3000]) == list(range(3000))
        assert pairs[3000:] == pairs[: len(pairs) - 3000]


@pytest.mark.parametrize("kind", [padded, packed])
def test_the_plan_is_a_function_of_seed_and_epoch(split: ParallelIds, kind: type[Batches]) -> None:
    def plan(seed: int, epoch: int) -> list[list[int]]:
        return [pairs.tolist() for pairs in kind(split, seed=seed).plan(epoch)]  # type: ignore[call-arg]

    assert plan(1, 0) == plan(1, 0)
    assert plan(1, 0) != plan(1, 1)
    assert plan(1, 0) != plan(2, 0)


def test_a_weight_repeats_a_corpus_and_its_fraction_a_part_of_it(tmp_path: Path) -> None:
    split = make_split(tmp_path, [(3, 3)] * 100, {0: 1.0, 40: 2.5, 60: 0.25, 80: 0.0})
    counts = Counter(epoch_order(split, seed=1, epoch=0).tolist())
    assert [counts[i] for i in range(40)] == [1] * 40
    assert Counter(counts[i] for i in range(40, 60)) == {2: 10, 3: 10}
    assert sum(counts[i] for i in range(60, 80)) == 5
    assert not any(counts[i] for i in range(80, 100))
    other_epoch = Counter(epoch_order(split, seed=1, epoch=1).tolist())
    assert {i for i in range(40, 60) if counts[i] == 3} != {i for i in range(40, 60) if other_epoch[i] == 3}


@pytest.mark.parametrize("kind", [padded, packed])
@pytest.mark.parametrize("max_length", [20, 24])
def test_pairs_with_a_side_longer_than_max_length_are_left_out(
    split: ParallelIds, kind: type[Batches], max_length: int
) -> None:
    used = set(np.concatenate(kind(split, max_length=max_length).plan(0)).tolist())  # type: ignore[call-arg]
    longer = np.maximum(split.source.lengths, split.target.lengths) + 1  # the end mark counts
    assert used == {i for i in range(3000) if longer[i] <= max_length}


def test_padded_batches_keep_to_their_budget_and_have_few_widths(split: ParallelIds) -> None:
    batches = padded(split, tokens=1024)
    widths = set()
    for pairs in batches.plan(0):
        arrays = batches.arrays(pairs)
        assert arrays.target.ids.size <= 1024
        assert arrays.source.ids.shape == arrays.target.ids.shape
        widths.add(arrays.target.ids.shape[1])
    assert widths <= {8, 16, 24, 32, 40, 48}


@pytest.mark.parametrize("slot", [False, True])
def test_padded_rows_hold_the_sentences_with_their_end_marks(split: ParallelIds, slot: bool) -> None:
    batches = padded(split, slot=slot)
    pairs = batches.plan(0)[0]
    arrays = batches.arrays(pairs)
    assert arrays.real_rows == len(pairs)
    for row, pair in enumerate(pairs):
        for side, ids_file, front in ((arrays.source, split.source, [0] * slot), (arrays.target, split.target, [])):
            expected = [*front, *ids_file[pair].tolist(), SPECIAL.eos]
            assert side.lengths[row] == len(expected)
            assert side.ids[row].tolist() == expected + [SPECIAL.pad] * (side.ids.shape[1] - len(expected))


@pytest.mark.parametrize("slot", [False, True])
def test_packed_batches_have_one_shape_and_hold_the_sentences_end_to_end(split: ParallelIds, slot: bool) -> None:
    batches = packed(split, slot=slot)
    shapes = set()
    for pairs in batches.plan(0):
        arrays = batches.arrays(pairs)
        shapes.add((arrays.source.ids.shape, arrays.target.ids.shape, arrays.source.lengths.shape))
        for side, ids_file, front in ((arrays.source, split.source, [0] * slot), (arrays.target, split.target, [])):
            expected = [token for i in pairs for token in [*front, *ids_file[i].tolist(), SPECIAL.eos]]
            assert side.ids[: len(expected)].tolist() == expected
            assert not side.ids[len(expected) :].any()
            assert side.lengths.sum() == len(side.ids)
            assert side.lengths[arrays.real_rows :].max() <= 48 + slot
    assert len(shapes) == 1


def test_less_than_two_percent_of_packed_batches_is_filling(tmp_path: Path) -> None:
    split = make_split(tmp_path, similar_lengths(20_000))
    batches = packed(split, tokens=16_384)
    filling = size = 0
    for pairs in batches.plan(0):
        arrays = batches.arrays(pairs)
        size += len(arrays.source.ids) + len(arrays.target.ids)
        filling += int((arrays.source.ids == SPECIAL.pad).sum() + (arrays.target.ids == SPECIAL.pad).sum())
    assert filling / size < 0.02


def test_a_corpus_smaller_than_one_packed_batch_still_fills_it(tmp_path: Path) -> None:
    split = make_split(tmp_path, similar_lengths(20))
    plan = packed(split, tokens=2048).plan(0)
    assert len(plan) == 1
    assert set(plan[0].tolist()) == set(range(20))


def test_data_and_batches_that_do_not_fit_each_other_are_refused(split: ParallelIds, tmp_path: Path) -> None:
    for kind in (padded, packed):
        with pytest.raises(UserError, match="no training pair is at most 2 subwords long; raise max_length"):
            kind(split, max_length=2)
    with pytest.raises(UserError, match="does not fit a packed batch of 32"):
        packed(split, tokens=32)


def test_widths_are_multiples_of_8_that_grow_by_an_eighth_up_to_the_longest_pair(split: ParallelIds) -> None:
    def widths(max_length: int) -> list[int]:
        batches = PaddedBatches(split, SPECIAL, tokens=1024, max_length=max_length, slot=False, seed=1)
        return [int(width) for width in batches.widths]

    assert widths(8) == [8]
    assert widths(20) == [8, 16, 24]
    assert widths(300) == [*range(8, 129, 8), 144, 160, 176, 192, 216, 240, 264, 296, 304]


@pytest.mark.parametrize(("length", "width"), [(6, 8), (7, 8), (8, 16), (15, 16), (16, 24), (22, 24)])
def test_a_pair_lies_in_the_narrowest_rows_that_hold_its_longer_side_and_an_end_mark(
    tmp_path: Path, length: int, width: int
) -> None:
    for pairs in ([(length, 1)], [(1, length)]):
        batches = padded(make_split(tmp_path, pairs), max_length=23)
        (batch,) = batches.plan(0)
        assert batches.arrays(batch).target.ids.shape == (1, width)


def test_padded_batches_are_as_full_as_their_budget_allows(tmp_path: Path) -> None:
    split = make_split(tmp_path, [(12, 12)] * 100)  # 13 with the end mark, in rows of 16
    assert sorted(len(pairs) for pairs in padded(split, tokens=10 * 16 + 15).plan(0)) == [10] * 10
    assert sorted(len(pairs) for pairs in padded(split, tokens=30 * 16).plan(0)) == [10, 30, 30, 30]
    assert sorted(len(pairs) for pairs in padded(split, tokens=15).plan(0)) == [1] * 100


def test_padded_batches_of_all_widths_come_in_random_order(split: ParallelIds) -> None:
    batches = padded(split)
    widths = [batches.arrays(pairs).target.ids.shape[1] for pairs in batches.plan(0)]
    changes = sum(before != after for before, after in pairwise(widths))
    assert changes > len(widths) / 2


def test_corpora_of_no_weight_make_an_empty_epoch(tmp_path: Path) -> None:
    split = make_split(tmp_path, [(3, 3)] * 10, {0: 0.0})
    assert epoch_order(split, seed=1, epoch=0).tolist() == []


def test_the_fraction_of_a_weight_is_rounded_to_whole_pairs(tmp_path: Path) -> None:
    split = make_split(tmp_path, [(3, 3)] * 20, {0: 0.33})
    chosen = epoch_order(split, seed=1, epoch=0).tolist()
    assert len(chosen) == len(set(chosen)) == 7


def test_the_sides_of_packed_batches_are_sized_by_the_weighted_mean_lengths_of_pairs_that_fit(tmp_path: Path) -> None:
    # With the end mark: 400 pairs of 10 and 5, drawn twice; 200 of 4 and 8; 100 that are too long.
    split = make_split(tmp_path, [(9, 4)] * 400 + [(3, 7)] * 200 + [(60, 60)] * 100, {0: 2.0, 400: 1.0, 600: 1.0})
    batches = PackedBatches(split, SPECIAL, tokens=1030, max_length=48, slot=False, seed=1)
    source_mean, target_mean = (800 * 10 + 200 * 4) / 1000, (800 * 5 + 200 * 8) / 1000
    assert (source_mean, target_mean) == (8.8, 5.6)
    assert batches.target_tokens == 1030
    assert batches.source_tokens == 1664  # 13 * 128, the next above 1030 * 8.8 / 5.6 = 1618.6
    assert batches.rows == 384  # 3 * 128, the next above 1.1 * 1030 / 5.6 + 64 = 266.3
    assert batches.arrays(batches.plan(0)[0]).source.ids.shape == (1664,)


def test_sides_of_one_mean_length_have_as_many_tokens_up_to_the_next_multiple_of_128(tmp_path: Path) -> None:
    split = make_split(tmp_path, [(9, 9)] * 400)
    for tokens, source_tokens in ((1025, 1152), (1030, 1152), (1151, 1152), (1153, 1280)):
        batches = PackedBatches(split, SPECIAL, tokens=tokens, max_length=48, slot=False, seed=1)
        assert (batches.target_tokens, batches.source_tokens) == (tokens, source_tokens)


def test_packed_batches_end_only_where_the_next_pair_would_not_fit(tmp_path: Path) -> None:
    chance = random.Random(3)
    lengths = [tuple(250 if chance.random() < 0.003 else 1 for _ in range(2)) for _ in range(20_000)]
    split = make_split(tmp_path, lengths)  # type: ignore[arg-type]
    batches = PackedBatches(split, SPECIAL, tokens=700, max_length=256, slot=False, seed=1)
    most_rows = batches.rows - PackedBatches.SPARE_ROWS
    reasons: Counter[str] = Counter()
    for pairs, following in pairwise(batches.plan(0)):
        source, target = (int((side.lengths[pairs] + 1).sum()) for side in (split.source, split.target))
        # One token of each side is left for filling.
        assert source < batches.source_tokens
        assert target < batches.target_tokens
        assert len(pairs) <= most_rows
        reached = {
            "source": source + split.source.lengths[following[0]] + 1 >= batches.source_tokens,
            "target": target + split.target.lengths[following[0]] + 1 >= batches.target_tokens,
            "rows": len(pairs) == most_rows,
        }
        assert any(reached.values())
        reasons += Counter(name for name in reached if reached[name])
    assert reasons.keys() == {"source", "target", "rows"}


def test_packed_batches_follow_the_order_of_the_epoch(split: ParallelIds) -> None:
    for epoch in (0, 1):
        pairs = np.concatenate(packed(split).plan(epoch)).tolist()
        assert pairs[:3000] == epoch_order(split, seed=1, epoch=epoch).tolist()


def test_pairs_that_fill_their_batches_exactly_make_no_batch_more(tmp_path: Path) -> None:
    split = make_split(tmp_path, [(9, 9)] * 30)
    assert [len(pairs) for pairs in packed(split, tokens=101).plan(0)] == [10, 10, 10]


def test_filling_lies_in_rows_of_the_longest_length_then_of_what_is_left_then_of_none(tmp_path: Path) -> None:
    split = make_split(tmp_path, [(9, 9)] * 100)
    batches = PackedBatches(split, SPECIAL, tokens=256, max_length=48, slot=False, seed=1)
    arrays = batches.arrays(np.arange(10))
    for side in (arrays.source, arrays.target):
        filling = side.lengths[10:].tolist()
        assert side.lengths[:10].tolist() == [10] * 10
        assert filling[:5] == [48, 48, 48, 256 - 100 - 3 * 48, 0]
        assert not any(filling[5:])


def test_sides_too_unlike_to_be_packed_are_refused(tmp_path: Path) -> None:
    split = make_split(tmp_path, [(1, 7)] * 2000 + [(13, 7)] * 2000)
    batches = PackedBatches(split, SPECIAL, tokens=16_000, max_length=14, slot=False, seed=1)
    batches.arrays(np.arange(1000, 2990))
    with pytest.raises(UserError, match="differ too much in length to be packed; train with engine=eager"):
        batches.arrays(np.arange(0, 1990))


def test_a_packed_batch_must_be_longer_than_the_longest_pair_that_fits(tmp_path: Path) -> None:
    split = make_split(tmp_path, [(3, 3), (20, 5), (4, 29), (80, 80)])
    for tokens in (29, 30):
        with pytest.raises(UserError, match=f"a pair of 30 subwords does not fit a packed batch of {tokens};"):
            packed(split, tokens=tokens)
    assert packed(split, tokens=31).plan(0)
