"""Distillation and translation on a Ray cluster of several nodes on this machine, some of which are killed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster
from typer.testing import CliRunner

from maskpredict.cli import app
from maskpredict.config import dump_config
from maskpredict.corpus.reading import read_lines
from maskpredict.distill.by_text import FilterConfig, TextConfig, TextDistillConfig, distill_text
from maskpredict.distill.by_text.config import RayConfig
from maskpredict.distill.by_text.ray_workers import RAY_ENVIRONMENT
from maskpredict.errors import UserError
from maskpredict.runtime.translator import Translator
from tests.conftest import toy_sentences

SENTENCES = list(dict.fromkeys(toy_sentences(24, seed=11)))
FREE_SHARDS = 3
"""Shards at the beginning for which the teacher does not wait."""
TEACHER = """
import os, sys, time
from pathlib import Path

lines, folder = sys.stdin.read().splitlines(), Path(sys.argv[1])
if lines[0] not in (folder / "free").read_text().splitlines():
    (folder / "workers" / str(os.getppid())).touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
for line in lines:
    print(line[::-1])
"""


HANGS_ONCE = """
import sys, time
from pathlib import Path

lines, folder = sys.stdin.read().splitlines(), Path(sys.argv[1])
if lines[0] == sys.argv[2] and not (folder / "hung").exists():
    (folder / "hung").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
for line in lines:
    print(line[::-1])
"""
KILLS_ITS_WORKER = """
import os, sys

lines = sys.stdin.read().splitlines()
if lines[0] == sys.argv[1]:
    os.kill(os.getppid(), 9)
for line in lines:
    print(line[::-1])
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of one node with one CPU."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in RAY_ENVIRONMENT.items():
            patched.setenv(name, value)
        patched.setenv("RAY_AUTH_MODE", "disabled")  # or Ray would write a token into the home folder
        made = start_cluster()
        yield made
        ray.shutdown()
        made.shutdown()


def start_cluster(attempts: int = 3) -> Cluster:
    """Start a cluster of one node. Ray gives up after half a minute, which a busy machine may need."""
    made = Cluster(initialize_head=False)
    try:
        made.add_node(num_cpus=1, include_dashboard=False)
    except Exception:
        made.shutdown()
        if attempts == 1:
            raise
        return start_cluster(attempts - 1)
    return made


@pytest.fixture
def config(cluster: Cluster, tmp_path: Path) -> TextDistillConfig:
    """A distillation on the cluster, whose teacher waits for the file `go` from the fourth shard on."""
    (tmp_path / "sources.xx").write_text("".join(f"{line}\n" for line in SENTENCES))
    (tmp_path / "teacher.py").write_text(TEACHER)
    (tmp_path / "free").write_text("\n".join(SENTENCES[: 2 * FREE_SHARDS]))
    (tmp_path / "workers").mkdir()
    return TextDistillConfig(
        teacher=f"command:{sys.executable} {tmp_path}/teacher.py {tmp_path}",
        source_language="xx",
        target_language="yy",
        text=(TextConfig(source=tmp_path / "sources.xx"),),
        out=tmp_path / "out",
        shard_lines=2,
        filters=FilterConfig(drop_copies=False),
        ray=RayConfig(cluster.address),
    )


def start(config: TextDistillConfig) -> subprocess.Popen[str]:
    """Start the distillation in a process of its own."""
    file = config.out.with_name("distill.yaml")
    file.write_text(dump_config(config))
    command = [sys.executable, "-m", "maskpredict.cli", "distill", str(file)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for_workers(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    """Wait until so many workers have been given a shard for which the teacher waits."""
    while len(os.listdir(folder / "workers")) < count:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)


def finished(folder: Path) -> dict[str, int]:
    """Finished shards with the times at which they were made."""
    return {shard.name: shard.stat().st_mtime_ns for shard in (folder / "out.shards").glob("??????")}


def distilled(out: Path) -> list[tuple[str, str]]:
    return list(zip(*(read_lines(out / f"sources.{language}.zst") for language in ("xx", "yy")), strict=True))


def test_a_killed_node_costs_no_line_and_a_new_one_takes_its_place(
    cluster: Cluster, config: TextDistillConfig, tmp_path: Path
) -> None:
    nodes = [cluster.add_node(num_cpus=1, wait=False) for _ in range(2)]
    process = start(config)
    wait_for_workers(process, tmp_path, 3)
    assert set(finished(tmp_path)) >= {"000000"}
    cluster.remove_node(nodes[0], allow_graceful=False)
    cluster.add_node(num_cpus=1, wait=False)
    wait_for_workers(process, tmp_path, 4)
    (tmp_path / "go").touch()
    said = process.communicate()[1]
    cluster.remove_node(nodes[1])
    assert process.returncode == 0, said
    assert "A worker was lost while making shard" in said
    assert distilled(config.out) == [(sentence, sentence[::-1]) for sentence in SENTENCES]
    alone = replace(config, ray=None, out=tmp_path / "alone")
    distill_text(alone, quiet=True)
    for file in ("sources.xx.zst", "sources.yy.zst", "report.json"):
        assert (alone.out / file).read_bytes() == (config.out / file).read_bytes()
    assert not (tmp_path / "out.shards").exists()


def test_a_killed_driver_continues_with_what_is_missing(config: TextDistillConfig, tmp_path: Path) -> None:
    process = start(config)
    wait_for_workers(process, tmp_path, 1)
    while len(finished(tmp_path)) < FREE_SHARDS:  # another worker may have the last of them
        time.sleep(0.02)
    process.kill()
    process.communicate()
    before = finished(tmp_path)
    assert len(before) == FREE_SHARDS
    (tmp_path / "out.shards" / "000001" / "target.zst").write_bytes(b"damaged")
    del before["000001"]
    paused = distill_text(replace(config, seconds=0.0), quiet=True)
    assert (paused.finished, paused.shards_done) == (False, len(before))
    (tmp_path / "go").touch()
    half = distill_text(replace(config, shard="1/2"), quiet=True)
    assert not half.finished
    assert finished(tmp_path).items() >= before.items()
    assert {f"{shard:06d}" for shard in range(1, half.shards, 2)} <= set(finished(tmp_path))
    distill_text(config, quiet=True)
    assert distilled(config.out) == [(sentence, sentence[::-1]) for sentence in SENTENCES]


def test_a_worker_that_hangs_delays_nothing(cluster: Cluster, config: TextDistillConfig, tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(HANGS_ONCE)
    teacher = f"command:{sys.executable} {tmp_path}/hangs.py {tmp_path} {shlex.quote(SENTENCES[0])}"
    node = cluster.add_node(num_cpus=1)
    try:
        distill_text(replace(config, teacher=teacher), quiet=True)
    finally:
        (tmp_path / "go").touch()  # ends what hangs
        cluster.remove_node(node)
    assert (tmp_path / "hung").exists()
    assert distilled(config.out) == [(sentence, sentence[::-1]) for sentence in SENTENCES]


def test_a_shard_with_which_every_worker_is_lost_ends_the_work(config: TextDistillConfig, tmp_path: Path) -> None:
    (tmp_path / "kills.py").write_text(KILLS_ITS_WORKER)
    teacher = f"command:{sys.executable} {tmp_path}/kills.py {shlex.quote(SENTENCES[2])}"
    with pytest.raises(UserError, match="5 workers were lost while making shard 1; the last: "):
        distill_text(replace(config, teacher=teacher), quiet=True)
    assert "000001" not in finished(tmp_path)


def test_bulk_translates_every_line_as_the_translator_does(cluster: Cluster, cmlm_folder: Path, tmp_path: Path) -> None:
    lines = ["", *SENTENCES, SENTENCES[0], "   ", " ".join(SENTENCES)]
    (tmp_path / "crawl.xx").write_text("".join(f"{line}\n" for line in lines))
    files = ["bulk", str(tmp_path / "out"), "-m", str(cmlm_folder), "--text", str(tmp_path / "crawl.xx")]
    options = ["--iterations", "2", "--ray", cluster.address, "shard_lines=10", "threads=1"]
    result = CliRunner().invoke(app, [*files, *options], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    said = Translator(cmlm_folder, intra_threads=1).translate(lines, iterations=2)
    assert list(read_lines(tmp_path / "out" / "crawl.xx.zst")) == lines
    assert list(read_lines(tmp_path / "out" / "crawl.yy.zst")) == [translation.text for translation in said]
    (report,) = json.loads((tmp_path / "out" / "report.json").read_text())["corpora"]
    assert (report["read"], report["pairs"], report["dropped"]) == (len(lines), len(lines), {"empty source": 2})


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"teacher": "transformers:nowhere/at/all"}, "on the machine .* there is no folder"),
        ({"ray": RayConfig("127.0.0.1:9")}, "no Ray cluster answers at 127.0.0.1:9"),
    ],
)
def test_a_mistake_is_named(config: TextDistillConfig, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        distill_text(replace(config, **changed), quiet=True)
    assert not config.out.exists()
