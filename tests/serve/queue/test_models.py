"""Choosing models, and the threads they get."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maskpredict.runtime import find_model
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.queue.models import choose_models, load_models, threads_per_worker


def test_the_default_models_are_served_under_the_names_of_their_languages() -> None:
    choices = choose_models(ServiceConfig())
    assert [choice.folder.name for choice in choices] == list(find_model.DEFAULTS)
    assert [choice.name for choice in choices] == ["de-en", "en-de"]


@pytest.mark.parametrize("engine", ["onnxruntime", "torch"])
def test_models_run_on_the_engine_that_was_asked_for(cmlm_folder: Path, engine: str) -> None:
    (model,) = load_models(ServiceConfig(models=(str(cmlm_folder),), engine=engine))
    assert model.translator.engine.name == engine


def test_one_worker_leaves_the_number_of_threads_to_the_translator() -> None:
    assert threads_per_worker(ServiceConfig()) is None


@pytest.mark.parametrize("workers", [1, 3])
def test_a_given_number_of_threads_is_that_of_each_worker(workers: int) -> None:
    assert threads_per_worker(ServiceConfig(threads=5, workers=workers)) == 5


@pytest.mark.parametrize(("cores", "workers", "threads"), [(8, 4, 2), (8, 3, 2), (2, 3, 1), (64, 2, 4)])
def test_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch, cores: int, workers: int, threads: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)), raising=False)
    assert threads_per_worker(ServiceConfig(workers=workers)) == threads
