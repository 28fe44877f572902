"""Opening a data folder, and noticing what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maskpredict.corpus.dataset import Dataset
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.errors import UserError


@pytest.fixture
def folder(config: PrepareConfig) -> Path:
    prepare(config)
    return config.out


def change_description(folder: Path, **changes: object) -> None:
    path = folder / "dataset.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_sound_folder_opens_and_has_no_problems(folder: Path) -> None:
    dataset = Dataset(folder)
    assert (dataset.languages.source, dataset.languages.target) == ("xx", "yy")
    assert len(dataset.split("train")) == len(dataset.split("train").target) == 300
    assert dataset.check() == []


def test_a_folder_that_is_no_data_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a data folder"):
        Dataset(tmp_path)
    with pytest.raises(UserError, match="is not a data folder"):
        Dataset(tmp_path / "nowhere")


def test_a_newer_format_is_refused(folder: Path) -> None:
    change_description(folder, format_version=2, languages="something else entirely")
    with pytest.raises(UserError, match="data format 2, newer than the 1"):
        Dataset(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format_version": 1}', '{"format_version": "x"}'])
def test_a_damaged_description_is_refused(folder: Path, text: str) -> None:
    (folder / "dataset.json").write_text(text)
    with pytest.raises(UserError, match=r"dataset\.json is damaged"):
        Dataset(folder)


def test_an_unknown_split_is_refused_with_the_known_ones(folder: Path) -> None:
    with pytest.raises(UserError, match="no split 'dev'; it has train, valid, test"):
        Dataset(folder).split("dev")


@pytest.mark.parametrize("name", ["tokenizer.model", "train.xx.ids", "train.yy.offsets", "valid.xx.txt", "test.yy.ids"])
def test_a_missing_file_is_a_problem(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert Dataset(folder).check() == [f"{folder / name} is missing."]


@pytest.mark.parametrize("name", ["train.xx.ids", "train.yy.offsets"])
def test_a_cut_file_is_a_problem(folder: Path, name: str) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes()[:-8])
    (problem,) = Dataset(folder).check()
    assert str(folder / "train") in problem
    with pytest.raises(UserError, match="prepare the data again"):
        Dataset(folder).split("train")


@pytest.mark.parametrize(
    "name", ["valid.xx.txt", "train.xx.ids", "train.yy.offsets", "dataset.json", "tokenizer.model"]
)
def test_a_flipped_bit_is_noticed_when_the_file_is_read(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[content.index(b"0") if name == "dataset.json" else len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(UserError, match=rf"{name} is damaged: its checksum is .*; prepare the data again\."):
        _ = [Dataset(folder).split("train"), Dataset(folder).split("valid"), Dataset(folder).tokenizers]


# Without checksums, as folders of earlier versions, mistakes are found by what they mean.


@pytest.fixture
def unsigned(folder: Path) -> Path:
    (folder / "checksums.json").unlink()
    return folder


def test_a_sentence_too_few_is_noticed_although_the_files_agree(unsigned: Path) -> None:
    for suffix in ("ids", "offsets"):
        (unsigned / f"train.xx.{suffix}").write_bytes((unsigned / f"valid.xx.{suffix}").read_bytes())
    (problem,) = Dataset(unsigned).check()
    assert "holds 20 sentences, dataset.json says 300" in problem


def test_another_tokenizer_is_a_problem(unsigned: Path) -> None:
    path = unsigned / "tokenizer.model"
    path.write_bytes(path.read_bytes() + b"\0")
    assert Dataset(unsigned).check() == [f"{path} is not the tokenizer the data was encoded with."]


def test_ids_beyond_the_vocabulary_are_a_problem(unsigned: Path) -> None:
    path = unsigned / "train.yy.ids"
    path.write_bytes(path.read_bytes()[:-2] + b"\xff\xff")
    assert Dataset(unsigned).check() == [f"{path} has ids beyond the vocabulary of 100."]


def test_text_with_a_line_too_many_is_a_problem(unsigned: Path) -> None:
    with (unsigned / "valid.xx.txt").open("ab") as file:
        file.write(b"one more\n")
    (problem,) = Dataset(unsigned).check()
    assert problem == "The text of split valid does not have as many lines as the split has pairs."


def test_parts_that_do_not_add_up_are_a_problem(unsigned: Path) -> None:
    splits = json.loads((unsigned / "dataset.json").read_text())["splits"]
    splits["train"]["corpora"][0]["pairs"] = 299
    change_description(unsigned, splits=splits)
    assert Dataset(unsigned).check() == ["The corpora of train do not add up to its 300 pairs."]
