"""Distillation: the teacher's translations become the training targets, whatever interrupts the work."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from sacrebleu.metrics.bleu import BLEU

from maskpredict.config import dump_config
from maskpredict.corpus.dataset import Dataset, sha256
from maskpredict.corpus.ids import IdsFile
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.distill import DistillConfig, distill
from maskpredict.distill.worker_process import WorkerProcess
from maskpredict.engines.torch.loading import load_system
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, pad
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.runtime.translator import Translator

WORDS = ["bane", "kosa", "timo", "luri", "bake", "kofu", "tine", "lusa"]
SCRIPT = """
import sys
from pathlib import Path
from maskpredict.config import load_config
from maskpredict.distill import DistillConfig, distill

distill(load_config(DistillConfig, Path(sys.argv[1])), quiet=True)
"""


def pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Different sentences of the language that the toy models learn, with a reference the teacher would not give."""
    chance = random.Random(seed)
    different = {" ".join(chance.choices(WORDS, k=chance.randint(3, 8))): None for _ in range(2 * count)}
    sources = list(different)[:count]
    return [(f"{source}.", f"{source[::-1].upper()} {chance.choice(WORDS).upper()}.") for source in sources]


def corpus(folder: Path, name: str, lines: Sequence[tuple[str, str]], weight: float = 1.0) -> CorpusConfig:
    path = folder / f"{name}.tsv"
    path.write_text("".join("\t".join(pair) + "\n" for pair in lines), encoding="utf-8")
    return CorpusConfig(name=name, tsv=path, weight=weight)


@pytest.fixture(scope="module")
def data(autoregressive_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 training pairs of two corpora, and one pair more that is too long for the teacher."""
    folder = tmp_path_factory.mktemp("text")
    too_long = " ".join(random.Random(1).choices(WORDS, k=40))
    config = PrepareConfig(
        source_language="xx",
        target_language="yy",
        out=folder / "data",
        train=(
            corpus(folder, "news", [*pairs(70, seed=1), (too_long, too_long)]),
            corpus(folder, "talks", pairs(120, seed=2)[70:], weight=2.5),
        ),
        valid=(corpus(folder, "valid", pairs(5, seed=3)),),
        test=(corpus(folder, "test", pairs(6, seed=4)),),
        vocabulary=VocabularyConfig(reuse=autoregressive_folder),
    )
    prepare(config)
    assert len(Dataset(config.out).split("train")) == 121
    return config.out


@pytest.fixture
def config(data: Path, autoregressive_folder: Path, tmp_path: Path) -> DistillConfig:
    """Small shards, for tests to vary with `replace`."""
    return DistillConfig(data=data, teacher=autoregressive_folder, out=tmp_path / "distilled", shard_pairs=25)


@pytest.fixture(scope="module")
def finished(data: Path, autoregressive_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of one uninterrupted call, in shards of 6 pairs."""
    out = tmp_path_factory.mktemp("finished") / "distilled"
    report = distill(DistillConfig(data, autoregressive_folder, out, shard_pairs=6), quiet=True)
    assert (report.finished, report.shards, report.shards_done) == (True, 21, 21)
    return out


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def sentences(side: IdsFile) -> list[list[int]]:
    return [side[number].tolist() for number in range(len(side))]


def train_texts(folder: Path) -> list[tuple[str, str]]:
    dataset = Dataset(folder)
    split = dataset.split("train")
    source, target = dataset.tokenizers.source, dataset.tokenizers.target
    return [
        (source.decode(own), target.decode(other))
        for own, other in zip(sentences(split.source), sentences(split.target), strict=True)
    ]


def readable_sources(data: Path) -> list[str]:
    return [source for source, _ in train_texts(data) if len(source.split()) < 40]


def distillation(folder: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((folder / "dataset.json").read_text())["report"]["distillation"]
    return content


def test_targets_are_what_the_teacher_says(finished: Path, data: Path, autoregressive_folder: Path) -> None:
    sources = readable_sources(data)
    said = Translator(autoregressive_folder).translate(sources, beam_size=5)
    assert train_texts(finished) == [
        (source, translation.text) for source, translation in zip(sources, said, strict=True)
    ]


def test_the_rest_of_the_data_folder_stays_as_it_was(finished: Path, data: Path) -> None:
    assert Dataset(finished).check() == []
    before, after = contents(data), contents(finished)
    assert before.keys() == after.keys()
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= {
        "dataset.json",
        "checksums.json",
        *(f"train.{side}.{kind}" for side in ("xx", "yy") for kind in ("ids", "offsets")),
    }


def test_corpora_and_weights_are_kept_and_counted_anew(finished: Path) -> None:
    news, talks = Dataset(finished).split("train").corpora
    assert (news.name, news.first, news.pairs, news.weight) == ("news", 0, 70, 1.0)
    assert (talks.name, talks.first, talks.pairs, talks.weight) == ("talks", 70, 50, 2.5)


def test_the_data_folder_says_where_it_came_from(finished: Path, data: Path, autoregressive_folder: Path) -> None:
    origin = distillation(finished)
    assert origin["teacher"] == str(autoregressive_folder)
    assert origin["teacher_sha256"] == sha256(autoregressive_folder / "model.safetensors")
    assert origin["source_sha256"] == sha256(data / "train.xx.ids")
    assert (origin["choose"], origin["beam_size"]) == ("best", 5)
    assert (origin["sources"], origin["pairs"], origin["too_long"], origin["empty"]) == (121, 120, 1, 0)


def test_the_size_of_shards_and_batches_does_not_change_the_text(config: DistillConfig, finished: Path) -> None:
    distill(replace(config, batch_tokens=400), quiet=True)
    after, before = contents(config.out), contents(finished)
    assert {name for name in after if after[name] != before[name]} == {"dataset.json", "checksums.json"}


def test_nothing_but_the_result_is_left(finished: Path) -> None:
    assert list(finished.parent.iterdir()) == [finished]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
def test_an_interrupted_distillation_continues_to_the_same_bytes(
    config: DistillConfig, finished: Path, tmp_path: Path, end: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    config = replace(config, shard_pairs=6)
    (tmp_path / "distill.yaml").write_text(dump_config(config))
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "distill.yaml")], stderr=subprocess.DEVNULL
    )
    shards = config.out.with_name("distilled.shards")
    while not (shards / "00002").exists():
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(end)
    process.wait()
    done = {shard: shard.stat().st_mtime_ns for shard in shards.glob("?????")}
    assert 3 <= len(done) < 21
    assert not config.out.exists()

    paused = distill(replace(config, seconds=0.0), quiet=True)
    assert (paused.finished, paused.shards_done, paused.counts) == (False, len(done), None)
    assert {shard: shard.stat().st_mtime_ns for shard in shards.glob("?????")} == done

    torn = shards / "00001" / "target.ids"
    torn.write_bytes(torn.read_bytes()[:-2])
    assert distill(config, quiet=True).finished
    assert f"A shard is made again: {torn} is damaged" in caplog.text
    assert contents(config.out) == contents(finished)
    assert not shards.exists()


def test_two_workers_make_the_same_bytes_as_one(config: DistillConfig, finished: Path, tmp_path: Path) -> None:
    (tmp_path / "distill.yaml").write_text(dump_config(replace(config, shard_pairs=6)))
    (tmp_path / "script.py").write_text(SCRIPT)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*torchrun, str(tmp_path / "script.py"), str(tmp_path / "distill.yaml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert contents(config.out) == contents(finished)
    assert not config.out.with_name("distilled.shards").exists()


def test_helpers_on_the_same_device_give_the_same_as_one_process(
    config: DistillConfig, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = distill(replace(config, processes=3, shard_pairs=6))
    assert report.finished
    assert contents(config.out) == contents(finished)
    assert "Distilling: 121 " in capsys.readouterr().err  # the work of both processes is counted


def test_helpers_stop_in_time_too(config: DistillConfig) -> None:
    report = distill(replace(config, processes=2, seconds=0.0), quiet=True)
    assert (report.finished, report.shards_done) == (False, 0)


def test_a_helper_that_fails_is_noticed(config: DistillConfig, tmp_path: Path) -> None:
    with WorkerProcess(replace(config, teacher=tmp_path / "nowhere"), 0, 1, lambda _: None) as worker:
        worker.process.wait()
        with pytest.raises(UserError, match="a worker process ended with exit code 1"):
            worker.check()


def test_a_helper_does_not_outlive_the_one_it_helps(config: DistillConfig) -> None:
    with WorkerProcess(replace(config, beam_size=50), 0, 1, lambda _: None) as worker:
        assert worker.process.stdin is not None
        worker.process.stdin.close()
        assert worker.process.wait(timeout=60) == 1
    assert not config.out.exists()


def test_a_finished_distillation_is_not_made_again(config: DistillConfig) -> None:
    first = distill(config, quiet=True)
    before = {path: path.stat().st_mtime_ns for path in config.out.iterdir()}
    assert distill(config, quiet=True) == first
    assert {path: path.stat().st_mtime_ns for path in config.out.iterdir()} == before


def test_too_little_time_for_a_single_shard_is_said(config: DistillConfig, caplog: pytest.LogCaptureFixture) -> None:
    report = distill(replace(config, seconds=0.0), quiet=True)
    assert (report.finished, report.shards, report.shards_done) == (False, 5, 0)
    assert "No shard was finished in 0 seconds" in caplog.text
    assert not config.out.exists()


def test_n_best_makes_a_pair_of_each_translation(
    config: DistillConfig, data: Path, autoregressive_folder: Path
) -> None:
    report = distill(replace(config, choose="n_best", n=3), quiet=True)
    sources = readable_sources(data)
    said = Translator(autoregressive_folder).translate(sources, beam_size=5, num_hypotheses=3)
    expected = [
        (source, hypothesis.text)
        for source, translation in zip(sources, said, strict=True)
        for hypothesis in translation.hypotheses
        if hypothesis.text
    ]
    assert train_texts(config.out) == expected
    assert report.counts is not None
    assert report.counts.pairs == len(expected) > 2 * len(sources)
    news, talks = Dataset(config.out).split("train").corpora
    own = sum(source in sources[:70] for source, _ in expected)
    assert [(news.first, news.pairs), (talks.first, talks.pairs)] == [(0, own), (own, len(expected) - own)]


def test_closest_takes_the_translation_most_like_the_reference(
    config: DistillConfig, finished: Path, data: Path
) -> None:
    everything = replace(config, choose="n_best", out=config.out.with_name("everything"))
    distill(everything, quiet=True)
    distill(replace(config, choose="closest"), quiet=True)
    bleu = BLEU(tokenize="none", effective_order=True)
    original = Dataset(data).split("train")
    reference_of = dict(
        zip(map(words, sentences(original.source)), map(words, sentences(original.target)), strict=True)
    )

    def scores(folder: Path) -> dict[str, list[float]]:
        """BLEU of each translation of each source."""
        split = Dataset(folder).split("train")
        found: dict[str, list[float]] = {}
        for source, target in zip(sentences(split.source), sentences(split.target), strict=True):
            score = bleu.sentence_score(words(target), [reference_of[words(source)]]).score
            found.setdefault(words(source), []).append(score)
        return found

    closest, best = scores(config.out), scores(finished)
    assert closest == {source: [max(own)] for source, own in scores(everything.out).items()}
    assert sum(map(sum, closest.values())) > sum(map(sum, best.values()))


def words(ids: list[int]) -> str:
    return " ".join(map(str, ids))


def test_pairs_for_which_the_teacher_says_nothing_are_dropped_and_counted(
    config: DistillConfig, data: Path, autoregressive_folder: Path, tmp_path: Path
) -> None:
    silent = silenced(autoregressive_folder, tmp_path / "silent")
    sources = readable_sources(data)
    said = Translator(silent).translate(sources, beam_size=1)
    expected = [(source, t.text) for source, t in zip(sources, said, strict=True) if t.text]
    assert 0 < len(expected) < len(sources)
    report = distill(replace(config, teacher=silent, beam_size=1), quiet=True)
    assert train_texts(config.out) == expected
    assert report.counts is not None
    assert (report.counts.pairs, report.counts.empty) == (len(expected), len(sources) - len(expected))
    parts = Dataset(config.out).split("train").corpora
    assert sum(part.pairs for part in parts) == len(expected)
    assert parts[1].first == parts[0].pairs


def silenced(teacher: Path, folder: Path) -> Path:
    """The teacher, having learned to say nothing to sentences that begin with certain words."""
    contents = ModelFolder.read(teacher)
    system = load_system(contents)
    optimizer = torch.optim.AdamW(system.parameters(), lr=3e-3)
    eos, fill = system.special.eos, system.special.pad
    for step in range(60):
        sources = [source for source, _ in pairs(32, seed=100 + step)]
        rows = [[*contents.tokenizers.source.encode(text), eos] for text in sources]
        targets = [
            [*([] if text[0] in "bk" else contents.tokenizers.target.encode(f"{text[:-1][::-1].upper()}.")), eos]
            for text in sources
        ]
        loss = system.loss(Batch(pad(rows, fill, system.device), pad(targets, fill, system.device)))
        (loss.total / loss.count).backward()
        optimizer.step()
        optimizer.zero_grad()
    replace(contents, weights=weights_of(system)).write(folder)
    return folder


def test_a_teacher_that_says_nothing_at_all_is_refused(
    config: DistillConfig, autoregressive_folder: Path, tmp_path: Path
) -> None:
    contents = ModelFolder.read(autoregressive_folder)
    special, size = contents.tokenizers.target.special, contents.tokenizers.target.vocab_size
    generation = {"suppress_tokens": [token for token in range(size) if token != special.eos]}
    replace(contents, generation=generation).write(tmp_path / "mute")
    with pytest.raises(UserError, match="no translation for any source"):
        distill(replace(config, teacher=tmp_path / "mute"), quiet=True)
    assert not config.out.exists()


def test_other_settings_do_not_continue_the_work(config: DistillConfig) -> None:
    distill(replace(config, seconds=0.0), quiet=True)
    for changed in ({"beam_size": 4}, {"length_penalty": 0.6}, {"choose": "closest"}, {"shard_pairs": 30}):
        name = next(iter(changed))
        with pytest.raises(UserError, match=rf"was begun with {name}=.* continue with the old value"):
            distill(replace(config, **changed), quiet=True)


def test_another_teacher_does_not_continue_the_work(
    config: DistillConfig, autoregressive_folder: Path, tmp_path: Path
) -> None:
    distill(replace(config, seconds=0.0), quiet=True)
    contents = ModelFolder.read(autoregressive_folder)
    replace(contents, weights={name: 2 * weight for name, weight in contents.weights.items()}).write(tmp_path / "other")
    with pytest.raises(UserError, match="was begun with teacher_sha256="):
        distill(replace(config, teacher=tmp_path / "other"), quiet=True)


def test_a_teacher_of_another_kind_is_refused(config: DistillConfig, cmlm_folder: Path) -> None:
    with pytest.raises(UserError, match="is a cmlm model; distill needs an autoregressive one"):
        distill(replace(config, teacher=cmlm_folder), quiet=True)


def test_a_teacher_with_another_vocabulary_is_refused(config: DistillConfig, tmp_path: Path) -> None:
    other = PrepareConfig(
        source_language="xx",
        target_language="yy",
        out=tmp_path / "other",
        train=(corpus(tmp_path, "train", pairs(90, seed=5)),),
        vocabulary=VocabularyConfig(size=60),
    )
    prepare(other)
    with pytest.raises(UserError, match="has another vocabulary than"):
        distill(replace(config, data=other.out), quiet=True)


def test_a_teacher_of_the_other_direction_is_refused(
    config: DistillConfig, autoregressive_folder: Path, tmp_path: Path
) -> None:
    contents = ModelFolder.read(autoregressive_folder)
    languages = replace(contents.languages, source="yy", target="xx")
    replace(contents, languages=languages).write(tmp_path / "reverse")
    with pytest.raises(UserError, match="translates yy to xx, but the data is xx to yy"):
        distill(replace(config, teacher=tmp_path / "reverse"), quiet=True)


def test_data_without_a_train_split_is_refused(
    config: DistillConfig, autoregressive_folder: Path, tmp_path: Path
) -> None:
    other = PrepareConfig(
        source_language="xx",
        target_language="yy",
        out=tmp_path / "other",
        test=(corpus(tmp_path, "test", pairs(5, seed=6)),),
        vocabulary=VocabularyConfig(reuse=autoregressive_folder),
    )
    prepare(other)
    with pytest.raises(UserError, match="has no split 'train'"):
        distill(replace(config, data=other.out), quiet=True)


def test_a_place_with_other_content_is_refused_before_any_work(config: DistillConfig) -> None:
    config.out.mkdir()
    (config.out / "letter.txt").write_text("Dear Ada,")
    with pytest.raises(UserError, match="is not empty and holds no distilled data"):
        distill(config, quiet=True)
    assert (config.out / "letter.txt").read_text() == "Dear Ada,"
    assert not config.out.with_name("distilled.shards").exists()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"n": 2}, "set choose to n_best or closest"),
        ({"n": 6, "choose": "n_best"}, "between 1 and beam_size"),
        ({"shard_pairs": 0}, "'shard_pairs' must be a whole number of at least 1, not 0"),
        ({"device": "tpu9"}, "cannot be used"),
    ],
)
def test_impossible_settings_are_refused(config: DistillConfig, changed: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        distill(replace(config, **changed), quiet=True)  # type: ignore[arg-type]
