"""Ids on disk: what is written comes back, in the narrowest type, and damage is noticed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maskpredict.corpus.ids import IdsFile, IdsWriter
from maskpredict.errors import UserError


@given(st.lists(st.lists(st.integers(0, 65_535), max_size=6), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_sentences_come_back_as_written(tmp_path: Path, sentences: list[list[int]]) -> None:
    with IdsWriter(tmp_path / "train.de", vocab_size=65_536) as writer:
        for sentence in sentences:
            writer.append(sentence)
    ids = IdsFile(tmp_path / "train.de")
    assert [ids[i].tolist() for i in range(len(ids))] == sentences
    assert ids.lengths.tolist() == [len(sentence) for sentence in sentences]
    assert ids.flat.tolist() == [i for sentence in sentences for i in sentence]


@pytest.mark.parametrize(("vocab_size", "dtype"), [(16_000, "<u2"), (65_536, "<u2"), (65_537, "<u4")])
def test_ids_take_two_bytes_unless_the_vocabulary_needs_four(tmp_path: Path, vocab_size: int, dtype: str) -> None:
    with IdsWriter(tmp_path / "x", vocab_size) as writer:
        writer.append([0, vocab_size - 1])
    ids = IdsFile(tmp_path / "x")
    assert ids[0].tolist() == [0, vocab_size - 1]
    assert ids.flat.dtype == np.dtype(dtype)


def test_blocks_and_single_sentences_can_be_mixed(tmp_path: Path) -> None:
    with IdsWriter(tmp_path / "x", 10) as writer:
        writer.append([1])
        writer.extend(np.array([2, 3, 4]), np.array([2, 0, 1]))
    ids = IdsFile(tmp_path / "x")
    assert [ids[i].tolist() for i in range(4)] == [[1], [2, 3], [], [4]]
    assert ids[-1].tolist() == [4]
    assert (writer.pairs, writer.tokens) == (4, 4)


def test_a_sentence_beyond_the_end_is_an_index_error(tmp_path: Path) -> None:
    with IdsWriter(tmp_path / "x", 10) as writer:
        writer.append([1])
    with pytest.raises(IndexError):
        IdsFile(tmp_path / "x")[1]


@pytest.mark.parametrize("suffix", ["ids", "offsets"])
def test_a_cut_or_missing_file_is_named(tmp_path: Path, suffix: str) -> None:
    with IdsWriter(tmp_path / "x", 10) as writer:
        writer.append([1, 2, 3])
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match=rf"x\.{suffix}"):
        IdsFile(tmp_path / "x")
    path.unlink()
    with pytest.raises(UserError, match=rf"x\.{suffix} cannot be read"):
        IdsFile(tmp_path / "x")
