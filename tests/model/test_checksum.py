"""A weights file that changed since it was written is noticed, down to a single bit."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from maskpredict.checksums import checksum_of
from maskpredict.errors import UserError
from maskpredict.model.checksum import CHECKSUM_KEY, verify
from maskpredict.model.folder import ModelFolder
from maskpredict.runtime.find_model import find_model, shipped_models


def flip_bit(path: Path, place: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def test_the_checksum_is_crc_32_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    content = bytes(range(256)) * 10_000  # several blocks
    path.write_bytes(content)
    assert checksum_of(path) == f"crc32:{zlib.crc32(content):08x}"
    (tmp_path / "empty").touch()
    assert checksum_of(tmp_path / "empty") == "crc32:00000000"


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"weights")
    expected = checksum_of(path)
    verify(path, expected)
    for bit in range(7 * 8):
        flip_bit(path, bit // 8, bit % 8)
        with pytest.raises(UserError, match=f"file is damaged: its checksum is crc32:.*, not {expected}"):
            verify(path, expected)
        flip_bit(path, bit // 8, bit % 8)


def test_a_file_without_a_known_checksum_is_taken_as_it_is(tmp_path: Path) -> None:
    verify(tmp_path / "nothing", None)


def test_a_model_folder_whose_weights_have_a_flipped_bit_is_refused(cmlm_folder: Path, tmp_path: Path) -> None:
    ModelFolder.read(cmlm_folder).write(tmp_path / "model")
    flip_bit(tmp_path / "model" / "model.safetensors", -100)
    with pytest.raises(UserError, match=r"model\.safetensors is damaged: its checksum"):
        ModelFolder.read(tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    without = {key: value for key, value in json.loads(config.read_text()).items() if key != CHECKSUM_KEY}
    config.write_text(json.dumps(without))
    assert ModelFolder.read(tmp_path / "model").system == "cmlm", "an older folder has no checksum"


def test_the_shipped_models_have_the_checksum_of_their_weights() -> None:
    assert shipped_models()
    for name in shipped_models():
        folder = find_model(name)
        description = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        assert description[CHECKSUM_KEY] == checksum_of(folder / "model.safetensors")
