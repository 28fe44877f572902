"""Pauses between passes, and groups of drafts that bound the time between two of them."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from maskpredict.decoding.engine import split_groups
from maskpredict.decoding.pausing import pause, pausing
from maskpredict.runtime.translator import Translator


@pytest.mark.parametrize("engine", ["onnxruntime", "torch"])
def test_a_translation_pauses_before_each_pass_and_stays_the_same(cmlm_folder: Path, engine: str) -> None:
    translator = Translator(cmlm_folder, device="cpu", engine=engine)
    alone = translator.translate(["bane kosa luri."], iterations=5, length_candidates=1)
    pauses: list[int] = []
    with pausing(lambda: pauses.append(1)):
        assert translator.translate(["bane kosa luri."], iterations=5, length_candidates=1) == alone
    assert len(pauses) == 5


def test_a_beam_search_pauses_before_each_step(autoregressive_folder: Path) -> None:
    translator = Translator(autoregressive_folder, device="cpu")
    pauses: list[int] = []
    with pausing(lambda: pauses.append(1)):
        (translation,) = translator.translate(["bane kosa luri."], beam_size=1)
    assert len(pauses) >= len(translation.tokens)


def test_a_hook_may_abandon_a_translation(cmlm_folder: Path) -> None:
    def leave() -> None:
        raise KeyError("nobody waits")

    translator = Translator(cmlm_folder, device="cpu")
    with pytest.raises(KeyError), pausing(leave):
        translator.translate(["bane."])
    assert translator.translate(["bane."])[0].text


def test_a_hook_is_for_one_thread_and_one_context() -> None:
    calls: list[str] = []
    with pausing(lambda: calls.append("outer")):
        other = Thread(target=pause)
        other.start()
        other.join()
        assert calls == []
        with pausing(lambda: calls.append("inner")):
            pause()
        pause()
    pause()
    assert calls == ["inner", "outer"]


@pytest.mark.parametrize(
    ("groups", "lengths", "parts"),
    [
        ([[0, 1, 2]], [4, 4, 4], [[0, 1], [2]]),
        ([[0, 1], [2]], [4, 4, 4], [[0, 1], [2]]),
        ([[0, 1, 2]], [12, 2, 9], [[0], [1], [2]]),
        ([], [], []),
    ],
)
def test_groups_are_split_by_their_positions(
    groups: list[list[int]], lengths: list[int], parts: list[list[int]]
) -> None:
    assert split_groups(groups, lengths, most=10) == parts
