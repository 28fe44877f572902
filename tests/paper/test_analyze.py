"""The verb: files of all analyses, reasons instead of failures, and no sentence of the test set among the results."""

from __future__ import annotations

import json
import shutil
import struct
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from maskpredict.checksums import write_checksums
from maskpredict.cli import app
from maskpredict.corpus.dataset import Dataset
from maskpredict.errors import UserError
from maskpredict.evaluate.sentence_counts import COLUMNS
from maskpredict.paper.analyses import ANALYSES
from maskpredict.paper.counts import read_counts
from maskpredict.paper.finding import read_finding
from maskpredict.paper.run import analyze
from maskpredict.paper.study import Study

MakeStudy = Callable[..., Study]
SLOW = {"speed_quality"}
"""Timed settings by the dozen; two sentences are enough for its files."""
QUICK = [name for name in ANALYSES if name not in SLOW]


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["analyze", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture(scope="module")
def analyzed(
    cmlm_folder: Path, autoregressive_folder: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """What the command leaves behind, with every competitor that toy models can play."""
    out = tmp_path_factory.mktemp("analyzed") / "out"
    models = ["--teacher", autoregressive_folder, "--raw", cmlm_folder, "--small", cmlm_folder]
    compare = ["--compare", f"ar_distilled={autoregressive_folder}"]
    common = [
        cmlm_folder,
        out,
        "--data",
        data,
        *models,
        *compare,
        "--device",
        "cpu",
        "--figure1",
        "luri tisa kone bamo.",
    ]
    assert command(*common, "--limit", 2, "--only", "speed_quality").exit_code == 0
    result = command(*common, "--only", ",".join(QUICK[:3]), *(part for name in QUICK[3:] for part in ("--only", name)))
    assert result.exit_code == 0, result.output
    return out


def test_every_analysis_leaves_numbers_and_a_table(analyzed: Path) -> None:
    for name, analysis in ANALYSES.items():
        content = json.loads((analyzed / f"{name}.json").read_text())
        assert content["analysis"] == name
        assert content["setup"]["split"] == "test"
        assert content["setup"]["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a")
        assert (analyzed / f"{name}.md").read_text().startswith(f"# {analysis.title}\n")


def test_results_are_read_back_as_they_were(analyzed: Path, make_study: MakeStudy) -> None:
    study = make_study(figure1="luri tisa kone bamo.")
    for name in ("length_buckets", "figure1", "calibration", "early_exit"):
        read = read_finding(analyzed, ANALYSES[name])
        assert read is not None
        assert read.result == ANALYSES[name].run(study)
        assert isinstance(read.result, ANALYSES[name].result)


def test_pictures_are_drawn_sharp_and_small_and_ask_nothing_of_the_network(analyzed: Path) -> None:
    drawn = [name for name, analysis in ANALYSES.items() if analysis.draw]
    assert len(drawn) == 10
    for name in drawn:
        png, svg = analyzed / f"{name}.png", analyzed / f"{name}.svg"
        width, _ = struct.unpack(">II", png.read_bytes()[16:24])
        assert width == 1_600
        assert max(png.stat().st_size, svg.stat().st_size) < 300_000
        text = svg.read_text()
        assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert "<image" not in text
        assert 'href="http' not in text


def test_the_same_numbers_give_the_same_picture(analyzed: Path, make_study: MakeStudy) -> None:
    study = make_study()
    analyze(study, ["repetitions"])
    assert (study.out / "repetitions.svg").read_bytes() == (analyzed / "repetitions.svg").read_bytes()


def test_no_sentence_of_the_test_set_is_among_the_results(analyzed: Path, data: Path) -> None:
    texts = Dataset(data).split("test").texts
    assert texts is not None
    sentences = [text for text in texts.source + texts.target if len(text.split()) > 3]
    assert sentences
    for path in analyzed.iterdir():
        if path.is_file() and path.suffix not in (".png", ".npz"):
            content = path.read_text(encoding="utf-8")
            assert not [text for text in sentences if text in content], path
    assert {path.name for path in analyzed.iterdir() if path.is_dir()} == {"texts"}
    assert {counts.shape for counts in read_counts(analyzed).values()} == {(2, COLUMNS), (24, COLUMNS)}, "numbers alone"


def test_the_command_ends_with_a_report(analyzed: Path) -> None:
    for name in ("report.md", "report.html"):
        assert "Four passes translate far better than one." in (analyzed / name).read_text()


def test_a_model_that_predicts_no_lengths_gets_reasons(make_study: MakeStudy, autoregressive_folder: Path) -> None:
    study = make_study({"model": autoregressive_folder}, limit=2, figure1="luri tisa.")
    assert analyze(study, QUICK).finished
    main = (study.out / "main_table.md").read_text()
    assert "iterations is not a setting of autoregressive models" in main
    for name in ("length_candidates", "length_head"):
        assert "does not predict lengths; this needs a CMLM." in (study.out / f"{name}.md").read_text()
    for name in QUICK:
        assert (study.out / f"{name}.json").exists()


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ({"test.yy.txt": 3}, "they need the same number of lines"),
        ({"test.xx.txt": 0, "test.yy.txt": 0}, "the test set test is empty"),
    ],
    ids=["references of another length", "empty"],
)
def test_a_test_set_that_cannot_be_used_leaves_cells_with_the_reason(
    make_study: MakeStudy, data: Path, tmp_path: Path, lines: dict[str, int], reason: str
) -> None:
    folder = Path(shutil.copytree(data, tmp_path / "data"))
    for name, kept in lines.items():
        path = folder / name
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:kept]))
    write_checksums(folder)
    study = make_study(data=folder)
    report = analyze(study)
    assert report.finished
    assert report.done == tuple(ANALYSES)
    for name in set(ANALYSES) - {"figure1", "check_list"}:
        assert reason in (study.out / f"{name}.md").read_text(), name


def test_an_analysis_that_is_stopped_says_what_is_left(make_study: MakeStudy) -> None:
    looks = iter([False] * 6)
    study = make_study(stop=lambda: next(looks, True))
    report = analyze(study, ["repetitions", "distillation", "length_head"])
    assert not report.finished
    assert report.left[0] in ("repetitions", "distillation")
    assert analyze(make_study(), report.left).finished


def test_models_are_named_even_if_their_translations_are_at_hand(make_study: MakeStudy, cmlm_folder: Path) -> None:
    for _ in ("made", "at hand"):
        study = make_study({"raw": cmlm_folder}, limit=2)
        analyze(study, ["distillation"])
        finding = read_finding(study.out, ANALYSES["distillation"])
        assert finding is not None
        assert {own.role for own in finding.setup.models} == {"model", "raw"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "speed"], "there is no analysis 'speed'; choose some of main_table, speed_quality"),
        (["--split", "test.news"], "has no split 'test.news'; it has test."),
        (["--limit", "0"], "the limit is 0 sentences; use 1 or more."),
        (["--normalize", "tr"], "there is no normalization 'tr'"),
        (["--compare", "ctc"], "--compare is 'ctc'; write it as ROLE=MODEL."),
        (["--compute-type", "int3"], "compute_type is 'int3'"),
    ],
)
def test_a_mistake_in_the_command_is_told_at_once(
    cmlm_folder: Path, data: Path, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    result = command(cmlm_folder, tmp_path / "out", "--data", data, "--device", "cpu", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_model_that_is_not_there_is_told_at_once(data: Path, tmp_path: Path) -> None:
    result = command(tmp_path / "nowhere", tmp_path / "out", "--data", data)
    assert result.exit_code == 2
    assert "there is no model" in result.stderr


def test_a_damaged_result_is_named(analyzed: Path, tmp_path: Path) -> None:
    path = tmp_path / "figure1.json"
    path.write_text((analyzed / "figure1.json").read_text().replace('"passes"', '"pases"', 1))
    with pytest.raises(UserError, match=r"figure1.json cannot be read as a result of figure1; run the analysis again"):
        read_finding(tmp_path, ANALYSES["figure1"])
