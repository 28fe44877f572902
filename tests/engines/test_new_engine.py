"""A new engine is a module with two functions and a line in `ENGINES`; nothing else has to know of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

from maskpredict import Translator, UserError
from maskpredict.cli import app
from maskpredict.decoding.engine import Engine, Prediction, Query
from maskpredict.engines import ENGINES
from maskpredict.model.folder import ModelFolder
from tests.conformance import CASES, Answer, Case, assert_consistent

T = TypeVar("T")


class DiceEngine(Engine):
    """Throws dice, always the same ones for the same source, position and number of masks."""

    name = "dice"

    def __init__(self, contents: ModelFolder) -> None:
        self.config, self.special = contents.config, contents.tokenizers.target.special
        self.device, self.compute_type = "cpu", "float32"
        self.vocabulary = contents.tokenizers.target.vocab_size

    def encode(self, sources: Sequence[Sequence[int]]) -> Dice:
        return Dice(self, [tuple(source) for source in sources])


class Dice:
    def __init__(self, engine: DiceEngine, sources: list[tuple[int, ...]]) -> None:
        self.engine, self.sources = engine, sources

    @property
    def length_log_probs_BL(self) -> npt.NDArray[np.float32]:
        rows = [_throw(source, self.engine.config.max_positions) for source in self.sources]
        return np.stack(rows)

    @property
    def positions(self) -> list[int]:
        raise AssertionError("not asked of a CMLM")

    def groups(self, lengths: Sequence[int]) -> list[list[int]]:
        return [list(range(len(lengths)))]

    def passes(self, owner: Sequence[int], lengths: Sequence[int]) -> DicePasses:
        return DicePasses(self.engine, [self.sources[row] for row in owner], list(lengths))


class DicePasses:
    def __init__(self, engine: DiceEngine, sources: list[tuple[int, ...]], lengths: list[int]) -> None:
        self.engine, self.sources, self.lengths = engine, sources, lengths

    def array(self, rows: Sequence[Sequence[int]], fill: int) -> npt.NDArray[np.int64]:
        width = max(self.lengths)
        return np.array([[*row, *[fill] * (width - len(row))] for row in rows])

    def predict(self, tokens_BT: npt.NDArray[Any], masked_BT: npt.NDArray[Any], query: Query) -> Prediction:
        tokens, log_probs = np.zeros_like(tokens_BT), np.zeros(tokens_BT.shape, np.float32)
        given = None if query.given_BT is None else np.zeros(tokens_BT.shape, np.float32)
        for row, place in zip(*masked_BT.nonzero(), strict=True):
            log_probs_V = self._log_probs(row, place, int(masked_BT[row].sum()), query)
            if query.no_end_BT is not None and query.no_end_BT[row, place]:
                log_probs_V[self.engine.special.eos] = -np.inf
            tokens[row, place], log_probs[row, place] = log_probs_V.argmax(), log_probs_V.max()
            if given is not None and query.given_BT is not None:
                given[row, place] = log_probs_V[query.given_BT[row, place]]
        return Prediction(tokens, log_probs, given)

    def log_probs(self, tokens_BT: npt.NDArray[Any], query: Query) -> npt.NDArray[np.float32]:
        return np.stack([self._log_probs(0, place, 1, query) for place in range(self.lengths[0])])

    def _log_probs(self, row: int, place: int, masked: int, query: Query) -> npt.NDArray[np.float32]:
        log_probs_V = _throw((*self.sources[row], int(place), masked), self.engine.vocabulary)
        log_probs_V[list(query.suppress)] = -np.inf
        return log_probs_V


def _throw(seed: tuple[int, ...], size: int) -> npt.NDArray[np.float32]:
    scores = np.random.default_rng([abs(number) for number in seed]).normal(size=size)
    return (scores - np.logaddexp.reduce(scores)).astype(np.float32)


@pytest.fixture
def dice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine, as a separate package would bring it."""

    def refusal(contents: ModelFolder, device: str, compute_type: str) -> str | None:
        return None if contents.system == "cmlm" else "dice are for CMLMs; choose another engine."

    def load(contents: ModelFolder, device: str, compute_type: str, threads: int | None) -> Engine:
        return DiceEngine(contents)

    module = ModuleType("dice_engine")
    module.refusal, module.load = refusal, load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dice_engine", module)
    monkeypatch.setitem(ENGINES, "dice", "dice_engine")


@pytest.mark.usefixtures("dice")
@pytest.mark.parametrize("case", [case for case in CASES if case.follows_the_schedule], ids=lambda case: case.name)
def test_it_decodes_as_all_others_do(case: Case, cmlm_folder: Path, sentences: list[str]) -> None:
    translator = Translator(cmlm_folder, engine="dice", device="cpu", compute_type="float32")
    assert isinstance(translator.engine, DiceEngine)
    lines = case.lines(sentences[:10])
    traced = list(translator.translate_lines(lines, window=len(lines), trace=True, **case.settings))
    for line, translation in zip(lines, traced, strict=True):
        assert_consistent(Answer.of(translation), line, case.settings)
    alone = [next(translator.translate_lines([line], trace=True, **case.settings)) for line in lines]
    assert alone == traced


@pytest.mark.usefixtures("dice")
def test_it_scores_what_it_says(cmlm_folder: Path) -> None:
    translator = Translator(cmlm_folder, engine="dice", device="cpu", compute_type="float32")
    source = translator.tokenizers.source
    pieces = " ".join(source.pieces(source.encode("luri tisa.")))
    (said,) = translator.translate([pieces], pretokenized=True)
    (scored,) = translator.score([pieces], [" ".join(said.tokens)], pretokenized=True)
    assert scored.score == pytest.approx(said.score)


@pytest.mark.usefixtures("dice")
def test_the_command_line_knows_it(cmlm_folder: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    (tmp_path / "in.txt").write_text("luri tisa.\n", encoding="utf-8")
    options = ["translate", "-m", str(cmlm_folder), "--engine", "dice", "--device", "cpu", "--compute-type", "float32"]
    done = CliRunner().invoke(app, [*options, str(tmp_path / "in.txt")])
    assert done.exit_code == 0, done.output
    expected = Translator(cmlm_folder, engine="dice", device="cpu", compute_type="float32").translate(["luri tisa."])
    assert done.stdout == f"{expected[0].text}\n"


@pytest.mark.usefixtures("dice")
def test_what_it_refuses_is_refused_with_its_own_sentence(autoregressive_folder: Path) -> None:
    with pytest.raises(UserError, match="dice are for CMLMs; choose another engine"):
        Translator(autoregressive_folder, engine="dice")
