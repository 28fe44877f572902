"""A recipe whose teacher comes from outside: from a folder of OPUS-MT to a student that translates."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from maskpredict.runtime.translator import Translator
from tests.conftest import MakeOnce, toy_sentences, toy_translation
from tests.distill.conftest import trained_marian

STUDENT = {
    "preset": "tiny",
    "model": {
        **{"width": 64, "hidden": 128, "heads": 2, "encoder_layers": 1, "decoder_layers": 1},
        **{"dropout": 0.0, "max_positions": 64},
    },
    "steps": 300,
    "batch": {"tokens": 512, "part_tokens": 512, "max_length": 40},
    "optimizer": {"rate": 3.0e-3, "warmup": 50, "schedule": "linear", "beta2": 0.98},
    "device": "cpu",
    "threads": 1,
}
SETTINGS = [
    f"student={json.dumps(STUDENT)}",
    "vocabulary.size=90",
    "outside.beam_size=2",
    "outside.max_tokens=40",
    "outside.filters={}",
    "outside.device=cpu",
    "evaluate.device=cpu",
    "evaluate.teacher=[{beam_size: 2}]",
    "evaluate.student=[{iterations: 4, length_candidates: 2}]",
    "race={rounds: 1, batch_sizes: [4], sentences: 4, calls: 1, speeds: [], compute_types: [float32]}",
]


@pytest.fixture(scope="module")
def teacher(make_once: MakeOnce) -> Path:
    """A folder of CTranslate2."""
    return trained_marian(make_once).ctranslate2


@pytest.fixture(scope="module")
def made(teacher: Path, cli: Callable[..., Result], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the recipe makes with a teacher in CTranslate2, and test sets on the toy language."""
    folder = tmp_path_factory.mktemp("outside")
    sources = [sentence for seed in range(24) for sentence in toy_sentences(50, seed=500 + seed, longest=6)]
    (folder / "sources.xx").write_text("".join(f"{line}\n" for line in sources))
    tests = toy_sentences(30, seed=9, longest=6)
    (folder / "unseen.xx").write_text("".join(f"{line}\n" for line in tests))
    (folder / "unseen.yy").write_text("".join(f"{toy_translation(line)}\n" for line in tests))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        result = cli(
            *("reproduce", "from-teacher", "--teacher", f"ctranslate2:{teacher}", "--text", "sources.xx"),
            *("--test", "unseen", "-s", "xx", "-t", "yy", "--work", "work", "--results", "results"),
            *SETTINGS,
        )
    assert result.exit_code == 0, result.output
    return folder


def test_the_student_translates(made: Path) -> None:
    sources = toy_sentences(30, seed=9, longest=6)
    translations = Translator(made / "work" / "model").translate(sources, iterations=4, length_candidates=2)
    right = sum(own.text == toy_translation(source) for source, own in zip(sources, translations, strict=True))
    assert right > 0.6 * len(sources)


def test_student_and_teacher_are_scored_on_the_test_set(made: Path) -> None:
    scores = {score["system"]: score for score in json.loads((made / "results" / "scores.json").read_text())}
    assert scores["teacher"]["bleu"] > 95
    assert scores["student"]["bleu"] > 60
    assert scores["teacher"]["settings"] == {"beam_size": 2}
    assert scores["teacher"]["sentences"] == 30
    paired = json.loads((made / "results" / "paired" / "test.json").read_text())
    assert paired["baseline"] == "teacher.beam_size-2.test"
    (bleu,) = (own for own in paired["differences"] if own["metric"] == "bleu")
    assert bleu["difference"] == pytest.approx(scores["student"]["bleu"] - scores["teacher"]["bleu"], abs=0.1)


def test_the_teacher_is_raced_in_its_own_engine(made: Path) -> None:
    race = json.loads((made / "results" / "race" / "bench.json").read_text())
    entries = {racer["entry"]["name"]: racer["entry"]["engine"] for racer in race["racers"]}
    assert entries["ctranslate2-teacher-b2-float32"] == "teacher from outside"
    assert any(engine == "mask-predict" for engine in entries.values())
    assert not any("cannot race" in note for note in race["notes"])


def test_the_card_says_how_it_compares(made: Path) -> None:
    card = (made / "work" / "model" / "README.md").read_text()
    assert "| teacher, beam_size 2 |" in card
    assert "## Against the teacher on test" in card
    assert "`ctranslate2-teacher-b2-float32`" in card


def test_the_vocabulary_is_the_students_own_and_validation_is_held_out(made: Path) -> None:
    description = json.loads((made / "work" / "data" / "dataset.json").read_text())
    assert description["vocab_size"] == {"source": 90, "target": 90}
    report = json.loads((made / "work" / "distilled" / "report.json").read_text())["corpora"][0]
    pairs = {name: split["pairs"] for name, split in description["splits"].items()}
    assert pairs["valid"] == int(0.02 * report["pairs"])
    assert pairs["train"] + pairs["valid"] == report["pairs"]


def test_the_student_would_be_the_same_with_transformers(
    made: Path, make_once: MakeOnce, cli: Callable[..., Result], tmp_path: Path
) -> None:
    """The model before its conversion gives the student the same text to learn from, byte for byte."""
    options = ("--text", made / "sources.xx", "-s", "xx", "-t", "yy", "beam_size=2", "max_tokens=40", "device=cpu")
    result = cli(
        "distill", tmp_path / "out", "--teacher", f"transformers:{trained_marian(make_once).transformers}", *options
    )
    assert result.exit_code == 0, result.output
    for name in ("sources.xx.zst", "sources.yy.zst"):
        assert (tmp_path / "out" / name).read_bytes() == (made / "work" / "distilled" / name).read_bytes()


def test_the_same_command_has_nothing_left_to_do(made: Path, teacher: Path, cli: Callable[..., Result]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(made)
        before = {path: path.stat().st_mtime_ns for path in (made / "work").rglob("*") if path.is_file()}
        result = cli(
            *("reproduce", "from-teacher", "--teacher", f"ctranslate2:{teacher}"),
            *("--text", "sources.xx", "--test", "unseen", "-s", "xx", "-t", "yy", "--work", "work"),
            *("--results", "results", *SETTINGS),
        )
    assert result.exit_code == 0, result.output
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_dry_run_goes_through_all_stages(cli: Callable[..., Result]) -> None:
    options = ("--teacher", "transformers:some/model", "--text", "sources.de.zst", "--test", "newstest")
    result = cli("reproduce", "from-teacher", *options, "-s", "de", "-t", "en", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "All stages run with tiny models" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "name a teacher, its text and a test set: --teacher, --text and --test"),
        (("outside.beam_size=0",), "section outside of the recipe: 'beam_size' must be a whole number of at least 1"),
        (("outside.out=there",), "section outside of the recipe: a recipe cannot set out"),
        (("train=[{stem: a}]",), "has a teacher and text already; leave train out"),
        (("race={bogus: 1}",), "section race of the recipe: unknown key 'bogus'"),
        (("evaluate.teacher=[{beams: 4}]",), "section evaluate.teacher of the recipe: beams is no setting"),
        (
            ("evaluate.student=[{passes: 4}]",),
            "section evaluate.student of the recipe: passes is not a setting of cmlm",
        ),
        (("student.system=ctc",), "section evaluate.student of the recipe: iterations is not a setting of ctc"),
        (("vocabulary.size=100",), "b.de is missing; check --data"),
    ],
)
def test_a_mistake_is_named_before_any_work_begins(
    cli: Callable[..., Result], tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    options = ("--teacher", "command:rev", "--text", "a.de", "--test", "b", "-s", "de", "-t", "en") if arguments else ()
    result = cli("reproduce", "from-teacher", *options, "--work", tmp_path / "work", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not (tmp_path / "work").exists()
