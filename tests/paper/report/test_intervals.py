"""Intervals of claims: a paired bootstrap over the sentences that the analyses counted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from maskpredict.errors import UserError
from maskpredict.evaluate.sentence_counts import bleu, draws
from maskpredict.paper.analyses import ANALYSES
from maskpredict.paper.counts import COUNTS_FILE, read_counts, write_counts
from maskpredict.paper.finding import read_finding
from maskpredict.paper.models import Competitors
from maskpredict.paper.report.claims import CLAIMS
from maskpredict.paper.report.intervals import Kind, cells_of, interval_of
from maskpredict.paper.report.verdicts import Verdict
from maskpredict.paper.report.write import judgements_on, write_report
from maskpredict.paper.run import analyze
from maskpredict.paper.study import Study

COUNTED = ["main_table", "repetitions", "length_buckets", "length_candidates", "distillation"]


@pytest.fixture(scope="module")
def analyzed(
    cmlm_folder: Path, autoregressive_folder: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Results of the toy model with the counts of its sentences."""
    out = tmp_path_factory.mktemp("analyzed") / "out"
    models = {"model": cmlm_folder, "teacher": autoregressive_folder, "raw": cmlm_folder}
    study = Study(
        *(Competitors(models, "cpu"), data, "test", out, out / "texts"),
        limit=8,
        command="maskpredict analyze model out",
    )
    assert analyze(study, COUNTED).finished
    return out


def test_counts_give_every_number_of_the_results_again(analyzed: Path) -> None:
    counts, seen = read_counts(analyzed), 0
    for name in COUNTED:
        finding = read_finding(analyzed, ANALYSES[name])
        assert finding is not None
        for cell in cells_of(finding.result):
            if cell.sentences is None or cell.sentences.measure != "bleu" or cell.sentences.below is not None:
                continue
            rows = counts[cell.sentences.key]
            if cell.sentences.shortest == 0:
                assert bleu(rows, np.ones((1, len(rows))))[0] == pytest.approx(cell.value, abs=1e-3)
                seen += 1
    assert seen > 15


def test_an_interval_is_the_claim_measured_on_resamples_of_all_systems_at_once(analyzed: Path) -> None:
    finding = read_finding(analyzed, ANALYSES["main_table"])
    assert finding is not None
    counts = read_counts(analyzed)
    keys = [finding.result.bleu(key).sentences.key for key in ("model.4", "model.1")]
    four, one = (bleu(counts[key], draws(len(counts[key]))) for key in keys)
    low, high = np.percentile(four - one, (2.5, 97.5))
    claim = next(claim for claim in CLAIMS if claim.name == "one_pass_is_not_enough")
    found = interval_of(claim, finding.result, counts)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.kind is Kind.paired
    without = interval_of(claim, finding.result, {})
    assert without is not None
    assert without.kind is Kind.sum
    assert without.high - without.low > found.high - found.low


def test_every_measured_claim_of_counted_sentences_has_an_interval(analyzed: Path) -> None:
    judgements = {judgement.claim.name: judgement for judgement in judgements_on(analyzed)}
    # On eight sentences, the share of repetitions that are gone is often a share of nothing.
    measured = [own.claim.name for own in judgements.values() if own.ours is not None and own.claim.unit == "BLEU"]
    assert {"ten_beat_four", "many_hurt", "nearly_gold", "gap_shrinks"} <= set(measured)
    for name in measured:
        interval = judgements[name].interval
        assert interval is not None, name
        assert interval.kind is Kind.paired, name
    # The same model under two names differs in nothing, whatever the sentences.
    same = judgements["distillation_last_pass"].interval
    assert same is not None
    assert same.low == same.high == 0
    assert judgements["distillation_last_pass"].verdict is Verdict.fails


def test_the_report_shows_interval_seeds_verdict_and_command_of_each_claim(analyzed: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(analyzed, tmp_path / "folder"))
    shutil.copytree(analyzed, folder / "seed-2")
    write_report(folder, "Toy")
    lines = (folder / "report.md").read_text().splitlines()
    row = next(line for line in lines if "Four passes translate far" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[5].count(" to ") == 1
    assert (cells[6], cells[9]) == ("2", "maskpredict analyze model out --only main_table")
    weights = json.loads((analyzed / "main_table.json").read_text())["setup"]["models"][0]["weights"]
    assert cells[8].startswith("8 sentences, float32 on cpu (")
    assert cells[8].endswith(f"), weights {weights}")
    assert "maskpredict analyze model out" in (folder / "report.html").read_text()


def test_damaged_counts_are_named(tmp_path: Path) -> None:
    write_counts(tmp_path, {"a": np.ones((2, 8), np.int32)})
    path = tmp_path / COUNTS_FILE
    assert read_counts(tmp_path)["a"].tolist() == [[1] * 8] * 2
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(UserError, match=r"sentences.npz is damaged; run the analysis again"):
        read_counts(tmp_path)
