"""`prepare` from text to data folder: what it writes, counts and refuses, and that it is atomic."""

from __future__ import annotations

import errno
import io
import json
import lzma
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from maskpredict.config import dump_config, load_config
from maskpredict.corpus.cleaning import CleaningConfig
from maskpredict.corpus.dataset import CorpusPart, Dataset
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.report import render
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.errors import UserError
from maskpredict.progress import Progress, Task

WriteCorpus = Callable[[str, list[tuple[str, str]]], CorpusConfig]
Pairs = list[tuple[str, str]]


def test_the_data_folder_holds_every_pair_of_every_split(config: PrepareConfig, pairs: Pairs) -> None:
    report = prepare(config)
    dataset = Dataset(config.out)
    assert dataset.check() == []
    assert dataset.splits == ["train", "valid", "test"]
    for name, expected in (("train", pairs), ("valid", pairs[:20]), ("test", pairs[20:30])):
        split = dataset.split(name)
        decoded = [
            (dataset.tokenizers.source.decode(s.tolist()), dataset.tokenizers.target.decode(t.tolist()))
            for s, t in ((split.source[i], split.target[i]) for i in range(len(split)))
        ]
        assert decoded == expected
    assert [corpus.kept for corpus in report.corpora] == [300, 20, 10]
    assert sorted(path.name for path in config.out.parent.glob("data*")) == ["data"]


def test_valid_and_test_keep_their_raw_text_and_train_does_not(config: PrepareConfig, pairs: Pairs) -> None:
    prepare(config)
    dataset = Dataset(config.out)
    texts = dataset.split("test").texts
    assert texts is not None
    assert texts.source == [source for source, _ in pairs[20:30]]
    assert texts.target == [target for _, target in pairs[20:30]]
    assert dataset.split("train").texts is None
    assert not list(config.out.glob("train*.txt"))


def test_no_end_of_sentence_is_stored(config: PrepareConfig) -> None:
    prepare(config)
    dataset = Dataset(config.out)
    assert dataset.tokenizers.source.special.eos not in dataset.split("train").source.flat


def test_preparing_twice_gives_identical_files(config: PrepareConfig, tmp_path: Path) -> None:
    again = replace(config, out=tmp_path / "again")
    prepare(config)
    prepare(again)
    names = sorted(path.name for path in config.out.iterdir())
    assert names == sorted(path.name for path in again.out.iterdir())
    for name in names:
        assert (config.out / name).read_bytes() == (again.out / name).read_bytes()


def test_each_filter_is_counted_for_its_corpus_and_only_in_train(
    config: PrepareConfig, pairs: Pairs, write_corpus: WriteCorpus
) -> None:
    long = " ".join(["ba"] * 60)
    unfit = [
        ("", "OK"),
        ("ko", "  "),
        ("ba" * 600, "AB"),
        (long, long.upper()),
        (long[:60], "AB"),
        ("same", "same"),
        pairs[0],
        pairs[299],
    ]
    noisy = write_corpus("noisy", [*unfit, ("ko", "OK")])
    cleaning = CleaningConfig(max_characters=1_000, max_tokens=40, drop_identical=True)
    report = prepare(replace(config, train=(*config.train, noisy), test=(noisy,), cleaning=cleaning))
    clean, dirty, _, test = report.corpora
    assert (clean.read, clean.kept, clean.dropped) == (300, 300, {})
    assert (dirty.read, dirty.kept) == (9, 1)
    assert dirty.dropped == {
        "empty": 2,
        "too many characters": 1,
        "identical sides": 1,
        "duplicate": 2,
        "too many tokens": 1,
        "length ratio": 1,
    }
    assert (test.read, test.kept, test.dropped) == (9, 9, {})
    assert Dataset(config.out).check() == []


def test_corpora_keep_their_weights_and_places(config: PrepareConfig, pairs: Pairs, write_corpus: WriteCorpus) -> None:
    train = (write_corpus("a", pairs[:100]), replace(write_corpus("b", pairs[100:]), weight=2.5))
    valid = (write_corpus("c", pairs[:3]), write_corpus("d", pairs[3:5]))
    prepare(replace(config, train=train, valid=valid))
    dataset = Dataset(config.out)
    assert dataset.split("train").corpora == [CorpusPart("a", 0, 100, 1.0), CorpusPart("b", 100, 200, 2.5)]
    assert dataset.split("valid").corpora == [CorpusPart("c", 0, 3, 1.0), CorpusPart("d", 3, 2, 1.0)]


def test_several_test_sets_are_a_split_each(config: PrepareConfig, pairs: Pairs, write_corpus: WriteCorpus) -> None:
    tests = (write_corpus("news.2014", pairs[:3]), replace(write_corpus("talks", pairs[3:5]), name="ted.a"))
    prepare(replace(config, test=tests))
    dataset = Dataset(config.out)
    assert dataset.splits == ["train", "valid", "test.news", "test.ted.a"]
    assert [len(dataset.split(name)) for name in dataset.splits[2:]] == [3, 2]


def test_separate_vocabularies(config: PrepareConfig, pairs: Pairs) -> None:
    prepare(replace(config, vocabulary=VocabularyConfig(size=60, joint=False)))
    dataset = Dataset(config.out)
    assert dataset.check() == []
    assert not dataset.description.joint_vocabulary
    assert dataset.tokenizers.target.decode(dataset.split("train").target[7].tolist()) == pairs[7][1]


def test_a_reused_vocabulary_serves_the_opposite_direction(
    config: PrepareConfig, tmp_path: Path, write_corpus: WriteCorpus
) -> None:
    prepare(replace(config, vocabulary=VocabularyConfig(size=60, joint=False)))
    train = config.train[0]
    back = PrepareConfig(
        source_language="yy",
        target_language="xx",
        out=tmp_path / "back",
        train=(CorpusConfig(source=train.target, target=train.source),),
        vocabulary=VocabularyConfig(reuse=config.out),
    )
    prepare(back)
    there, reverse = Dataset(config.out), Dataset(back.out)
    assert reverse.check() == []
    assert reverse.split("train").source.flat.tolist() == there.split("train").target.flat.tolist()
    assert reverse.split("train").target.flat.tolist() == there.split("train").source.flat.tolist()


def test_test_sets_alone_can_reuse_a_vocabulary(config: PrepareConfig, tmp_path: Path) -> None:
    prepare(config)
    only_test = replace(config, out=tmp_path / "t", train=(), valid=(), vocabulary=VocabularyConfig(reuse=config.out))
    prepare(only_test)
    assert Dataset(only_test.out).splits == ["test"]


def test_standard_input_and_compressed_tsv_are_train_text_like_any_other(
    config: PrepareConfig, pairs: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
    (tmp_path / "half.tsv.xz").write_bytes(lzma.compress(b"ti lu\tIT UL\n"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    train = (CorpusConfig(tsv=Path("-")), CorpusConfig(tsv=tmp_path / "half.tsv.xz"))
    report = prepare(replace(config, train=train))
    assert [(corpus.name, corpus.kept) for corpus in report.corpora[:2]] == [("stdin", 300), ("half", 1)]
    assert all(path.is_file() for path in config.out.iterdir()), "copies of pipes are removed"


def test_hostile_characters_do_not_shift_the_lines_of_a_test_set(
    config: PrepareConfig, write_corpus: WriteCorpus
) -> None:
    hostile = [("a\u2028b\u0085c", "A"), ("nul\x00\x0b", "B\r"), ("👩‍👩‍👧 😀", "C"), ("", ""), ("last", "L")]
    prepare(replace(config, test=(write_corpus("hostile", hostile),)))
    texts = Dataset(config.out).split("test").texts
    assert texts is not None
    assert texts.source == ["a b c", "nul  ", "👩‍👩‍👧 😀", "", "last"]
    assert texts.target == ["A", "B", "C", "", "L"]
    assert Dataset(config.out).check() == []


def test_a_vocabulary_beyond_65536_is_stored_in_four_bytes(config: PrepareConfig, write_corpus: WriteCorpus) -> None:
    ranges = (range(0x4E00, 0x9FFF), range(0xAC00, 0xD7A3), range(0x20000, 0x28700))
    characters = [chr(code) for codes in ranges for code in codes]
    lines = ["".join(characters[i : i + 100]) for i in range(0, len(characters), 100)]
    everything = write_corpus("everything", list(zip(lines, lines, strict=True)))
    vocabulary = VocabularyConfig(size=len(characters) + 6, normalization="identity")
    prepare(replace(config, train=(everything,), vocabulary=vocabulary))
    dataset = Dataset(config.out)
    source = dataset.split("train").source
    assert source.flat.dtype.itemsize == 4
    assert int(source.flat.max()) > 65_536
    assert [dataset.tokenizers.source.decode(source[i].tolist()) for i in (0, -1)] == [lines[0], lines[-1]]


def test_the_report_counts_subwords_per_word_and_is_recorded(config: PrepareConfig, pairs: Pairs) -> None:
    report = prepare(config)
    train = report.corpora[0]
    split = Dataset(config.out).split("train")
    assert train.source_tokens == len(split.source.flat)
    assert train.source_words == sum(len(source.split()) for source, _ in pairs)
    recorded = json.loads((config.out / "dataset.json").read_text())["report"]["corpora"]
    assert recorded[0]["target_tokens"] == train.target_tokens
    console = Console(file=io.StringIO(), width=200)
    console.print(render(report))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert f"{train.source_tokens:,}" in shown
    assert f"{train.source_tokens / train.source_words:.2f}" in shown


def test_progress_is_reported_as_plain_lines_outside_a_terminal(
    config: PrepareConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress() as progress:
        prepare(config, progress)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Encoding train: 300" in captured.err


def test_the_library_is_silent_by_default(config: PrepareConfig, capfd: pytest.CaptureFixture[str]) -> None:
    prepare(config)
    assert capfd.readouterr() == ("", "")


def test_the_configuration_survives_yaml(config: PrepareConfig, tmp_path: Path) -> None:
    path = tmp_path / "prepare.yaml"
    path.write_text(dump_config(config))
    assert load_config(PrepareConfig, path) == config
    assert load_config(PrepareConfig, path, ["train.0.weight=2"]).train[0].weight == 2.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": ()}, "no text to learn a vocabulary from"),
        ({"target_language": "xx"}, "Both languages are 'xx'"),
        ({"source_language": "a/b"}, "language code 'a/b'"),
        ({"vocabulary": VocabularyConfig(size=5_000)}, r"at most \d+ subwords"),
        ({"vocabulary": VocabularyConfig(reuse=Path("nowhere"))}, "no vocabulary to reuse"),
        ({"cleaning": CleaningConfig(max_tokens=1)}, "Cleaning dropped every pair of the train corpus train"),
        ({"cleaning": CleaningConfig(max_characters=1)}, "no text to learn a vocabulary from"),
        ({"valid": (CorpusConfig(tsv=Path("nowhere.tsv")),)}, r"nowhere\.tsv cannot be read"),
    ],
)
def test_mistakes_are_explained_and_leave_nothing_behind(
    config: PrepareConfig, change: dict[str, object], message: str
) -> None:
    before = sorted(config.out.parent.iterdir())
    with pytest.raises(UserError, match=message):
        prepare(replace(config, **change))  # type: ignore[arg-type]
    assert sorted(config.out.parent.iterdir()) == before


def test_empty_corpora_are_refused(config: PrepareConfig, write_corpus: WriteCorpus) -> None:
    empty = write_corpus("empty", [])
    with pytest.raises(UserError, match="have no text to learn a vocabulary from"):
        prepare(replace(config, train=(empty,)))
    with pytest.raises(UserError, match="The valid corpus empty is empty"):
        prepare(replace(config, valid=(empty,)))


def test_an_existing_folder_is_replaced_only_when_asked_and_only_if_it_is_a_data_folder(
    config: PrepareConfig, pairs: Pairs, write_corpus: WriteCorpus
) -> None:
    config.out.mkdir()
    prepare(config)
    smaller = replace(config, train=(write_corpus("smaller", pairs[:200]),))
    with pytest.raises(UserError, match="is not empty"):
        prepare(smaller)
    assert len(Dataset(config.out).split("train")) == 300
    prepare(replace(smaller, overwrite=True))
    assert len(Dataset(config.out).split("train")) == 200
    (config.out / "dataset.json").unlink()
    with pytest.raises(UserError, match="will not be overwritten"):
        prepare(replace(smaller, overwrite=True))


def test_a_failure_leaves_the_earlier_folder_untouched(config: PrepareConfig) -> None:
    prepare(config)
    before = {path.name: path.read_bytes() for path in config.out.iterdir()}
    broken = replace(config, overwrite=True, test=(CorpusConfig(tsv=Path("nowhere.tsv")),))
    with pytest.raises(UserError):
        prepare(broken)
    assert {path.name: path.read_bytes() for path in config.out.iterdir()} == before
    assert sorted(path.name for path in config.out.parent.glob("data*")) == ["data"]


class InterruptingProgress(Progress):
    """Stands for a user who presses Ctrl-C when the valid set comes up."""

    def __init__(self, folder: Path) -> None:
        super().__init__(quiet=True)
        self.folder = folder
        self.files_at_interrupt: list[str] = []

    def task(self, description: str, total: int | None = None) -> Task:
        if description == "Encoding valid":
            self.files_at_interrupt = [path.name for path in self.folder.glob("data.partial-*/*.ids")]
            raise KeyboardInterrupt
        return super().task(description, total)


def test_ctrl_c_during_encoding_leaves_nothing_behind(config: PrepareConfig, tmp_path: Path) -> None:
    progress = InterruptingProgress(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        prepare(config, progress)
    assert sorted(progress.files_at_interrupt) == ["train.xx.ids", "train.yy.ids"]
    assert list(tmp_path.glob("data*")) == []


def run_on_a_pipe(config: PrepareConfig, pipe: Path) -> subprocess.Popen[bytes]:
    """`prepare` in a process of its own, waiting for a test set from a pipe to which nobody writes."""
    os.mkfifo(pipe)
    path = config.out.parent / "prepare.yaml"
    path.write_text(dump_config(replace(config, test=(CorpusConfig(tsv=pipe),))))
    script = (
        "import sys; from pathlib import Path; from maskpredict.config import load_config;"
        "from maskpredict.corpus.prepare import PrepareConfig, prepare;"
        "prepare(load_config(PrepareConfig, Path(sys.argv[1])))"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list(config.out.parent.glob("data.partial-*")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def test_an_interrupt_signal_leaves_nothing_behind(config: PrepareConfig, tmp_path: Path) -> None:
    process = run_on_a_pipe(config, tmp_path / "pipe")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert list(tmp_path.glob("data*")) == []


def test_a_kill_half_way_leaves_no_data_folder(config: PrepareConfig, tmp_path: Path) -> None:
    process = run_on_a_pipe(config, tmp_path / "pipe")
    process.kill()
    process.communicate(timeout=60)
    assert not config.out.exists()


def test_the_next_prepare_mentions_and_removes_what_a_killed_one_left(
    config: PrepareConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    process = run_on_a_pipe(config, tmp_path / "pipe")
    process.kill()
    process.communicate(timeout=60)
    (left,) = tmp_path.glob("data.partial-*")
    prepare(config)
    assert f"Removing {left}, which a killed process left unfinished." in caplog.text
    assert [path.name for path in tmp_path.glob("data*")] == ["data"]


def test_a_full_disk_is_explained_and_leaves_nothing_behind(config: PrepareConfig) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(UserError, match="no room left to write") as refused:
            prepare(config)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(refused.value.__cause__, OSError)
    assert refused.value.__cause__.errno == errno.EFBIG
    assert list(config.out.parent.glob("data*")) == []
