"""Deployment files and the serving guide match the program."""

from __future__ import annotations

import configparser
import re
import shlex
from pathlib import Path

import httpx
import pytest
import yaml
from typer.testing import CliRunner

from maskpredict.cli import app

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def options() -> set[str]:
    result = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    return set(re.findall(r"--[a-z][a-z-]+", result.output))


@pytest.mark.parametrize("file", ["Dockerfile", "deploy/maskpredict.service", "docs/serving.md"])
def test_every_option_that_is_named_exists(options: set[str], file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = [
        line
        for line in text.splitlines()
        if not re.search(r"\b(pip|apt|useradd|curl|docker|benchmarks|COPY)\b|^HEALTH", line)
    ]
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", "\n".join(lines)))
    assert named
    assert named - options - {"--retry", "--retry-delay", "--now"} == set()


def test_the_unit_starts_the_server_and_gives_it_time_to_finish(options: set[str]) -> None:
    unit = configparser.ConfigParser(strict=False)
    unit.read_string((ROOT / "deploy" / "maskpredict.service").read_text(encoding="utf-8"))
    service = unit["Service"]
    command = shlex.split(service["ExecStart"])
    assert command[1] == "serve"
    timeout = float(command[command.index("--timeout") + 1])
    assert float(service["TimeoutStopSec"]) > timeout + 10


def test_the_image_gets_only_what_it_copies() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    kept = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(" ".join(copied).split()) == sorted(kept)
    assert all((ROOT / path).exists() for path in kept)


@pytest.mark.parametrize("file", ["grafana-dashboard.json", "alerts.yml"])
def test_dashboards_and_alerts_ask_for_metrics_that_exist(client: httpx.Client, file: str) -> None:
    client.post("/translate", json={"q": "bane.", "source": "xx", "target": "yy"})
    text = (ROOT / "deploy" / file).read_text(encoding="utf-8")
    content = yaml.safe_load(text)  # JSON is YAML, too
    assert content
    asked = set(re.findall(r"\bmaskpredict_[a-z_]+", text))
    served = set(re.findall(r"^(maskpredict_[a-z_]+)", client.get("/metrics").text, re.MULTILINE))
    assert len(asked) >= 2
    assert asked - served == set()
    labels = set(re.findall(r"\bby \(([^)]*)\)", text))
    known = {"le", "route", "status", "method", "side", "model", "engine", "instance"}
    assert {label for group in labels for label in group.split(", ")} <= known
