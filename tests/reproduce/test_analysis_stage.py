"""Variants beside teacher and student, the analysis of all of them, and the report that is published."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from typer.testing import Result

import maskpredict
from maskpredict.corpus.dataset import Dataset
from maskpredict.model.folder import ModelFolder
from maskpredict.reproduce.recipe import AnalyzeConfig, Variant, load_recipe
from maskpredict.reproduce.run import stage_states

Run = Callable[..., Result]

TOY = Path(maskpredict.__file__).parent / "recipes" / "toy.yaml"
SMALLER = "{like: student, data: distilled, changes: {model: {hidden: 64}}}"
VARIANTS = [f"variants={{raw: {{like: student, data: raw}}, small: {SMALLER}}}"]
ANALYZE = ["analyze={only: [main_table, distillation], limit: 4}"]
AGAIN = ["analyze={only: [main_table, distillation], limit: 4, again: [{model: small}]}"]
PIECE = 75


@pytest.fixture
def work(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the small recipe made, as the folder `work` of the current one."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(made, "work"))


def test_variants_are_trained_and_the_report_is_published(small: Run, work: Path) -> None:
    result = small("--work", "work", *VARIANTS, *AGAIN)
    assert result.exit_code == 0, result.output
    assert {path.name for path in work.iterdir()} >= {"raw", "raw.json", "small", "analysis", "analyze.json", "texts"}
    markdown = Path("results/toy/report.md").read_text()
    assert markdown.startswith("# src to tgt: the paper's tables and figures\n")
    assert "## All test sets" in markdown
    main = json.loads(Path("results/toy/main_table.json").read_text())
    keys = [row["key"] for row in main["result"]["rows"] if row["bleu"]["value"] is not None]
    passes = [f"{role}.{t}" for role in ("small", "model") for t in (1, 4, 10)]
    assert keys == [
        *passes,
        "model.4.l2",
        "model.10.l2",
        "model.1-rescored",
        "model.random",
        "baseline.b1",
        "baseline.b5",
    ]
    assert "| mask-predict, raw text | cmlm | 128/256 |" in markdown
    assert "| small mask-predict | cmlm | 128/64 |" in markdown
    again = json.loads(Path("results/toy/seed-2/main_table.json").read_text())
    assert next(row for row in again["result"]["rows"] if row["key"] == "model.1")["dimensions"] == "128/64"
    (claim,) = (line.strip("|").split("|") for line in markdown.splitlines() if "| Four passes translate far" in line)
    assert claim[6].strip() == "2"
    assert claim[9].strip() == f"{json.loads(Path('results/toy/made.json').read_text())['command']} --stage analyze"


def test_no_sentence_is_published(small: Run, work: Path) -> None:
    assert small("--work", "work", *ANALYZE).exit_code == 0
    texts = Dataset(work / "data").split("test").texts
    assert texts is not None
    for path in Path("results").rglob("*"):
        if path.is_file() and path.suffix not in (".png", ".npz"):
            content = path.read_text()
            assert not [text for text in texts.source + texts.target if text in content], path


def test_a_model_that_is_not_trained_yet_leaves_empty_cells_and_work_to_do(small: Run, work: Path) -> None:
    result = small("--work", "work", *VARIANTS, *ANALYZE, "--stage", "analyze")
    assert result.exit_code == PIECE
    assert "Stopped with work left (analyze)" in result.stderr
    assert "no raw model was given." in Path("results/toy/report.md").read_text()
    assert small("--work", "work", *VARIANTS, *ANALYZE).exit_code == 0
    assert "no raw model was given." not in Path("results/toy/distillation.md").read_text()


def test_an_analysis_goes_on_in_pieces(small: Run, work: Path) -> None:
    assert small("--work", "work", *ANALYZE, "--seconds", "0").exit_code == PIECE
    assert small("--work", "work", *ANALYZE).exit_code == 0
    before = Path("results/toy/report.html").read_bytes()
    assert small("--work", "work", *ANALYZE).exit_code == 0
    assert Path("results/toy/report.html").read_bytes() == before


def test_other_results_go_where_they_are_told(small: Run, work: Path) -> None:
    assert small("--work", "work", *ANALYZE, "--results", "elsewhere").exit_code == 0
    assert Path("elsewhere/report.html").exists()
    assert not Path("results").exists()


def test_stages_that_are_added_leave_the_others_as_they_were(work: Path) -> None:
    plain = load_recipe(TOY)
    more = load_recipe(TOY, VARIANTS + ANALYZE)
    before, after = ({own.stage.name: own for own in stage_states(recipe, work)} for recipe in (plain, more))
    assert list(after) == [*before, "raw", "small", "analyze"]
    assert [after[name].fingerprint for name in before] == [own.fingerprint for own in before.values()]


def test_a_variant_rests_on_what_it_reads_alone(work: Path) -> None:
    def prints(*overrides: str) -> dict[str, str]:
        states = stage_states(load_recipe(TOY, [*VARIANTS, *ANALYZE, *overrides]), work)
        return {own.stage.name: own.fingerprint for own in states}

    plain = prints()
    changed = {
        override: {name for name, value in prints(override).items() if value != plain[name]}
        for override in ("distill.beam_size=3", "student.steps=7", "variants.raw.changes={steps: 9}", "analyze.limit=5")
    }
    assert changed == {
        "distill.beam_size=3": {"distill", "student", "evaluate", "ship", "small", "analyze"},
        "student.steps=7": {"student", "evaluate", "ship", "raw", "small", "analyze"},
        "variants.raw.changes={steps: 9}": {"raw", "analyze"},
        "analyze.limit=5": {"analyze"},
    }


def test_a_variant_can_start_from_the_model_that_is_shipped_with_fewer_layers(small: Run, work: Path) -> None:
    changes = "{model: {decoder_layers: 1}, start_from: final, steps: 1, optimizer: {rate: 1.0e-12}}"
    shallow = f"variants={{shallow: {{like: student, data: distilled, changes: {changes}}}}}"
    assert small("--work", "work", "final={steps: 2}", shallow, "--redo").exit_code == 0
    final, own = (ModelFolder.read(work / name / "model") for name in ("final", "shallow"))
    assert (final.config.decoder_layers, own.config.decoder_layers) == (2, 1)
    for name, weight in own.weights.items():
        of_final = final.weights[name.replace("decoder.0.", "decoder.1.")]
        torch.testing.assert_close(weight, of_final)


def test_a_variant_can_start_from_another_one(small: Run, work: Path) -> None:
    first = "one: {like: student, data: distilled, changes: {model: {hidden: 64}, start_from: null, steps: 2}}"
    changes = "{model: {hidden: 64}, start_from: one, steps: 1, optimizer: {rate: 1.0e-12}}"
    second = f"two: {{like: student, data: raw, changes: {changes}}}"
    assert small("--work", "work", f"variants={{{first}, {second}}}").exit_code == 0
    one, two = (ModelFolder.read(work / name / "model") for name in ("one", "two"))
    for name, weight in two.weights.items():
        torch.testing.assert_close(weight, one.weights[name])


def test_changes_of_a_variant_are_merged_key_by_key() -> None:
    recipe = load_recipe(TOY, ["variants={v: {like: student, data: raw, changes: {batch: {tokens: 512}, seed: 5}}}"])
    assert recipe.variants["v"] == Variant("student", "raw", {"batch": {"tokens": 512}, "seed": 5})
    student, variant = (recipe.training(name, Path(), Path()) for name in ("student", "v"))
    assert (variant.batch.tokens, variant.seed) == (512, 5)
    assert (variant.batch.part_tokens, variant.steps) == (student.batch.part_tokens, student.steps)
    assert recipe.analyze is None
    assert load_recipe(TOY, ["analyze={}"]).analyze == AnalyzeConfig()


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("variants={data: {like: student, data: raw}}", "'data' cannot be the name of a variant"),
        ("variants={A/b: {like: student, data: raw}}", "'A/b' cannot be the name of a variant"),
        ("variants={v: {like: pupil, data: raw}}", "'variants.v.like' must be one of teacher, student"),
        (
            "variants={v: {like: student, data: raw, changes: {stpes: 1}}}",
            "section v of the recipe: unknown key 'stpes'",
        ),
        (
            "variants={v: {like: student, data: raw, changes: {start_from: final}}}",
            "section v of the recipe: it starts from final, but the recipe has no section final.",
        ),
        (
            "variants={v: {like: student, data: raw, changes: {start_from: w}}, w: {like: student, data: raw}}",
            "section v of the recipe: it starts from w, which must come before it.",
        ),
        (
            "variants={v: {like: student, data: enlarged}}",
            "section v of the recipe: its data is enlarged, but the recipe has no section enlarge.",
        ),
        ("analyze={only: [speed]}", "there is no analysis 'speed'"),
        ("analyze={split: test.news}", "there is no test set 'test.news' to analyze; choose one of test."),
        ("evaluate.normalize=tr", "there is no normalization 'tr'"),
    ],
)
def test_a_mistake_is_named_before_any_work_begins(small: Run, tmp_path: Path, override: str, sentence: str) -> None:
    result = small("--work", tmp_path / "work", override)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not (tmp_path / "work").exists()


def test_normalization_is_part_of_a_scores_signature(small: Run, work: Path) -> None:
    assert small("--work", "work", "evaluate.normalize=ro", "--redo").exit_code == 0
    score = json.loads((work / "results" / "teacher.beam_size-1.test.json").read_text())
    assert score["signature"].endswith("|normalize:ro")


def test_several_processes_train_together_and_leave_the_rest_to_one(work: Path) -> None:
    arguments = ["reproduce", "toy", "toy.train_pairs=120", "teacher.steps=5", "student.steps=5", "--work", "work"]
    for folder in ("teacher", "teacher.json"):
        (work / folder).rename(work / f"old-{folder}")
    common = ["toy.valid_pairs=8", "toy.test_pairs=8", "distill.shard_pairs=30", "distill.beam_size=1"]
    trained = torchrun(*arguments, *common, "--stage", "teacher")
    assert trained.returncode == 0, trained.stderr
    assert json.loads((work / "teacher.json").read_text())["finished"]
    assert (work / "teacher" / "model" / "config.json").exists()
    refused = torchrun(*arguments, *common, "--stage", "evaluate", "evaluate.teacher=[{beam_size: 2}]", "--redo")
    assert refused.returncode != 0
    assert "the stage evaluate runs in one process; run it without torchrun." in refused.stderr


def torchrun(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Two processes on this machine."""
    launcher = ["-m", "torch.distributed.run", "--nproc_per_node=2", "--rdzv_backend=c10d"]
    command = [sys.executable, *launcher, "--rdzv_endpoint=localhost:0", "-m", "maskpredict.cli", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
