"""The paper's two effects, from the command line to the numbers, on the toy language.

A CMLM that is trained in under three minutes on a CPU gets more sentences exactly right and repeats fewer words with
more passes; and one trained on a teacher's translations is far better at a single pass than one trained on the corpus.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from maskpredict.corpus.toy import translations, write_toy_corpus
from maskpredict.evaluate.exact_match import exact_match
from maskpredict.evaluate.repetition import word_repetition
from maskpredict.toy_demo import toy_demo

TEST_SENTENCES = 600


def run_verb(verb: str, *arguments: str, stdin: str | None = None) -> str:
    """What a verb writes to standard output."""
    command = [sys.executable, "-m", "maskpredict.cli", verb, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy") / "corpus"
    write_toy_corpus(folder, train_pairs=6_000, valid_pairs=200, test_pairs=TEST_SENTENCES, seed=1)
    return folder


@pytest.fixture(scope="module")
def data(corpus: Path) -> Path:
    out = corpus.parent / "data"
    files = [
        f"{split}.0.{side}={corpus / f'{split}.{ending}'}"
        for split in ("train", "valid", "test")
        for side, ending in (("source", "src"), ("target", "tgt"))
    ]
    run_verb("prepare", "toy-data", f"out={out}", *files)
    return out


@pytest.fixture(scope="module")
def raw_model(data: Path) -> Path:
    run = data.parent / "cmlm"
    # On a slow machine the run ends early: the effect must show after three minutes at most.
    run_verb("train", "toy-cmlm", f"data={data}", f"run={run}", "steps=2000", "seconds=180")
    return run


@pytest.fixture(scope="module")
def distilled_model(data: Path) -> Path:
    teacher, distilled, run = (data.parent / name for name in ("teacher", "distilled", "cmlm-distilled"))
    run_verb("train", "toy-teacher", f"data={data}", f"run={teacher}", "steps=800")
    run_verb("distill", "toy-distill", f"data={data}", f"teacher={teacher}", f"out={distilled}")
    # Less than a third as long as the model that is trained on the raw corpus, and still better.
    run_verb("train", "toy-cmlm", f"data={distilled}", f"run={run}", "steps=750")
    return run


def translated(model: Path, corpus: Path, iterations: int) -> list[str]:
    sources = (corpus / "test.src").read_text(encoding="utf-8")
    options = ["--iterations", str(iterations), "--length-candidates", "1", "--threads", "1"]
    return run_verb("translate", "--model", str(model), *options, stdin=sources).splitlines()


def exactly_right(outputs: list[str], corpus: Path) -> float:
    sources = (corpus / "test.src").read_text(encoding="utf-8").splitlines()
    return exact_match(outputs, [translations(source) for source in sources])


def test_more_passes_get_more_sentences_right_and_repeat_fewer_words(raw_model: Path, corpus: Path) -> None:
    outputs = [translated(raw_model, corpus, iterations) for iterations in (1, 4, 10)]
    # The standard error of a share over 600 sentences is at most 0.02.
    one, four, ten = (exactly_right(own, corpus) for own in outputs)
    assert four > one + 0.1
    assert ten > four + 0.05
    repeated_at_one, repeated_at_four, repeated_at_ten = map(word_repetition, outputs)
    assert repeated_at_four < repeated_at_one / 2
    assert repeated_at_ten < repeated_at_four


def test_more_passes_over_an_alignment_get_more_sentences_right(data: Path, corpus: Path) -> None:
    run = data.parent / "alignment"
    run_verb("train", "toy-alignment", f"data={data}", f"run={run}", "seconds=400")  # about 90 on a quiet machine
    sources = (corpus / "test.src").read_text(encoding="utf-8")
    outputs = [
        run_verb("translate", "-m", str(run), "--iterations", passes, "--threads", "1", stdin=sources).splitlines()
        for passes in ("1", "2", "4")
    ]
    one, two, four = (exactly_right(own, corpus) for own in outputs)
    assert two > one + 0.03
    assert four >= two
    assert one > 0.4  # one pass is as good as a CMLM with several
    assert word_repetition(outputs[2]) < word_repetition(outputs[0])


def test_distilled_targets_make_a_single_pass_far_better(raw_model: Path, distilled_model: Path, corpus: Path) -> None:
    raw, distilled = (translated(model, corpus, iterations=1) for model in (raw_model, distilled_model))
    assert exactly_right(distilled, corpus) > exactly_right(raw, corpus) + 0.3
    assert word_repetition(distilled) < word_repetition(raw) / 2


def test_the_toy_demo_trains_once_then_only_shows(tmp_path: Path) -> None:
    def shown() -> str:
        output = io.StringIO()
        toy_demo(tmp_path / "demo", console=Console(file=output, width=120), test_pairs=40, overrides=("steps=20",))
        return output.getvalue()

    first = shown()
    trained = (tmp_path / "demo" / "run" / "metrics.jsonl").read_bytes()
    prepared = (tmp_path / "demo" / "data" / "dataset.json").stat().st_mtime_ns
    assert "40 unseen sentences" in first
    assert [line.split()[1] for line in first.splitlines() if "%" in line][-3:] == ["1", "4", "10"]
    assert shown() == first
    assert (tmp_path / "demo" / "run" / "metrics.jsonl").read_bytes() == trained
    assert (tmp_path / "demo" / "data" / "dataset.json").stat().st_mtime_ns == prepared
