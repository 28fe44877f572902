"""Folders survive the way through parts: byte by byte, or with one sentence about what went wrong."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from maskpredict.cli import app
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.packing import pack, unpack

PART = 10_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bit of everything: ids that compress, weights that do not, an empty file, folders in folders."""
    made = tmp_path / "work"
    (made / "data").mkdir(parents=True)
    (made / "run" / "checkpoints" / "update-00000007").mkdir(parents=True)
    chance = np.random.default_rng(1)
    (made / "data" / "train.de.ids").write_bytes(chance.zipf(1.5, 50_000).clip(max=9_999).astype("<u2").tobytes())
    offsets = np.cumsum(chance.integers(1, 40, 5_000)).astype("<u8")
    (made / "data" / "train.de.offsets").write_bytes(offsets.tobytes())
    (made / "data" / "valid.de.txt").write_text("Ein Satz wie jeder andere.\n" * 100)
    (made / "data" / "dataset.json").write_text('{"format_version": 1}')
    (made / "data" / "empty.txt").write_text("")
    (made / "run" / "metrics.jsonl").write_text('{"kind": "train"}\n' * 50)
    checkpoint = made / "run" / "checkpoints" / "update-00000007"
    save_file({"a.weight": torch.randn(101, 33), "count": torch.tensor([3])}, checkpoint / "weights.safetensors")
    save_file(
        {
            "exp_avg.a.weight": torch.randn(101, 33) * 1e-4,
            "exp_avg_sq.a.weight": torch.rand(101, 33) * 1e-11,
            "step.a.weight": torch.tensor(1_001.0),
            "loss_scale": torch.tensor([65_536.0, 1_001.0], dtype=torch.float64),
        },
        checkpoint / "optimizer.safetensors",
    )
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def cli(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def test_a_folder_comes_back_byte_by_byte(folder: Path, tmp_path: Path) -> None:
    packed = cli("pack", folder, tmp_path / "parts", "--part-size", "10KB")
    assert packed.exit_code == 0, packed.output
    names = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert names[:3] == ["work.manifest.json", "work.part000", "work.part001"]
    sizes = [path.stat().st_size for path in sorted((tmp_path / "parts").glob("*.part*"))]
    assert set(sizes[:-1]) == {PART}
    assert 0 < sizes[-1] <= PART
    assert cli("unpack", tmp_path / "parts", tmp_path / "back").exit_code == 0
    assert contents(tmp_path / "back") == contents(folder)


def test_text_and_ids_get_smaller(folder: Path, tmp_path: Path) -> None:
    shutil.rmtree(folder / "run")
    manifest = pack(folder, tmp_path / "parts")
    assert manifest.packed_size < 0.6 * sum(map(len, contents(folder).values()))


def test_the_manifest_tells_the_sum_and_size_of_each_part_and_file(folder: Path, tmp_path: Path) -> None:
    pack(folder, tmp_path / "parts", part_size=PART)
    manifest = json.loads((tmp_path / "parts" / "work.manifest.json").read_text())
    for part in manifest["parts"]:
        found = (tmp_path / "parts" / part["name"]).read_bytes()
        assert (part["size"], part["sha256"]) == (len(found), hashlib.sha256(found).hexdigest())
    told = {member["path"]: (member["size"], member["sha256"]) for member in manifest["members"]}
    assert told == {name: (len(found), hashlib.sha256(found).hexdigest()) for name, found in contents(folder).items()}


def test_the_same_files_give_the_same_parts_in_whatever_order_they_were_written(folder: Path, tmp_path: Path) -> None:
    again = tmp_path / "again" / "work"
    items = list(contents(folder).items())
    random.Random(3).shuffle(items)
    for name, found in items:
        (again / name).parent.mkdir(parents=True, exist_ok=True)
        (again / name).write_bytes(found)
    pack(folder, tmp_path / "parts", part_size=PART)
    pack(again, tmp_path / "other", part_size=PART)
    assert contents(tmp_path / "parts") == contents(tmp_path / "other")


@settings(max_examples=25, deadline=None)
@given(
    files=st.dictionaries(st.sampled_from(["a.txt", "b.ids", "c/d.bin", "c/e.jsonl"]), st.binary(max_size=300)),
    part_size=st.integers(1, 200),
)
def test_any_content_in_parts_of_any_size_comes_back(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], part_size: int
) -> None:
    place = tmp_path_factory.mktemp("any")
    for name, content in {**files, "always.json": b"{}"}.items():
        (place / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "in" / name).write_bytes(content)
    pack(place / "in", place / "parts", part_size=part_size)
    unpack(place / "parts", place / "out")
    assert contents(place / "out") == contents(place / "in")


def test_files_larger_than_a_compressed_block_come_back(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    numbers = np.random.default_rng(2).integers(0, 50, 10_000_000).astype("<u2")
    (tmp_path / "in" / "train.xx.ids").write_bytes(numbers.tobytes())
    pack(tmp_path / "in", tmp_path / "parts")
    unpack(tmp_path / "parts", tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "in")


def test_float16_halves_the_weights_and_keeps_all_else(folder: Path, tmp_path: Path) -> None:
    assert cli("pack", folder, tmp_path / "parts", "--precision", "float16").exit_code == 0
    unpack(tmp_path / "parts", tmp_path / "back")
    before, after = contents(folder), contents(tmp_path / "back")
    changed = {name for name in before if before[name] != after[name]}
    assert {Path(name).name for name in changed} == {"weights.safetensors", "optimizer.safetensors"}
    place = Path("run/checkpoints/update-00000007")
    old, new = (load_file(where / place / "weights.safetensors") for where in (folder, tmp_path / "back"))
    assert torch.equal(new["a.weight"], old["a.weight"].half())
    assert torch.equal(new["count"], old["count"])


def test_a_model_in_float16_is_read_without_the_checksum_of_its_old_weights(cmlm_folder: Path, tmp_path: Path) -> None:
    pack(cmlm_folder, tmp_path / "parts", precision="float16")
    unpack(tmp_path / "parts", tmp_path / "model")
    assert ModelFolder.read(tmp_path / "model").weights.keys() == ModelFolder.read(cmlm_folder).weights.keys()
    assert "weights_checksum" not in (tmp_path / "model" / "config.json").read_text()


def test_moments_keep_their_range_in_16_bits_and_counts_stay_exact(folder: Path, tmp_path: Path) -> None:
    pack(folder, tmp_path / "parts", precision="float16")
    unpack(tmp_path / "parts", tmp_path / "back")
    name = Path("run/checkpoints/update-00000007/optimizer.safetensors")
    old, new = (load_file(where / name) for where in (folder, tmp_path / "back"))
    for kind in ("exp_avg.a.weight", "exp_avg_sq.a.weight"):
        assert torch.equal(new[kind], old[kind].bfloat16())
    for kind in ("step.a.weight", "loss_scale"):
        assert torch.equal(new[kind], old[kind])
        assert new[kind].dtype == old[kind].dtype


def test_unusual_values_survive_the_rounding(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    unusual = torch.tensor([float("nan"), float("inf"), -float("inf"), 3.4e38, -0.0, 1e-40, 1.00390625, 0.0])
    save_file({"exp_avg.x": unusual}, tmp_path / "in" / "optimizer.safetensors")
    pack(tmp_path / "in", tmp_path / "parts", precision="float16")
    unpack(tmp_path / "parts", tmp_path / "back")
    (tensor,) = load_file(tmp_path / "back" / "optimizer.safetensors").values()
    assert torch.equal(tensor.nan_to_num(7.0), unusual.bfloat16().nan_to_num(7.0))


def test_weights_that_float16_cannot_hold_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    save_file({"big.weight": torch.tensor([1e6])}, tmp_path / "in" / "model.safetensors")
    with pytest.raises(UserError, match=r"big\.weight in .* float16 cannot hold"):
        pack(tmp_path / "in", tmp_path / "parts", precision="float16")
    assert not (tmp_path / "parts").exists()


@pytest.mark.parametrize("keep", [4, 60, 2_000])
def test_damaged_weights_are_named_when_they_are_to_be_converted(folder: Path, tmp_path: Path, keep: int) -> None:
    weights = next(folder.rglob("weights.safetensors"))
    weights.write_bytes(weights.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"weights\.safetensors"):
        pack(folder, tmp_path / "parts", precision="float16")


def test_the_optimizer_can_be_left_out(folder: Path, tmp_path: Path) -> None:
    assert cli("pack", folder, tmp_path / "parts", "--without-optimizer").exit_code == 0
    unpack(tmp_path / "parts", tmp_path / "back")
    left_out = contents(folder).keys() - contents(tmp_path / "back").keys()
    assert left_out == {"run/checkpoints/update-00000007/optimizer.safetensors"}


def test_what_a_killed_process_left_half_written_is_not_packed(folder: Path, tmp_path: Path) -> None:
    before = contents(folder)
    (folder / "run" / "model.partial-17").mkdir()
    (folder / "run" / "model.partial-17" / "config.json").write_text("{")
    pack(folder, tmp_path / "parts")
    unpack(tmp_path / "parts", tmp_path / "back")
    assert contents(tmp_path / "back") == before


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("part", ["work.part000", "work.part001", "work.part003"])
@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (flip, "is damaged"),
        (lambda path: path.unlink(), "is missing"),
        (lambda path: os.truncate(path, 4_000), "has 4,000 bytes, not 10,000"),
        (lambda path: path.write_bytes(path.read_bytes() + b"more"), "has 10,004 bytes"),
    ],
    ids=["corrupt", "missing", "truncated", "too long"],
)
def test_a_bad_part_is_named_and_nothing_is_left_behind(
    folder: Path, tmp_path: Path, part: str, damage: Any, sentence: str
) -> None:
    pack(folder, tmp_path / "parts", part_size=PART)
    damage(tmp_path / "parts" / part)
    result = cli("unpack", tmp_path / "parts", tmp_path / "back")
    assert result.exit_code == 2
    assert f"{part} {sentence}" in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("back")] == []


def test_two_parts_in_each_others_place_are_noticed(folder: Path, tmp_path: Path) -> None:
    pack(folder, tmp_path / "parts", part_size=PART)
    one, other = (tmp_path / "parts" / f"work.part{number:03d}" for number in (0, 1))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    with pytest.raises(UserError, match="part000 is damaged"):
        unpack(tmp_path / "parts", tmp_path / "back")


@pytest.mark.parametrize("path", ["../escaped.txt", "/tmp/escaped.txt", ""])
def test_a_manifest_that_points_outside_its_folder_is_refused(folder: Path, tmp_path: Path, path: str) -> None:
    pack(folder, tmp_path / "parts")
    file = tmp_path / "parts" / "work.manifest.json"
    manifest = json.loads(file.read_text())
    manifest["members"][0]["path"] = path
    file.write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="outside its folder"):
        unpack(tmp_path / "parts", tmp_path / "back")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b"])
def test_a_manifest_whose_parts_are_elsewhere_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    pack(folder, tmp_path / "parts")
    file = tmp_path / "parts" / "work.manifest.json"
    manifest = json.loads(file.read_text())
    manifest["parts"][0]["name"] = name
    file.write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="outside its folder"):
        unpack(tmp_path / "parts", tmp_path / "back")


def test_a_file_that_unpacks_to_more_than_announced_is_cut_off_early(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "zeros.txt").write_bytes(bytes(150_000_000))
    pack(tmp_path / "work", tmp_path / "parts")
    file = tmp_path / "parts" / "work.manifest.json"
    manifest = json.loads(file.read_text())
    manifest["members"][0]["size"] = 1_000
    file.write_text(json.dumps(manifest))
    tracemalloc.start()
    with pytest.raises(UserError, match="comes out wrong"):
        unpack(tmp_path / "parts", tmp_path / "back")
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert largest < 100_000_000
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"parts": [{"name": "a", "size": "many", "sha256": ""}]}, "is damaged"),
        ({"format_version": 99}, "upgrade maskpredict"),
        ({"members": [{"path": "a"}]}, "is damaged"),
        ({"members": []}, "does not describe its parts"),
    ],
)
def test_a_manifest_that_cannot_be_used_gets_one_sentence(
    folder: Path, tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    pack(folder, tmp_path / "parts")
    file = tmp_path / "parts" / "work.manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    with pytest.raises(UserError, match=sentence):
        unpack(tmp_path / "parts", tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_several_packed_folders_may_lie_together_if_one_is_named(folder: Path, tmp_path: Path) -> None:
    pack(folder / "data", tmp_path / "parts")
    pack(folder / "run", tmp_path / "other")
    for path in (tmp_path / "other").iterdir():
        path.rename(tmp_path / "parts" / path.name)
    with pytest.raises(UserError, match="several manifests; name one"):
        unpack(tmp_path / "parts", tmp_path / "back")
    unpack(tmp_path / "parts" / "run.manifest.json", tmp_path / "back")
    assert contents(tmp_path / "back") == contents(folder / "run")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["pack", "nowhere", "parts"], "there is no folder nowhere"),
        (["pack", "work", "work/parts"], "choose a folder outside"),
        (["pack", "work", "full"], "full is not empty"),
        (["pack", "work", "parts", "--part-size", "16 Mbit"], "write it like 16MiB"),
        (["pack", "work", "parts", "--part-size", "0"], "use 1 or more"),
        (["pack", "hollow", "parts"], "has no files"),
        (["unpack", "work", "back"], "has no *.manifest.json"),
    ],
)
def test_a_mistake_gets_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(folder.parent)
    Path("full").mkdir()
    Path("full/something").touch()
    Path("hollow").mkdir()
    result = cli(*arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
