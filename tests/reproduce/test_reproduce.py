"""A recipe goes from text to a shipped model, in any number of pieces, and never throws away what it made."""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file
from typer.testing import Result

from maskpredict import Translator
from maskpredict.checksums import checksum_of
from maskpredict.config import from_dict
from maskpredict.corpus.dataset import Dataset
from maskpredict.corpus.toy import write_toy_corpus
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.languages import Languages
from maskpredict.model.folder import ModelFolder
from maskpredict.reproduce.costs import Cost, stage_costs, total
from maskpredict.reproduce.evaluation import SplitScore, evaluate, read_scores
from maskpredict.reproduce.recipe import EvaluateStageConfig, load_recipe
from maskpredict.training.checkpoint import RunState, checkpoints

Run = Callable[..., Result]
Contents = Callable[[Path], dict[str, bytes]]

NAMES = ["prepare", "teacher", "distill", "student", "evaluate", "ship"]
MEDIUM = ["toy.train_pairs=400", "teacher.steps=60", "student.steps=60", "distill.shard_pairs=40"]
ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "src" / "maskpredict" / "recipes"
PIECE = 75
"""Exit code of a piece that leaves work to do."""


@pytest.fixture
def work(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the small recipe made, as the folder `work` of the current one."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(made, "work"))


def states(listing: Result) -> list[str]:
    """The states in the table that --list prints."""
    rows = [line.split("│") for line in listing.stdout.splitlines() if line.startswith("│")]
    rows = [row for row in rows if row[1].strip()]  # the others go on with the row above
    assert [row[1].strip() for row in rows] == NAMES
    return [row[2].strip() for row in rows]


def what_came_out(work: Path) -> dict[str, Any]:
    """All that must not depend on how often the work was interrupted."""
    scores = [(score.name, score.bleu, score.sentences) for score in read_scores(work / "results")]
    files = ["teacher/model/model.safetensors", "student/model/model.safetensors", "model/model.safetensors"]
    files += ["data/train.src.ids", "distilled/train.tgt.ids"]
    files += [str(path.relative_to(work)) for path in sorted((work / "results").glob("*.txt"))]
    return {"scores": scores, **{file: (work / file).read_bytes() for file in files}}


def test_a_recipe_makes_every_stage(made: Path) -> None:
    assert {path.name for path in made.iterdir()} == {
        *(f"{name}.json" for name in NAMES),
        *("corpus", "data", "teacher", "distilled", "student", "results", "model"),
    }
    scores = read_scores(made / "results")
    assert [(score.system, *score.settings.values()) for score in scores] == [
        ("teacher", 1),
        ("student", 1, 2),
        ("student", 4, 2),
    ]
    for score in scores:
        assert (score.sentences, score.split, score.compute_type) == (8, "test", "float32")
        assert score.signature.startswith("nrefs:1|case:mixed|")
        assert score.versions.keys() == {"maskpredict", "python", "torch", "sacrebleu"}
        assert len((made / "results" / f"{score.name}.txt").read_text().splitlines()) == 8


def test_the_shipped_model_translates_and_its_card_tells_its_story(made: Path) -> None:
    tensors = load_file(made / "model" / "model.safetensors")
    assert {str(tensor.dtype) for tensor in tensors.values()} == {"torch.float16"}
    source = (made / "corpus" / "test.src").read_text().splitlines()[0]
    assert Translator(made / "model", device="cpu").translate([source])[0].tokens
    card = ModelFolder.read(made / "model").card
    (score, *_) = read_scores(made / "results")
    for words in ("# src to tgt", "invented language", "| teacher, beam_size 1 |", "| student | 5 |", "No rights"):
        assert words in card
    assert score.signature in card
    assert f"| {score.bleu:.1f} |" in card


def test_scores_and_how_they_were_made_are_kept_without_a_sentence_of_the_corpus(made: Path) -> None:
    kept = made.parent / "results" / "toy"
    assert {path.name for path in kept.iterdir()} == {"scores.json", "made.json", "corpora.json"}
    corpora = json.loads((kept / "corpora.json").read_text())
    assert next((corpus["split"], corpus["read"]) for corpus in corpora) == ("train", 120)
    scores = json.loads((kept / "scores.json").read_text())
    assert [from_dict(SplitScore, score) for score in scores] == read_scores(made / "results")
    how = json.loads((kept / "made.json").read_text())
    assert how["command"].startswith("maskpredict reproduce toy toy.train_pairs=120 ")
    assert how["runs"].keys() == {"teacher", "student"}
    assert how["runs"]["student"]["seed"] == how["recipe"]["student"].get("seed", 1)
    assert how["runs"]["student"]["updates"] == 5


def test_a_score_says_which_settings_and_weights_were_in_force(made: Path, tmp_path: Path) -> None:
    folder = ModelFolder.read(made / "student" / "model")
    recommending = {**folder.generation, "length_threshold": 0.5}
    replace(folder, generation=recommending).write(tmp_path / "model")
    config = EvaluateStageConfig(student=({"iterations": 2},), device="cpu", limit=2, normalize_also=("ro",))
    assert evaluate(config, {"student": tmp_path / "model"}, made / "data", tmp_path, lambda: False, quiet=True)
    (score,) = read_scores(tmp_path)
    assert score.settings == {"iterations": 2}
    assert (score.in_force["iterations"], score.in_force["length_threshold"]) == (2, 0.5)
    assert score.in_force["length_candidates"] == MaskPredictSettings().length_candidates
    assert score.weights == checksum_of(tmp_path / "model" / "model.safetensors")
    assert score.also["ro"].signature == f"{score.signature}|normalize:ro"


def test_the_list_says_what_each_stage_costs(small: Run, cli: Run, made: Path, tmp_path: Path) -> None:
    results = made.parent / "results" / "toy"
    recorded = json.loads((results / "made.json").read_text())["stages"]
    assert recorded.keys() == set(NAMES)
    assert all(stage["seconds"] >= 0 and stage["machine"] for stage in recorded.values())
    costs = stage_costs(load_recipe(RECIPES / "toy.yaml"), NAMES, results)
    assert costs["distill"].text.endswith(f" s, recorded on {recorded['distill']['machine']}")
    listing = small("--work", tmp_path / "work", "--results", results, "--list").stdout
    assert "recorded on" in " ".join(listing.split())
    assert re.search(r"All stages: \d+\.\d h as far as is known\.", listing)


def test_what_was_never_recorded_costs_what_the_recipe_allows() -> None:
    broad, romanian = (load_recipe(RECIPES / f"{name}.yaml") for name in ("de-en-broad", "en-ro-broad"))
    nowhere = Path("nowhere")
    assert stage_costs(broad, ["teacher"], nowhere)["teacher"] == Cost(1400, "the recipe's limit")
    costs = stage_costs(romanian, ["student", "distill"], nowhere)
    assert [cost.text for cost in costs.values()] == ["8,000 updates, never recorded", "never recorded"]
    assert total(costs) == "All stages: 0.0 h as far as is known; unknown: student, distill."
    old = stage_costs(load_recipe(RECIPES / "de-en.yaml"), ["teacher", "evaluate"], ROOT / "results" / "de-en")
    assert old["teacher"] == Cost(500.0, "recorded")
    assert old["evaluate"].source == "recorded on NVIDIA H200"


def test_only_the_first_sentences_are_scored_if_so_asked(small: Run, work: Path) -> None:
    before = read_scores(work / "results")
    assert small("--work", "work", "evaluate.limit=3", "--redo").exit_code == 0
    first = read_scores(work / "results")
    assert [score.name for score in first] == [score.name for score in before]
    assert {score.sentences for score in first} == {3}
    for score in first:
        lines, own = ((work / folder / f"{score.name}.txt").read_text() for folder in ("results.old-1", "results"))
        assert lines.splitlines()[:3] == own.splitlines()


def test_in_pieces_with_kills_in_between_the_same_comes_out(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["reproduce", "toy", *MEDIUM, "--work", "work"]
    (tmp_path / "whole").mkdir()
    (tmp_path / "pieces").mkdir()
    monkeypatch.chdir(tmp_path / "whole")
    assert cli(*arguments).exit_code == 0
    monkeypatch.chdir(tmp_path / "pieces")
    for sign, count in (("teacher/checkpoints/*", 1), ("distilled.shards/0*", 2), ("student/checkpoints/*", 1)):
        _kill_when(arguments, Path("work"), sign, count)
    codes: list[int] = []
    while not codes or codes[-1] == PIECE:
        codes.append(cli(*arguments, "--seconds", "0.5").exit_code)
    assert codes[-1] == 0
    assert len(codes) > 1, "half a second is not enough for the rest"
    assert what_came_out(tmp_path / "pieces" / "work") == what_came_out(tmp_path / "whole" / "work")


def _kill_when(arguments: list[str], work: Path, sign: str, count: int) -> None:
    """Run the command until so many paths like `sign` are there, then kill -9."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "maskpredict.cli", *arguments]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while sum(".partial" not in path.name for path in work.glob(sign)) < count:
            assert process.poll() is None, f"ended before {sign} could be seen"
            assert time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_a_piece_says_what_is_left(small: Run, tmp_path: Path) -> None:
    result = small("--work", tmp_path / "work", "--seconds", "0")
    assert result.exit_code == PIECE
    assert "Stopped with work left (prepare, teacher, distill, student, evaluate, ship)" in result.stderr
    assert states(small("--work", tmp_path / "work", "--list")) == ["waiting"] * 6


def test_what_is_finished_is_left_as_it_is(small: Run, work: Path, contents: Contents) -> None:
    before = contents(work)
    assert small("--work", "work").exit_code == 0
    assert contents(work) == before
    assert states(small("--work", "work", "--list")) == ["finished"] * 6


def test_another_machine_may_compute_otherwise(small: Run, work: Path, contents: Contents) -> None:
    before = contents(work)
    elsewhere = ["teacher.device=auto", "student.threads=2", "distill.batch_tokens=64", "evaluate.device=auto"]
    assert small("--work", "work", *elsewhere).exit_code == 0
    assert contents(work) == before


def test_a_changed_value_is_named_and_nothing_is_touched(small: Run, work: Path, contents: Contents) -> None:
    before = contents(work)
    result = small("--work", "work", "student.steps=4")
    assert result.exit_code == 2
    assert "the stage student in work is out of date (steps was 5 and is 4 now)" in result.stderr
    assert result.stderr.count("\n") == 1
    listed = states(small("--work", "work", "student.steps=4", "--list"))
    assert listed == ["finished"] * 3 + ["out of date"] * 3
    assert contents(work) == before


def test_redo_makes_what_is_out_of_date_again_and_keeps_the_old(small: Run, work: Path, contents: Contents) -> None:
    before = contents(work)
    assert small("--work", "work", "student.seed=2", "--redo").exit_code == 0
    after = contents(work)
    for old in ("student", "results", "model"):
        for name in (name for name in before if name.startswith(f"{old}/")):
            assert after[name.replace(old, f"{old}.old-1", 1)] == before[name]
    kept = [name for name in before if name.startswith(("data", "teacher", "distill"))]
    assert [after[name] for name in kept] == [before[name] for name in kept]
    assert after["student/model/model.safetensors"] != before["student/model/model.safetensors"]
    assert states(small("--work", "work", "student.seed=2", "--list")) == ["finished"] * 6
    assert small("--work", "work", "--redo").exit_code == 0
    assert (work / "student.old-2").exists()
    assert what_came_out(work)["student/model/model.safetensors"] == before["student/model/model.safetensors"]


def test_more_steps_go_on_from_where_the_training_ended(small: Run, work: Path, contents: Contents) -> None:
    before = contents(work)
    assert states(small("--work", "work", "student.steps=6", "--list")) == [
        *["finished"] * 3,
        "unfinished",
        *["out of date"] * 2,
    ]
    assert small("--work", "work", "student.steps=6", "--stage", "student").exit_code == 0
    assert not (work / "student.old-1").exists()
    *_, checkpoint = checkpoints(work / "student" / "checkpoints")
    assert RunState.read(checkpoint).update == 6
    trained = [json.loads(line)["update"] for line in (work / "student" / "metrics.jsonl").read_text().splitlines()]
    assert trained == sorted(trained)  # none of the five steps was made again
    assert contents(work)["student/model/model.safetensors"] != before["student/model/model.safetensors"]


def test_the_student_can_be_trained_on_as_the_model_that_is_shipped(small: Run, work: Path) -> None:
    before = what_came_out(work)
    changes = ["final={steps: 3, optimizer: {rate: 0.01}}", "ship.decoding={iterations: 4}"]
    assert small("--work", "work", *changes, "--redo").exit_code == 0
    after = what_came_out(work)
    assert after["student/model/model.safetensors"] == before["student/model/model.safetensors"]
    final, shipped = (ModelFolder.read(work / name).weights for name in ("final/model", "model"))
    assert all(
        np.array_equal(final[name].astype(np.float16).astype(np.float32), weight) for name, weight in shipped.items()
    )
    assert ModelFolder.read(work / "model").generation["iterations"] == 4
    assert "start_from: work/student/model" in (work / "final" / "config.yaml").read_text()
    scored = [score.system for score in read_scores(work / "results")]
    assert scored == sorted(scored, key=["teacher", "student", "final"].index)
    assert scored.count("final") == scored.count("student") > 0
    assert "| final |" in (work / "model" / "README.md").read_text()


def write_reverse(teacher: Path) -> None:
    """A model of the other direction; what it says does not matter."""
    model = ModelFolder.read(teacher)
    replace(model, languages=Languages(model.languages.target, model.languages.source)).write(Path("reverse"))


def test_targets_translated_back_are_more_sources_for_the_final_training(small: Run, work: Path) -> None:
    write_reverse(work / "teacher" / "model")
    changes = ["final={steps: 3}", "enlarge={model: reverse, corpora: [train], n: 2}", "distill.beam_size=2"]
    assert small("--work", "work", *changes, "--redo").exit_code == 0
    distilled, enlarged = Dataset(work / "distilled"), Dataset(work / "enlarged")
    assert enlarged.check() == []
    train, before = enlarged.split("train"), distilled.split("train")
    (old, new) = train.corpora
    assert (old.name, new.name, old.pairs) == ("train", "train-back", len(before))
    # Each target is said in two ways, but for those of which the reverse model had nothing to say.
    assert 120 < new.pairs <= 2 * 120
    assert [train.source[pair].tolist() for pair in range(old.pairs)] == [
        before.source[pair].tolist() for pair in range(old.pairs)
    ]
    assert "data: work/enlarged" in (work / "final" / "config.yaml").read_text()
    assert not (work / "enlarging").exists()


def test_text_of_either_language_gives_more_sources_too(small: Run, work: Path) -> None:
    write_reverse(work / "teacher" / "model")
    dataset = Dataset(work / "data")
    languages, texts = dataset.languages, dataset.split("valid").texts
    assert texts is not None
    for language, lines, line in (
        (languages.source, texts.source, "one two three four"),
        (languages.target, texts.target, "four three two one"),
    ):
        # The first is held out, the second is new.
        Path(f"more.{language}").write_text(f"{lines[0]}\n{line}\n")
    more = [f"{{stem: more, language: {language}, name: {side}}}" for side, language in asdict(languages).items()]
    changes = [f"enlarge={{model: reverse, corpora: [train], text: [{', '.join(more)}], n: 1}}", "final={steps: 3}"]
    missing = small("--work", "work", *changes, "--redo", "--data", "elsewhere")
    assert missing.exit_code == 2
    assert f"elsewhere/more.{languages.source} is missing" in missing.stderr
    assert small("--work", "work", *changes, "--redo", "--data", ".").exit_code == 0
    train = Dataset(work / "enlarged").split("train")
    pairs = {part.name: part.pairs for part in train.corpora}
    assert list(pairs) == ["train", "train-back", "target-back", "source"]
    assert pairs["source"] == 1
    (said,) = [part.first for part in train.corpora if part.name == "source"]
    assert train.source[said].tolist() == dataset.tokenizers.source.encode("one two three four")


def test_more_sources_are_for_the_final_training_alone(small: Run) -> None:
    result = small("enlarge={model: reverse, corpora: [train]}")
    assert result.exit_code == 2
    assert "section enlarge of the recipe: it is for section final, which the recipe does not have." in result.stderr


def test_one_stage_alone_needs_its_inputs_and_no_more(small: Run, work: Path) -> None:
    there = Path("there/again")
    there.mkdir(parents=True)
    result = small("--work", there, "--stage", "student")
    assert result.exit_code == 2
    assert "student needs there/again/distilled, which is missing; run the stage distill." in result.stderr
    shutil.copytree(work / "distilled", there / "distilled")
    assert small("--work", there, "--stage", "student").exit_code == 0
    assert (there / "student" / "model" / "model.safetensors").read_bytes() == (
        work / "student" / "model" / "model.safetensors"
    ).read_bytes()
    assert {path.name for path in there.iterdir()} == {"distilled", "student", "student.json"}


def test_an_input_that_is_out_of_date_is_refused(small: Run, work: Path) -> None:
    result = small("--work", "work", "--stage", "student", "distill.beam_size=2", "--redo")
    assert result.exit_code == 2
    assert "distilled, which is out of date" in result.stderr


def test_an_unknown_stage_is_named(small: Run, tmp_path: Path) -> None:
    result = small("--work", tmp_path / "work", "--stage", "studnet")
    assert result.exit_code == 2
    assert "there is no stage 'studnet'; choose one of prepare, teacher" in result.stderr


@pytest.mark.parametrize(
    ("lost", "sentence"),
    [
        ("teacher.json", "its record work/teacher.json does not"),
        ("data", "says that prepare is finished, but work/data is missing"),
    ],
)
def test_results_and_records_that_do_not_fit_are_named(small: Run, work: Path, lost: str, sentence: str) -> None:
    (work / lost).rename(work.parent / "lost")
    result = small("--work", "work")
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_a_damaged_record_is_named(small: Run, work: Path) -> None:
    (work / "distill.json").write_text("{")
    result = small("--work", "work")
    assert result.exit_code == 2
    assert "work/distill.json is damaged" in result.stderr


def test_a_score_that_is_there_is_not_computed_again(small: Run, work: Path) -> None:
    record = json.loads((work / "evaluate.json").read_text())
    (work / "evaluate.json").write_text(json.dumps({**record, "finished": False}))
    teacher, first, second = sorted((work / "results").glob("*.json"), key=lambda path: path.name[0] != "t")
    kept = json.dumps({**json.loads(teacher.read_text()), "bleu": 77.7})
    teacher.write_text(kept)
    expected = json.loads(second.read_text())["bleu"]
    second.unlink()
    assert small("--work", "work").exit_code == 0
    assert teacher.read_text() == kept
    assert json.loads(second.read_text())["bleu"] == expected
    assert first.exists()


def test_scoring_stops_when_told_and_leaves_no_half_score(made: Path, tmp_path: Path) -> None:
    models = {"teacher": made / "teacher", "student": made / "student"}
    answers = iter([False, True])
    config = EvaluateStageConfig(teacher=({"beam_size": 1},), student=({"iterations": 1},), device="cpu")
    done = evaluate(config, models, made / "data", tmp_path / "results", lambda: next(answers), quiet=True)
    assert not done
    assert [score.system for score in read_scores(tmp_path / "results")] == ["teacher"]
    assert {path.stem for path in (tmp_path / "results").iterdir()} == {"teacher.beam_size-1.test"}


def test_the_work_moves_to_another_machine_and_goes_on_there(
    cli: Run, small: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for machine in ("one", "other"):
        (tmp_path / machine).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    for stage in ("prepare", "teacher"):
        assert small("--work", "work", "--stage", stage).exit_code == 0
    assert cli("pack", "work", "parts", "--precision", "float16", "--part-size", "100KB").exit_code == 0
    monkeypatch.chdir(tmp_path / "other")
    assert cli("unpack", tmp_path / "one" / "parts", "work").exit_code == 0
    assert small("--work", "work").exit_code == 0
    assert states(small("--work", "work", "--list")) == ["finished"] * 6


def test_a_recipe_of_ones_own_reads_compressed_files(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_toy_corpus(Path("corpora/mine"), train_pairs=100, valid_pairs=5, test_pairs=5, seed=3)
    for path in Path("corpora/mine").iterdir():
        path.with_name(f"{path.name}.xz").write_bytes(lzma.compress(path.read_bytes()))
        path.unlink()
    Path("mine.yaml").write_text(
        "{source_language: src, target_language: tgt, suffix: .xz, vocabulary: {size: 200}, "
        "train: [{stem: mine/train, weight: 2}], valid: [{stem: mine/valid}], "
        "test: [{stem: mine/test, name: one}, {stem: mine/valid, name: two}], "
        "teacher: {system: autoregressive}, student: {system: cmlm}}"
    )
    result = cli("reproduce", "mine.yaml", "--data", "corpora", "--stage", "prepare")
    assert result.exit_code == 0, result.output
    described = json.loads(Path("runs/mine/data/dataset.json").read_text())
    assert set(described["splits"]) == {"train", "valid", "test.one", "test.two"}
    assert described["splits"]["train"]["corpora"][0]["weight"] == 2
