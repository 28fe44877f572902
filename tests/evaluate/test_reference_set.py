"""Test sets from files and from data folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.errors import UserError
from maskpredict.evaluate.reference_set import Lines, ReferenceSet, set_from_files, sets_from_data
from maskpredict.languages import Languages

LINES = [f"{word} {other}." for word in ("one", "two", "three", "four") for other in ("bird", "house", "river")]


def make_data(folder: Path, tests: tuple[str, ...]) -> Path:
    """A data folder with test splits of these names, each with another first line."""

    def corpus(name: str) -> CorpusConfig:
        for language in ("xx", "yy"):
            lines = [f"{name} {language}", *LINES]
            (folder / f"{name}.{language}").write_text("".join(f"{line}\n" for line in lines))
        return CorpusConfig(name=name, source=folder / f"{name}.xx", target=folder / f"{name}.yy")

    prepare(
        PrepareConfig(
            source_language="xx", target_language="yy", out=folder / "data", train=(corpus("train"),),
            valid=(corpus("valid"),), test=tuple(map(corpus, tests)), vocabulary=VocabularyConfig(size=60),
        )
    )  # fmt: skip
    return folder / "data"


def test_a_set_from_files_is_called_after_its_first_reference(tmp_path: Path) -> None:
    for name, text in (("first.txt", "a\nb\n"), ("second.txt", "c\nd\n"), ("source.txt", "e\nf\n")):
        (tmp_path / name).write_text(text)
    references = [tmp_path / "first.txt", tmp_path / "second.txt"]
    found = set_from_files(references, tmp_path / "source.txt", "de")
    assert (found.name, len(found), found.target_language, found.languages) == ("first.txt", 2, "de", None)
    assert [lines.texts for lines in found.references] == [["a", "b"], ["c", "d"]]
    assert [lines.name for lines in found.references] == [str(path) for path in references]
    assert found.source == Lines(str(tmp_path / "source.txt"), ["e", "f"])
    alone = set_from_files(references[:1])
    assert (alone.source, alone.target_language) == (None, "")


def test_all_test_splits_of_a_data_folder_are_used_with_its_languages(tmp_path: Path) -> None:
    data = make_data(tmp_path, ("news", "talks"))
    first, second = sets_from_data(data)
    assert (first.name, second.name) == ("test.news", "test.talks")
    assert first.source is not None
    assert (first.source.texts[0], first.references[0].texts[0]) == ("news xx", "news yy")
    assert (first.target_language, first.languages, len(first)) == ("yy", Languages("xx", "yy"), 13)
    assert first.source.name == f"the source side of the split test.news of {data}"
    assert first.references[0].name == f"the target side of the split test.news of {data}"


def test_splits_can_be_named_each_once_and_the_target_language_too(tmp_path: Path) -> None:
    data = make_data(tmp_path, ("news",))
    found = sets_from_data(data, ["valid", "test", "valid"], "zh")
    assert [(one.name, one.target_language) for one in found] == [("valid", "zh"), ("test", "zh")]


def test_a_data_folder_without_a_test_split_can_be_scored_on_another(tmp_path: Path) -> None:
    data = make_data(tmp_path, ())
    with pytest.raises(UserError, match="has no test split; name another with --split, of train, valid"):
        sets_from_data(data)
    assert [one.name for one in sets_from_data(data, ["valid"])] == ["valid"]


def test_a_set_without_references_or_lines_is_refused() -> None:
    with pytest.raises(UserError, match="the test set toy has no reference"):
        ReferenceSet("toy", ())
    with pytest.raises(UserError, match=r"the test set toy is empty: ref\.txt has no lines"):
        ReferenceSet("toy", (Lines("ref.txt", []),))
    with pytest.raises(UserError, match="give a file with --reference"):
        set_from_files([])


def test_references_and_sources_need_as_many_lines_as_the_first_reference() -> None:
    first, shorter = Lines("first", ["a"] * 1500), Lines("shorter", ["a"])
    for references, source in (((first, shorter), None), ((first,), shorter)):
        with pytest.raises(UserError, match="shorter has 1 lines and first has 1,500; they need the same number"):
            ReferenceSet("toy", references, source)
