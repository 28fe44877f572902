"""Shortlists name the candidates of a sentence, and come back from a model folder as they were written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.model.shortlist import SHORTLIST_FILE, Shortlist

SHORTLIST = Shortlist(np.array([[7, 7], [9, 3], [3, 5], [200, 4]]), np.array([2, 4]))


def read(path: Path, target_vocabulary: int = 300) -> Shortlist:
    return Shortlist.read(path, source_vocabulary=4, target_vocabulary=target_vocabulary)


def test_candidates_are_translations_of_the_source_and_frequent_words_in_order() -> None:
    assert SHORTLIST.candidates([1, 3, 1]).tolist() == [2, 3, 4, 9, 200]
    assert SHORTLIST.candidates([0]).tolist() == [2, 4, 7]


@pytest.mark.parametrize("target_vocabulary", [201, 256, 257, 70_000])
def test_a_shortlist_comes_back_as_it_was_written(tmp_path: Path, target_vocabulary: int) -> None:
    (tmp_path / "s").write_bytes(SHORTLIST.to_bytes(target_vocabulary))
    again = read(tmp_path / "s", target_vocabulary)
    assert again.translations_VK.tolist() == SHORTLIST.translations_VK.tolist()
    assert again.frequent_F.tolist() == SHORTLIST.frequent_F.tolist()
    assert (again.translations_VK.itemsize == 1) == (target_vocabulary <= 256)


def test_a_model_folder_keeps_its_shortlist(cmlm_folder: Path, tmp_path: Path) -> None:
    folder = ModelFolder.read(cmlm_folder)
    assert folder.shortlist is None
    rows = np.zeros((folder.tokenizers.source.vocab_size, 3), np.int64)
    replace(folder, shortlist=Shortlist(rows, np.array([2]))).write(tmp_path / "model")
    again = ModelFolder.read(tmp_path / "model").shortlist
    assert again is not None
    assert again.translations_VK.tolist() == rows.tolist()


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    sound = SHORTLIST.to_bytes(300)
    flipped = bytearray(sound)
    flipped[-1] ^= 1
    plain = {"translations": SHORTLIST.translations_VK.astype(np.uint16), "frequent": np.array([2], np.uint16)}
    contents = {
        "is damaged": [sound[:-1], sound[:40], b"", save({"frequent": plain["frequent"]})],
        "its checksum is not": [bytes(flipped), save(plain)],
    }
    path = tmp_path / SHORTLIST_FILE
    for sentence, files in contents.items():
        for content in files:
            path.write_bytes(content)
            with pytest.raises(UserError, match=sentence):
                read(path)
    for shortlist in (
        Shortlist(SHORTLIST.translations_VK[:3], SHORTLIST.frequent_F),
        Shortlist(SHORTLIST.translations_VK[0], SHORTLIST.frequent_F),
        Shortlist(SHORTLIST.translations_VK, np.array([], np.uint16)),
    ):
        path.write_bytes(shortlist.to_bytes(300))
        with pytest.raises(UserError, match="does not fit the model's vocabulary"):
            read(path)
    path.write_bytes(sound)
    with pytest.raises(UserError, match="does not fit the model's vocabulary"):
        read(path, target_vocabulary=200)
