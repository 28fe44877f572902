"""Whole races with the real engines, between models too small to say anything about speed."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maskpredict import Translator, UserError
from maskpredict.bench.config import BenchConfig, PassesAndCandidates
from maskpredict.bench.race_result import RaceResult
from maskpredict.bench.result_files import new_results, write_results
from maskpredict.bench.run import bench
from maskpredict.bench.table import markdown
from maskpredict.evaluate.reference_set import ReferenceSet
from maskpredict.evaluate.scores import score_corpus
from maskpredict.export import export_ctranslate2


@pytest.fixture(scope="module")
def config(cmlm_folder: Path, ctc_folder: Path, autoregressive_folder: Path) -> BenchConfig:
    """All engines in float32."""
    return BenchConfig(
        model=str(cmlm_folder),
        teacher=str(autoregressive_folder),
        rival=str(autoregressive_folder),
        one_pass=str(ctc_folder),
        passes=(PassesAndCandidates(4, 1), PassesAndCandidates(10, 5)),
        speeds=(),
        beams=(1, 2),
        compute_types=("float32",),
        sentences=16,
        bleu_sentences=80,
        batch_sizes=(1, 8),
        rounds=3,
        device="cpu",
        threads=1,
    )


@pytest.fixture(scope="module")
def saved() -> list[RaceResult]:
    """What was known after each round."""
    return []


@pytest.fixture(scope="module")
def result(config: BenchConfig, toy_set: ReferenceSet, saved: list[RaceResult]) -> RaceResult:
    """A race of all engines."""
    return bench(config, toy_set, export_ctranslate2, save=saved.append)


def test_all_engines_race(result: RaceResult) -> None:
    assert [racer.entry.name for racer in result.racers] == [
        "mask-predict-t4-l1-float32",
        "mask-predict-t10-l5-float32",
        "ctc-float32",
        "ar-b1-float32",
        "ar-b2-float32",
        "ctranslate2-b1-float32",
        "ctranslate2-b2-float32",
        "transformers-b1-float32",
        "transformers-b2-float32",
        "ctranslate2-rival-b1-float32",
        "ctranslate2-rival-b2-float32",
    ]


def test_every_time_is_the_sum_of_its_heats(result: RaceResult) -> None:
    assert len(result.heats) == 3 * 2 * len(result.racers)
    for racer in result.racers:
        for size in racer.sizes:
            own = [h for h in result.heats if (h.racer, h.batch_size) == (racer.entry.name, size.batch_size)]
            assert [heat.round for heat in own] == [1, 2, 3]
            assert {len(heat.seconds) for heat in own} == {16 // size.batch_size}
            times = sorted(1000 * sum(heat.seconds) / 16 for heat in own)
            assert size.milliseconds.median == pytest.approx(times[1])
            assert 0 < size.milliseconds.low <= size.milliseconds.median <= size.milliseconds.high
        assert racer.best.milliseconds.median == min(size.milliseconds.median for size in racer.sizes)


def test_more_passes_take_longer(result: RaceResult) -> None:
    def fastest(racer: str) -> float:  # what else the machine does only ever adds to a time
        return min(sum(heat.seconds) for heat in result.heats if (heat.racer, heat.batch_size) == (racer, 1))

    assert fastest("mask-predict-t4-l1-float32") < fastest("mask-predict-t10-l5-float32")


def test_scores_are_those_of_the_models_translations(
    result: RaceResult, config: BenchConfig, toy_set: ReferenceSet
) -> None:
    assert toy_set.source
    texts = [
        found.text for found in Translator(config.teacher, device="cpu").translate(toy_set.source.texts, beam_size=2)
    ]
    expected = score_corpus(texts, [toy_set.references[0].texts], metrics=("bleu",)).scores[0]
    scores = {racer.entry.name: racer.score.bleu for racer in result.racers}
    assert scores["ar-b2-float32"] == pytest.approx(expected.score)
    assert scores["ctranslate2-b2-float32"] == pytest.approx(expected.score, abs=1)
    assert result.signature == expected.signature
    assert result.workload.scored == len(toy_set)


def test_the_peers_find_what_our_beam_search_finds(result: RaceResult) -> None:
    shares = {racer.entry.name: racer.score.same_texts for racer in result.racers if racer.entry.same_as}
    assert set(shares) == {
        f"{engine}-b{beams}-float32" for engine in ("ctranslate2", "transformers") for beams in (1, 2)
    }
    assert all(share is not None and share >= 0.95 for share in shares.values())


def test_ratios_and_cross_overs_are_there_for_all_that_is_parallel(result: RaceResult) -> None:
    parallel = {"mask-predict-t4-l1-float32", "mask-predict-t10-l5-float32", "ctc-float32"}
    assert {ratio.racer for ratio in result.ratios} == parallel
    assert len({ratio.baseline for ratio in result.ratios}) == 8
    assert {ratio.batch_size for ratio in result.ratios} == {1, 8, None}
    assert [own.baseline for own in result.cross_overs] == 3 * ["ar-b1-float32"]


def test_after_each_round_there_is_something_to_keep(result: RaceResult, saved: list[RaceResult]) -> None:
    assert [max(heat.round for heat in known.heats) for known in saved] == [1, 2]
    assert all(known.interrupted for known in saved)
    assert not result.interrupted


def test_the_machine_is_described(result: RaceResult) -> None:
    machine = result.machine
    assert machine.cpu
    assert machine.cores >= 1
    assert machine.threads == 1
    assert machine.gpu == ""
    assert {"torch", "ctranslate2", "transformers", "maskpredict", "python"} <= set(machine.versions)


def test_the_table_says_what_was_timed_and_names_everybody(result: RaceResult) -> None:
    table = markdown(result)
    assert "splitting into subwords and joining them is in" in table
    assert "loading the model is out" in table
    assert "Sentences: 16 of test.yy" in table
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert len(rows) == len(result.racers) + 3 * 3
    assert "Times as fast as, each with its best batch:" in table


def test_the_folder_holds_json_a_table_and_pictures(result: RaceResult, tmp_path: Path) -> None:
    folder = new_results(tmp_path / "out", overwrite=False)
    write_results(result, folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "bench.json", "bench.md", "latency.png", "latency.svg", "throughput.png", "throughput.svg",
    ]  # fmt: skip
    record = json.loads((folder / "bench.json").read_text())
    assert record["machine"]["threads"] == 1
    assert record["config"]["compute_types"] == ["float32"]
    assert len(record["heats"]) == len(result.heats)
    for name in ("latency", "throughput"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert ET.parse(folder / f"{name}.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    with pytest.raises(UserError, match="holds an earlier race"):
        new_results(folder, overwrite=False)
    assert new_results(folder, overwrite=True) == folder


def test_two_models_that_decode_in_passes_race_under_names_of_their_own(
    config: BenchConfig, toy_set: ReferenceSet
) -> None:
    few = replace(config, one_pass="", rival="", peers=(), rounds=1, beams=(1,), passes=(PassesAndCandidates(4, 1),))
    found = bench(replace(few, shallow=config.model, speeds=("fast",)), toy_set, export_ctranslate2)
    names = [f"{stem}-{how}-float32" for stem in ("mask-predict", "mask-predict-shallow") for how in ("t4-l1", "fast")]
    assert [racer.entry.name for racer in found.racers] == [*names, "ar-b1-float32"]
    assert {ratio.racer for ratio in found.ratios} == set(names)


@pytest.mark.parametrize("peer", ["ctranslate2", "transformers"])
def test_without_a_peer_the_others_race(
    config: BenchConfig, toy_set: ReferenceSet, peer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, peer, None)
    found = bench(replace(config, rival="", rounds=1, beams=(1,)), toy_set, export_ctranslate2)
    engines = {racer.entry.engine.lower() for racer in found.racers}
    assert engines == {"mask-predict", "one pass", "autoregressive", "ctranslate2", "transformers"} - {peer}
    (note,) = (note for note in found.notes if "cannot race" in note)
    assert note.startswith(f"{peer}-b1-float32 cannot race: ")
    assert "pip install 'maskpredict[bench]'" in note


def test_what_an_engine_does_not_have_is_left_out_with_a_sentence(config: BenchConfig, toy_set: ReferenceSet) -> None:
    few = replace(config, rival="", rounds=1, beams=(1,), speeds=("furious",), compute_types=("float32", "int3"))
    found = bench(few, toy_set, export_ctranslate2)
    assert {racer.entry.compute_type for racer in found.racers} == {"float32"}
    notes = "\n".join(found.notes)
    assert "mask-predict-furious-int3" in notes
    assert "ar-b1-int3" in notes
    assert "ctranslate2-b1-int3 cannot race: CTranslate2 does not compute in int3 on this CPU." in notes


def test_our_racers_run_on_the_engine_that_was_asked_for(config: BenchConfig, toy_set: ReferenceSet) -> None:
    few = replace(config, rival="", peers=(), rounds=1, beams=(1,), speeds=("fast",), engine="onnxruntime")
    found = bench(few, toy_set, export_ctranslate2)
    assert {racer.entry.engine for racer in found.racers} == {"mask-predict", "one pass"}
    (note,) = (note for note in found.notes if "cannot race" in note)
    assert note.startswith("ar-b1-float32 cannot race: the engine onnxruntime")


def test_a_model_alone_races_against_itself(config: BenchConfig, toy_set: ReferenceSet) -> None:
    found = bench(replace(config, one_pass="", teacher="", rival="", rounds=1), toy_set, export_ctranslate2)
    assert {racer.entry.engine for racer in found.racers} == {"mask-predict"}
    assert found.ratios == ()
    assert any("No autoregressive model was given" in note for note in found.notes)
    assert "Times as fast as" not in markdown(found)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": "", "one_pass": "", "teacher": "", "rival": ""}, "no model was given"),
        ({"peers": ("marian",)}, "there is no peer 'marian'"),
        ({"batch_sizes": (0,)}, "batch sizes of 1 or more"),
        ({"rounds": 0}, "rounds is 0"),
    ],
)
def test_impossible_wishes_are_refused(config: BenchConfig, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        replace(config, **changes)


def test_models_must_be_what_they_are_given_as(config: BenchConfig, toy_set: ReferenceSet) -> None:
    with pytest.raises(UserError, match="is a autoregressive model; give one that decodes with mask-predict"):
        bench(replace(config, model=config.teacher), toy_set, export_ctranslate2)
    with pytest.raises(UserError, match="is a cmlm model; give an autoregressive one"):
        bench(replace(config, teacher=config.model), toy_set, export_ctranslate2)
    with pytest.raises(UserError, match="is a cmlm model; give one that makes a single pass"):
        bench(replace(config, one_pass=config.model), toy_set, export_ctranslate2)


def test_an_alignment_model_races_with_each_number_of_passes(
    config: BenchConfig, toy_set: ReferenceSet, alignment_folder: Path
) -> None:
    alone = replace(config, model="", one_pass="", teacher="", rival="", alignment=str(alignment_folder), rounds=1)
    found = bench(replace(alone, alignment_passes=(1, 3)), toy_set, export_ctranslate2)
    assert [racer.entry.name for racer in found.racers] == ["alignment-t1-float32", "alignment-t3-float32"]
    assert toy_set.source
    translator = Translator(alignment_folder, device="cpu", compute_type="float32")
    for racer, passes in zip(found.racers, (1, 3), strict=True):
        texts = [one.text for one in translator.translate(toy_set.source.texts, iterations=passes)]
        expected = score_corpus(texts, [toy_set.references[0].texts], metrics=("bleu",)).scores[0]
        assert racer.score.bleu == pytest.approx(expected.score)
    with pytest.raises(UserError, match="is a cmlm model; give an alignment one"):
        bench(replace(alone, alignment=config.model), toy_set, export_ctranslate2)


def test_if_nobody_can_race_the_reason_is_given(config: BenchConfig, toy_set: ReferenceSet) -> None:
    with pytest.raises(UserError, match=r"no racer can run: .*int3"):
        bench(replace(config, teacher="", rival="", compute_types=("int3",)), toy_set, export_ctranslate2)


def test_a_race_that_runs_out_of_time_says_so(config: BenchConfig, toy_set: ReferenceSet) -> None:
    found = bench(replace(config, teacher="", rival="", seconds=0.001), toy_set, export_ctranslate2)
    assert {heat.batch_size for heat in found.heats} == {1}
    assert "The time of 0.001 seconds was over in round 1 of 3." in found.notes
    assert not found.interrupted
