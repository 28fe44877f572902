"""Distillation by text: from any text and any teacher to text that `prepare` takes, whatever interrupts the work."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from typer.testing import CliRunner

from maskpredict.cli import app
from maskpredict.config import dump_config
from maskpredict.corpus.compressed import compress
from maskpredict.corpus.dataset import Dataset
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig, read_lines
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.distill.by_text import FilterConfig, TextConfig, TextDistillConfig, distill_text
from maskpredict.distill.by_text.config import RayConfig
from maskpredict.errors import UserError
from maskpredict.runtime.translator import Translator
from tests.conftest import toy_sentences, toy_translation
from tests.distill.conftest import TeacherFolders

SENTENCES = list(dict.fromkeys(toy_sentences(60, seed=11)))
UPPER = "command:tr a-zäöü A-ZÄÖÜ"
SCRIPT = """
import sys
from pathlib import Path
from maskpredict.config import load_config
from maskpredict.distill.by_text import TextDistillConfig, distill_text

distill_text(load_config(TextDistillConfig, Path(sys.argv[1])), quiet=True)
"""
Pairs = list[tuple[str, str]]


def text_file(folder: Path, lines: Sequence[str], name: str = "sources.xx") -> Path:
    path = folder / name
    path.write_bytes(compress("".join(f"{line}\n" for line in lines).encode(), path.suffix))
    return path


def config_of(folder: Path, lines: Sequence[str] = SENTENCES, **settings: Any) -> TextDistillConfig:
    known: dict[str, Any] = {"teacher": "command:rev", "source_language": "xx", "target_language": "yy"}
    known |= {"out": folder / "out", "filters": FilterConfig(drop_copies=False), "device": "cpu", "threads": 1}
    known |= (
        {} if "text" in settings or "data" in settings else {"text": (TextConfig(source=text_file(folder, lines)),)}
    )
    return TextDistillConfig(**{**known, **settings})


def distilled(out: Path, name: str = "sources", ending: str = "zst") -> Pairs:
    sides = (read_lines(out / f"{name}.{language}.{ending}") for language in ("xx", "yy"))
    return list(zip(*sides, strict=True))


def dropped(out: Path) -> dict[str, int]:
    content: dict[str, int] = json.loads((out / "report.json").read_text())["corpora"][0]["dropped"]
    return content


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# From a teacher to a student.


def test_both_libraries_make_the_same_training_text(marian_teacher: TeacherFolders, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"beam_size": 2, "max_tokens": 40, "compute_type": "float32", "shard_lines": 25}
    made = []
    for kind in ("transformers", "ctranslate2"):
        teacher = f"{kind}:{getattr(marian_teacher, kind)}"
        distill_text(config_of(tmp_path, teacher=teacher, out=tmp_path / kind, **settings), quiet=True)
        made.append(distilled(tmp_path / kind))
    assert made[0] == made[1]
    kept = dict(made[0])
    assert len(kept) > 50
    assert sum(target == toy_translation(source) for source, target in kept.items()) > 0.9 * len(kept)


def test_prepare_takes_what_was_distilled(tmp_path: Path) -> None:
    distill_text(config_of(tmp_path), quiet=True)
    source, target = (tmp_path / "out" / f"sources.{language}.zst" for language in ("xx", "yy"))
    config = PrepareConfig("xx", "yy", tmp_path / "data", train=(CorpusConfig(source=source, target=target),))
    prepare(replace(config, vocabulary=VocabularyConfig(size=80)))
    assert len(Dataset(tmp_path / "data").split("train")) == len(SENTENCES)


def test_our_own_teacher_gives_the_text_of_the_translator(autoregressive_folder: Path, tmp_path: Path) -> None:
    distill_text(config_of(tmp_path, teacher=str(autoregressive_folder), beam_size=3), quiet=True)
    kept = dict(distilled(tmp_path / "out"))
    said = Translator(autoregressive_folder).translate(list(kept), beam_size=3)
    assert list(kept.values()) == [translation.text for translation in said]
    assert len(kept) > 50


def test_the_sources_of_a_data_folder_become_a_data_folder(
    marian_teacher: TeacherFolders, autoregressive_folder: Path, tmp_path: Path
) -> None:
    pairs = [f"{sentence}\tREFERENCE.\n" for sentence in SENTENCES]
    for name, lines in (("news", pairs[:40]), ("talks", pairs[40:]), ("valid", pairs[:3])):
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    train = (CorpusConfig(tsv=tmp_path / "news.tsv"), CorpusConfig(tsv=tmp_path / "talks.tsv", weight=2.5))
    prepare(
        PrepareConfig(
            *("xx", "yy", tmp_path / "data"),
            train=train,
            valid=(CorpusConfig(tsv=tmp_path / "valid.tsv"),),
            vocabulary=VocabularyConfig(reuse=autoregressive_folder),
        )
    )
    teacher = f"ctranslate2:{marian_teacher.ctranslate2}"
    config = config_of(tmp_path, teacher=teacher, data=tmp_path / "data", max_tokens=40, shard_lines=30)
    report = distill_text(replace(config, source_language="", target_language=""), quiet=True)
    made = Dataset(tmp_path / "out")
    assert made.check() == []
    assert contents(tmp_path / "data")["valid.yy.txt"] == contents(tmp_path / "out")["valid.yy.txt"]
    assert [(part.name, part.weight) for part in made.split("train").corpora] == [("news", 1.0), ("talks", 2.5)]
    assert len(made.split("train")) == report.pairs > 50
    train_split, target = made.split("train"), made.tokenizers.target
    read = [target.decode(train_split.target[pair].tolist()) for pair in range(len(train_split))]
    source = [made.tokenizers.source.decode(train_split.source[pair].tolist()) for pair in range(len(train_split))]
    right = sum(toy_translation(own) == other for own, other in zip(source, read, strict=True))
    assert right > 0.9 * report.pairs


# Text in and out.


@pytest.mark.parametrize("ending", [".xx", ".gz", ".xz", ".zst", ".bz2"])
def test_text_may_be_compressed(tmp_path: Path, ending: str) -> None:
    text = TextConfig(name="sources", source=text_file(tmp_path, SENTENCES, f"sources{ending}"))
    distill_text(config_of(tmp_path, text=(text,)), quiet=True)
    assert distilled(tmp_path / "out") == [(sentence, sentence[::-1]) for sentence in SENTENCES]


@pytest.mark.parametrize(("compression", "read"), [("zst", None), ("gz", gzip.decompress), ("xz", lzma.decompress)])
def test_what_is_made_is_compressed_as_asked(tmp_path: Path, compression: Any, read: Any) -> None:
    distill_text(config_of(tmp_path, compression=compression, shard_lines=7), quiet=True)
    content = (tmp_path / "out" / f"sources.yy.{compression}").read_bytes()
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(content), read_across_frames=True)
    text = read(content) if read else reader.read()
    assert text.decode() == "".join(f"{sentence[::-1]}\n" for sentence in SENTENCES)


def test_standard_input_is_read_once_and_resumed_without_it(tmp_path: Path) -> None:
    options = ["--text", "-", "-s", "xx", "-t", "yy", "shard_lines=20", "filters.drop_copies=false", "seconds=0"]
    command = [sys.executable, "-m", "maskpredict.cli", "distill", str(tmp_path / "out"), "--teacher", "command:rev"]
    text = "".join(f"{sentence}\tignored\n" for sentence in SENTENCES)
    begun = subprocess.run([*command, *options], input=text, capture_output=True, text=True)
    assert "0 of 3 shards are done; the same command continues" in begun.stderr
    assert "No shard was finished" not in begun.stderr  # as was asked for
    config = config_of(tmp_path, text=(TextConfig(tsv=Path("-")),), shard_lines=20)
    assert distill_text(config, quiet=True).pairs == len(SENTENCES)
    assert distilled(tmp_path / "out", "stdin") == [(sentence, sentence[::-1]) for sentence in SENTENCES]


def test_several_texts_are_files_of_their_own(tmp_path: Path) -> None:
    news = TextConfig(source=text_file(tmp_path, ["eins", "zwei"], "news.xx.gz"))
    talks = TextConfig(tsv=text_file(tmp_path, ["drei\tthree", "vier", "eins\tone"], "talks.tsv"))
    report = distill_text(config_of(tmp_path, text=(news, talks)), quiet=True)
    assert distilled(tmp_path / "out", "news") == [("eins", "snie"), ("zwei", "iewz")]
    assert distilled(tmp_path / "out", "talks") == [("drei", "ierd"), ("vier", "reiv")]
    assert [(corpus.name, corpus.read, corpus.pairs) for corpus in report.corpora] == [("news", 2, 2), ("talks", 3, 2)]


def test_tables_and_json_lines_are_sources_with_or_without_references(tmp_path: Path) -> None:
    rows = [{"text": "eins", "en": "one"}, {"text": "zwei", "en": "two"}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "table.parquet")
    text_file(tmp_path, [json.dumps({"doc": {"text": "drei"}})], "crawl.jsonl.gz")
    texts = (
        TextConfig(parquet=tmp_path / "table.parquet", columns=("text", "en")),
        TextConfig(jsonl=tmp_path / "crawl.jsonl.gz", columns=("doc.text",)),
    )
    distill_text(config_of(tmp_path, text=texts), quiet=True)
    assert distilled(tmp_path / "out", "table") == [("eins", "snie"), ("zwei", "iewz")]
    assert distilled(tmp_path / "out", "crawl") == [("drei", "ierd")]
    closest = config_of(tmp_path, text=texts[:1], teacher=several(tmp_path, "one", "two"), choose="closest", n=2)
    distill_text(replace(closest, out=tmp_path / "closest"), quiet=True)
    assert distilled(tmp_path / "closest", "table") == [("eins", "one"), ("zwei", "two")]


def test_a_star_and_a_folder_stand_for_several_files(tmp_path: Path) -> None:
    for number in range(2):
        text_file(tmp_path, [f"eins {number}"], f"crawl.{number}.xx.gz")
    (tmp_path / "pairs").mkdir()
    text_file(tmp_path / "pairs", ["zwei"], "news.xx.gz")
    text_file(tmp_path / "pairs", ["two"], "news.yy.gz")
    options = ["--text", str(tmp_path / "crawl.*.gz"), "--text", str(tmp_path / "pairs"), "-s", "xx", "-t", "yy"]
    command = ["distill", str(tmp_path / "out"), "--teacher", "command:rev", *options]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    assert distilled(tmp_path / "out", "crawl.0") == [("eins 0", "0 snie")]
    assert distilled(tmp_path / "out", "crawl.1") == [("eins 1", "1 snie")]
    assert distilled(tmp_path / "out", "news") == [("zwei", "iewz")]
    with pytest.raises(UserError, match=r"there are no files .*nothing\*"):
        distill_text(config_of(tmp_path, text=(TextConfig(source=tmp_path / "nothing*"),)), quiet=True)


def test_every_line_keeps_empty_repeated_and_failing_lines_in_place(tmp_path: Path) -> None:
    program = tmp_path / "teacher.py"
    program.write_text("import sys\nfor line in sys.stdin: print(line.strip().upper()) if 'x' not in line else exit(1)")
    lines = ["", "eins", "x", "eins", "  ", "zwei"]
    (tmp_path / "nothing.xx").touch()
    texts = (TextConfig(source=text_file(tmp_path, lines)), TextConfig(source=tmp_path / "nothing.xx"))
    teacher = f"command:{sys.executable} {program}"
    config = config_of(tmp_path, text=texts, teacher=teacher, every_line=True, shard_lines=4, filters=FilterConfig())
    report = distill_text(config, quiet=True)
    translations = ["", "EINS", "", "EINS", "", "ZWEI"]
    assert distilled(tmp_path / "out") == list(zip(lines, translations, strict=True))
    assert distilled(tmp_path / "out", "nothing") == []
    assert [corpus.pairs for corpus in report.corpora] == [6, 0]
    assert dropped(tmp_path / "out") == {"empty source": 2, "not translated": 1}
    with pytest.raises(UserError, match="every_line is for `text` with choose=best and without filters"):
        replace(config, filters=FilterConfig(min_score=-1.0), teacher="translator:nowhere")


def test_a_line_break_in_a_translation_stays_a_space(tmp_path: Path) -> None:
    program = tmp_path / "teacher.py"
    program.write_text("import sys\nfor line in sys.stdin: print('a\\u2028b\\x85c')\n")
    distill_text(config_of(tmp_path, ["eins"], teacher=f"command:{sys.executable} {program}"), quiet=True)
    assert distilled(tmp_path / "out") == [("eins", "a b c")]


# Interruption and many machines.


@pytest.mark.parametrize("name", ["source.zst", "target.zst", "counts.json"])
def test_a_damaged_shard_is_made_again(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    config = config_of(tmp_path, teacher="command:tr a-z A-Z", shard_lines=2, shard="0/2")
    assert distill_text(config, quiet=True).shards_done > 0
    damaged = tmp_path / "out.shards" / "000002" / name
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    assert distill_text(replace(config, shard=""), quiet=True).finished
    assert f"A shard is made again: {damaged} is damaged" in caplog.text
    whole = replace(config, shard="", out=tmp_path / "whole")
    distill_text(whole, quiet=True)
    assert contents(whole.out) == contents(config.out)


def test_damaged_sources_are_refused(tmp_path: Path) -> None:
    config = config_of(tmp_path, teacher="command:tr a-z A-Z", shard_lines=2, shard="0/2")
    distill_text(config, quiet=True)
    damaged = tmp_path / "out.shards" / "000001.source.zst"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"000001\.source\.zst is damaged: .*; delete .*out\.shards to start again"):
        distill_text(replace(config, shard=""), quiet=True)


def test_a_killed_distillation_continues_to_the_same_bytes(tmp_path: Path) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text("import sys, time\ntime.sleep(0.05)\nfor line in sys.stdin: print(line.strip()[::-1])\n")
    config = config_of(tmp_path, teacher=f"command:{sys.executable} {slow}", shard_lines=2)
    (tmp_path / "distill.yaml").write_text(dump_config(config))
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "distill.yaml")], stderr=subprocess.DEVNULL
    )
    shards = tmp_path / "out.shards"
    while not (shards / "000002").exists():
        assert process.poll() is None
        time.sleep(0.002)
    process.kill()
    process.wait()
    done = {shard: shard.stat().st_mtime_ns for shard in shards.glob("??????")}
    assert 3 <= len(done) < len(SENTENCES) // 2
    assert not (tmp_path / "out").exists()

    paused = distill_text(replace(config, seconds=0.0), quiet=True)
    assert (paused.finished, paused.shards_done) == (False, len(done))
    assert {shard: shard.stat().st_mtime_ns for shard in shards.glob("??????")} == done
    assert distill_text(config, quiet=True).finished
    assert not shards.exists()
    whole = replace(config, out=tmp_path / "whole")
    distill_text(whole, quiet=True)
    assert contents(whole.out) == contents(config.out)


def test_a_job_array_makes_the_same_bytes_as_one_call(tmp_path: Path) -> None:
    config = config_of(tmp_path, shard_lines=7)
    jobs = [distill_text(replace(config, shard=f"{job}/3"), quiet=True) for job in (2, 0, 1)]
    assert [(job.finished, job.shards_done) for job in jobs] == [(False, 3), (False, 6), (False, 9)]
    merged = distill_text(config, quiet=True)
    assert merged.finished
    distill_text(replace(config, out=tmp_path / "whole"), quiet=True)
    assert contents(tmp_path / "whole") == contents(config.out)


def test_a_shard_that_another_call_has_made_meanwhile_is_not_made_again(tmp_path: Path) -> None:
    config = config_of(tmp_path, shard_lines=20)
    program = tmp_path / "teacher.py"
    program.write_text(
        "import shutil, sys\n"
        "from pathlib import Path\n"
        "shards = Path(sys.argv[1])\n"
        "for line in sys.stdin: print(line.strip()[::-1])\n"
        "for name in ('000000', '000001'):\n"  # as if another job had been faster
        "    shutil.copytree(Path(sys.argv[2]), shards / name, dirs_exist_ok=True)\n"
    )
    other = replace(config, out=tmp_path / "other", shard="0/3")
    distill_text(other, quiet=True)
    made = tmp_path / "other.shards" / "000000"
    teacher = f"command:{sys.executable} {program} {tmp_path}/out.shards {made}"
    distill_text(replace(config, teacher=teacher), quiet=True)
    first = [(sentence, sentence[::-1]) for sentence in SENTENCES]
    assert distilled(tmp_path / "out") == [*first[:20], *first[:20], *first[40:]]


def test_jobs_that_start_at_the_same_time_share_one_split(tmp_path: Path) -> None:
    config = config_of(tmp_path, shard_lines=3)
    (tmp_path / "distill.yaml").write_text(dump_config(config))
    command = [sys.executable, "-m", "maskpredict.cli", "distill", str(tmp_path / "distill.yaml"), "--shard"]
    jobs = [subprocess.Popen([*command, f"{job}/2"], stderr=subprocess.PIPE, text=True) for job in range(2)]
    said = [job.communicate()[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["distill.yaml", "out.shards", "sources.xx"]
    assert distill_text(replace(config, seconds=0.0), quiet=True).finished  # nothing is left but to merge
    assert distilled(tmp_path / "out") == [(sentence, sentence[::-1]) for sentence in SENTENCES]


def test_several_processes_make_the_same_bytes_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = config_of(tmp_path, shard_lines=7)
    distill_text(replace(config, processes=2))
    assert f"Distilling: {len(SENTENCES)} " in capsys.readouterr().err
    distill_text(replace(config, out=tmp_path / "whole"), quiet=True)
    assert contents(tmp_path / "whole") == contents(config.out)


def test_a_finished_distillation_is_not_made_again(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    first = distill_text(config, quiet=True)
    before = {path: path.stat().st_mtime_ns for path in config.out.iterdir()}
    assert distill_text(config, quiet=True) == first
    assert {path: path.stat().st_mtime_ns for path in config.out.iterdir()} == before


@pytest.mark.parametrize(
    "changed",
    [{"teacher": "command:cat"}, {"choose": "n_best"}, {"filters": FilterConfig(max_ratio=2.0)}, {"shard_lines": 9}],
)
def test_another_teacher_or_setting_does_not_continue_the_work(tmp_path: Path, changed: dict[str, Any]) -> None:
    config = config_of(tmp_path, seconds=0.0)
    distill_text(config, quiet=True)
    with pytest.raises(UserError, match=r"was begun with .*; continue with the old value"):
        distill_text(replace(config, **changed), quiet=True)


def test_other_text_of_the_same_name_does_not_continue_the_work(tmp_path: Path) -> None:
    config = config_of(tmp_path, seconds=0.0)
    distill_text(config, quiet=True)
    text_file(tmp_path, SENTENCES[1:])
    with pytest.raises(UserError, match="was begun with corpora="):
        distill_text(config, quiet=True)


# Choice and filters.


def several(tmp_path: Path, *answers: str) -> str:
    """A teacher that answers every line with these texts."""
    program = tmp_path / "several.py"
    program.write_text(f"import sys\nfor line in sys.stdin: print(*{answers!r}, sep='\\t')\n")
    return f"command:{sys.executable} {program}"


def test_n_best_keeps_every_different_translation(tmp_path: Path) -> None:
    config = config_of(tmp_path, ["eins"], teacher=several(tmp_path, "a", "b", "a", "c"), choose="n_best", n=3)
    distill_text(config, quiet=True)
    assert distilled(tmp_path / "out") == [("eins", "a"), ("eins", "b")]


def test_closest_takes_the_translation_most_like_the_reference(tmp_path: Path) -> None:
    text = TextConfig(
        name="sources",
        source=text_file(tmp_path, ["eins", "zwei"]),
        target=text_file(tmp_path, ["the house is red", "a blue car"], "reference.yy"),
    )
    teacher = several(tmp_path, "a car", "the house was red", "the blue car")
    distill_text(config_of(tmp_path, text=(text,), teacher=teacher, choose="closest", n=3), quiet=True)
    assert distilled(tmp_path / "out") == [("eins", "the house was red"), ("zwei", "the blue car")]


@pytest.mark.parametrize(
    ("source", "translation", "filters", "reason"),
    [
        ("eins zwei drei", "eins zwei  Drei", {}, "copy of the source"),
        ("Berlin", "Berlin", {}, None),
        ("eins zwei drei", "eins zwei drei", {"drop_copies": False}, None),
        ("eins zwei", "one two " + "and quite some more words than that", {}, "length ratio"),
        ("eins zwei", "one two " + "and quite some more words than that", {"max_ratio": 9.0}, None),
        ("ein ziemlich langer Satz", "a quite, a quite, a quite, a quite, a quite, a", {}, "repetition"),
        ("ein ziemlich langer Satz ohne Ende", "not a word, a word, a word, a word or two", {}, None),
        ("ja ja ja ja ja ja", "yes yes yes yes yes yes", {}, None),
        ("一个相当长的句子没有结尾", "终点终点终点终点终点", {}, "repetition"),
        ("eins zwei", "   ", {}, "empty translation"),
        ("Das ist ein Satz.", "Das ist noch ein deutscher Satz.", {"wrong_language": True}, "wrong language"),
        ("Das ist ein Satz.", "This is one more English sentence.", {"wrong_language": True}, None),
        ("Das ist ein Satz.", "Das ist noch ein deutscher Satz.", {}, None),
        ("Das ist ein Satz.", "Ja, Herr Müller.", {"wrong_language": True}, None),
        ("x" * 30, "y" * 30, {"max_characters": 20}, "too many characters"),
    ],
)
def test_each_filter_drops_and_counts(
    tmp_path: Path, source: str, translation: str, filters: dict[str, Any], reason: str | None
) -> None:
    lines = ["gut", source]
    program = tmp_path / "teacher.py"
    program.write_text(
        f"import sys\nfor line in sys.stdin: print({{'gut': 'good'}}.get(line.strip(), {translation!r}))\n"
    )
    teacher = f"command:{sys.executable} {program}"
    text = (TextConfig(name="sources", source=text_file(tmp_path, lines)),)
    config = config_of(tmp_path, text=text, teacher=teacher, target_language="en", filters=FilterConfig(**filters))
    distill_text(config, quiet=True)
    kept = list(read_lines(tmp_path / "out" / "sources.en.zst"))
    assert kept == (["good", translation] if reason is None else ["good"])
    assert dropped(tmp_path / "out") == ({} if reason is None else {reason: 1})


def test_repeated_and_empty_sources_are_translated_once_or_not_at_all(tmp_path: Path) -> None:
    distill_text(config_of(tmp_path, ["eins", "", "zwei", "eins", " ", "eins"], shard_lines=1), quiet=True)
    assert distilled(tmp_path / "out") == [("eins", "snie"), ("zwei", "iewz")]
    assert dropped(tmp_path / "out") == {"empty source": 2, "duplicate": 2}
    repeated = replace(config_of(tmp_path, ["eins", "eins"]), out=tmp_path / "repeated")
    distill_text(replace(repeated, filters=FilterConfig(drop_duplicates=False)), quiet=True)
    assert len(distilled(tmp_path / "repeated")) == 2


def test_low_scores_are_dropped(marian_teacher: TeacherFolders, tmp_path: Path) -> None:
    """A sentence in another language is translated with little confidence."""
    config = config_of(
        tmp_path,
        ["bane kosa timo.", "Q Z Q Z Q Z."],
        teacher=f"ctranslate2:{marian_teacher.ctranslate2}",
        max_tokens=40,
        filters=FilterConfig(min_score=-0.3, max_ratio=99.0, max_repeats=99),
    )
    distill_text(config, quiet=True)
    assert distilled(tmp_path / "out") == [("bane kosa timo.", "ENAB ASOK OMIT.")]
    assert dropped(tmp_path / "out") == {"low score": 1}


def test_a_reverse_model_judges_translations(
    autoregressive_folder: Path, marian_teacher: TeacherFolders, tmp_path: Path
) -> None:
    """The teacher here turns yy to xx; the model that reads xx again finds its good translations likely."""
    good, bad = "ENAB ASOK OMIT.", "INUL IRIT."
    program = tmp_path / "teacher.py"
    program.write_text(
        f"import sys\nfor line in sys.stdin: print({{{good!r}: 'bane kosa timo.'}}.get(line.strip(), 'kofu'))\n"
    )
    for number, reverse in enumerate(
        (str(autoregressive_folder), *(f"{k}:{getattr(marian_teacher, k)}" for k in ("transformers", "ctranslate2")))
    ):
        config = TextDistillConfig(
            teacher=f"command:{sys.executable} {program}",
            source_language="yy",
            target_language="xx",
            out=tmp_path / f"out-{number}",
            text=(TextConfig(name="sources", source=text_file(tmp_path, [good, bad])),),
            filters=FilterConfig(reverse=reverse, min_backward_score=-1.0),
            device="cpu",
        )
        distill_text(config, quiet=True)
        assert list(read_lines(config.out / "sources.xx.zst")) == ["bane kosa timo."]
        assert dropped(config.out) == {"low backward score": 1}


def test_a_source_without_a_translation_is_counted(marian_teacher: TeacherFolders, tmp_path: Path) -> None:
    lines = ["bane kosa.", " ".join(["bane"] * 40)]
    teacher = f"ctranslate2:{marian_teacher.ctranslate2}"
    report = distill_text(config_of(tmp_path, lines, teacher=teacher, max_tokens=30), quiet=True)
    assert report.pairs == 1
    assert dropped(tmp_path / "out") == {"not translated": 1}


# Mistakes.


def test_an_empty_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"The text sources has no sentence to translate \(it is empty\)"):
        distill_text(config_of(tmp_path, []), quiet=True)
    with pytest.raises(UserError, match=r"has no sentence to translate \(empty source 2\)"):
        distill_text(config_of(tmp_path, ["", " "]), quiet=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sources.xx"]


def test_unequal_files_are_refused_before_anything_is_translated(tmp_path: Path) -> None:
    source, target = text_file(tmp_path, ["a", "b"]), text_file(tmp_path, ["A"], "target.yy")
    with pytest.raises(UserError, match=r"has 2 lines and .* has 1; parallel files need the same number"):
        distill_text(config_of(tmp_path, text=(TextConfig(source=source, target=target),)), quiet=True)
    assert not (tmp_path / "out.shards").exists()


def test_a_tsv_file_of_three_columns_is_refused(tmp_path: Path) -> None:
    text = TextConfig(tsv=text_file(tmp_path, ["a\tb\tc"], "x.tsv"))
    with pytest.raises(UserError, match=r"Line 1 of .* has 3 tab-separated columns"):
        distill_text(config_of(tmp_path, text=(text,)), quiet=True)


def test_text_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere.xx cannot be read: No such file"):
        distill_text(config_of(tmp_path, text=(TextConfig(source=tmp_path / "nowhere.xx"),)), quiet=True)


def test_a_teacher_that_cannot_translate_is_refused_before_the_text_is_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        distill_text(config_of(tmp_path, teacher=f"transformers:{tmp_path}/nowhere"), quiet=True)
    assert not (tmp_path / "out.shards").exists()


def test_closest_without_references_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has sources without a reference; choose=closest needs parallel text"):
        distill_text(config_of(tmp_path, choose="closest", n=2), quiet=True)


def test_a_teacher_whose_translations_are_all_dropped_is_refused(tmp_path: Path) -> None:
    config = config_of(tmp_path, ["eins zwei drei", "vier fünf sechs"], teacher="command:cat", filters=FilterConfig())
    with pytest.raises(UserError, match=r"no translation of the teacher was kept \(copy of the source 2\)"):
        distill_text(config, quiet=True)
    assert not (tmp_path / "out").exists()


def test_a_place_with_other_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").write_text("Dear Ada,")
    with pytest.raises(UserError, match="is not empty and holds no distilled text"):
        distill_text(config_of(tmp_path), quiet=True)
    assert os.listdir(tmp_path / "out") == ["letter.txt"]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"n": 2}, "set choose to n_best or closest"),
        ({"shard": "3/3"}, "write it as I/N with I below N"),
        ({"shard": "one"}, "write it as I/N with I below N"),
        ({"decoding": {"iterations": 4}}, "decoding is for the teacher translator:MODEL"),
        ({"ray": RayConfig(), "processes": 2}, "set ray.workers instead"),
        ({"text": (TextConfig(),)}, "needs either `source`, or one of `tsv`, `jsonl`, `parquet` and `folder` alone"),
        ({"text": ()}, "needs either `text` or `data`"),
        ({"source_language": ""}, "give the languages of the text"),
    ],
)
def test_impossible_settings_are_refused(tmp_path: Path, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        distill_text(replace(config_of(tmp_path), **changed), quiet=True)


def test_a_score_limit_needs_a_teacher_with_scores(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"leave filters.min_score out"):
        config_of(tmp_path, filters=FilterConfig(min_score=-1.0))
    with pytest.raises(UserError, match="give both or neither"):
        FilterConfig(reverse="somewhere")
    with pytest.raises(UserError, match="a command has no scores"):
        FilterConfig(reverse="command:cat", min_backward_score=-1.0)
