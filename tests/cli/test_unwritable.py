"""Places that cannot be written and disks that are full get one sentence, and nothing is left half written."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maskpredict.cli import app

COMMAND = [sys.executable, "-m", "maskpredict.cli"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
TINY = ["preset=tiny", "model={width: 32, hidden: 32, heads: 2, max_positions: 64}", "batch.max_length=48"]
SHORT = ["batch.tokens=256", "batch.part_tokens=256", "device=cpu", "threads=1", "validation.every=2"]


def sentence(*arguments: object) -> str:
    """Runs the command line, which must end with code 2, and gives its one sentence."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input="luri.\n", catch_exceptions=False)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def recipe(data_folder: Path, tmp_path: Path) -> Path:
    """The YAML file of a short training run."""
    (tmp_path / "train.yaml").write_text(f"data: {data_folder}\nsteps: 4\ncheckpoint_every: 2\n")
    return tmp_path / "train.yaml"


def test_a_run_that_is_a_file_is_refused(recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    assert "file is not a folder; choose another place for `run`" in sentence(
        "train", recipe, f"run={tmp_path / 'file'}", *TINY, *SHORT
    )
    assert (tmp_path / "file").read_text() == "kept"
    assert "cannot be made: Not a directory" in sentence(
        "train", recipe, f"run={tmp_path / 'file' / 'run'}", *TINY, *SHORT
    )


def test_a_run_in_a_read_only_folder_is_refused(recipe: Path, read_only_folder: Path) -> None:
    assert "cannot be made: " in sentence("train", recipe, f"run={read_only_folder / 'run'}", *TINY, *SHORT)


@pytest.mark.parametrize("verb", ["translate", "score", "fill"])
def test_output_into_a_read_only_folder_is_refused(cmlm_folder: Path, read_only_folder: Path, verb: str) -> None:
    assert "out cannot be written: " in sentence(verb, "-m", cmlm_folder, "-o", read_only_folder / "out")


def test_a_report_into_a_read_only_folder_is_refused(tmp_path: Path, read_only_folder: Path) -> None:
    (tmp_path / "text").write_text("luri.\n")
    files = ["--hypotheses", tmp_path / "text", "--reference", tmp_path / "text"]
    assert "out cannot be written: " in sentence("evaluate", *files, "--output", read_only_folder / "out")
    saved = sentence("evaluate", *files, "--save-translations", read_only_folder / "texts")
    assert "texts cannot be made: " in saved


def test_a_result_folder_in_a_read_only_folder_is_refused(
    recipe: Path, cmlm_folder: Path, read_only_folder: Path
) -> None:
    out, text = read_only_folder / "out", recipe.with_name("text.tsv")
    assert "out cannot be made: " in sentence("prepare", out, "-s", "xx", "-t", "yy", "--train", text)
    assert "out cannot be made: " in sentence("average", cmlm_folder, out)
    text.write_text("luri.\tIRUL.\n")
    by_text = ["--teacher", "command:cat", "--text", text, "-s", "xx", "-t", "yy"]
    assert "out.shards cannot be made: " in sentence("distill", out, *by_text)
    assert str(read_only_folder / "work") in sentence("reproduce", "toy", "--work", read_only_folder / "work")


@pytest.fixture
def unreadable(tmp_path: Path) -> Path:
    """What can be opened like a file, and whose reading fails with EIO: address 0 of this process."""
    (tmp_path / "unreadable.txt").symlink_to("/proc/self/mem")
    return tmp_path / "unreadable.txt"


def test_files_on_a_failing_disk_get_one_sentence(cmlm_folder: Path, unreadable: Path, tmp_path: Path) -> None:
    train = ["-s", "xx", "-t", "yy", "--train", unreadable, unreadable]
    for arguments in (
        ["translate", "-m", cmlm_folder, unreadable],
        ["score", "-m", cmlm_folder, unreadable],
        ["evaluate", "--hypotheses", unreadable, "--reference", unreadable],
        ["prepare", tmp_path / "out", *train],
        ["distill", tmp_path / "out", "--teacher", "command:cat", "--text", unreadable, "-s", "xx", "-t", "yy"],
        ["train", unreadable],
        ["translate", "-m", cmlm_folder, "--glossary", unreadable],
    ):
        assert "Input/output error" in sentence(*arguments)
    assert [path.name for path in tmp_path.iterdir()] == [unreadable.name]


def limited(size: int) -> Callable[[], None]:
    """What a child process calls first, so that it cannot write files larger than `size`."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_disk_that_is_full_at_a_checkpoint_gets_one_sentence(recipe: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = subprocess.run(
        [*COMMAND, "train", recipe, f"run={run}", *TINY, *SHORT],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        preexec_fn=limited(20_000),  # room for the configuration and the metrics, not for the weights
    )
    assert done.returncode == 2, done.stderr
    errors = [line for line in done.stderr.splitlines() if not line.startswith("Training: ")]
    assert len(errors) == 1, done.stderr
    assert errors[0].startswith("error: there is no room left to write ")
    left = {path.name for path in run.rglob("*") if "partial" in path.name or path.name.startswith("update-")}
    assert left == set()
    again = subprocess.run([*COMMAND, "train", recipe, f"run={run}", *TINY, *SHORT], env=ENVIRONMENT)
    assert again.returncode == 0
    assert (run / "model" / "model.safetensors").is_file()
