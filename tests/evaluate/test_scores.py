"""Our scores are those of the sacreBLEU command line, to its last decimal, with the same signatures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from maskpredict.errors import UserError
from maskpredict.evaluate.metrics import METRICS
from maskpredict.evaluate.scores import Interval, MetricScore, score_corpus

CHINESE = ["那只小狗在桥下睡觉。", "红色的船慢慢过河, 没有人看见。", "两座房子在河边。"]
CHINESE_REFERENCES = ["那只小狗睡在桥下。", "红船慢慢地过了河, 谁也没有看见。", "河边有两座房子。"]


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def sacrebleu(*arguments: object) -> list[dict[str, Any]]:
    """What sacreBLEU itself says, with six decimals."""
    command = [sys.executable, "-m", "sacrebleu", *map(str, arguments), "-w", "6", "-f", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return found if isinstance(found, list) else [found]


def same(own: MetricScore, theirs: dict[str, Any]) -> bool:
    return own.signature == theirs["signature"] and own.score == pytest.approx(theirs["score"], abs=1e-6)


@pytest.mark.parametrize("names", [["ref"], ["ref", "another"]], ids=["one reference", "two references"])
def test_scores_and_intervals_are_sacrebleus(texts: Path, names: list[str]) -> None:
    files = [texts / f"{name}.txt" for name in names]
    own = score_corpus(lines(texts / "good.txt"), [lines(file) for file in files], confidence=200)
    theirs = sacrebleu(
        *files, "-i", texts / "good.txt", "-m", "bleu", "chrf", "ter", "--chrf-word-order", 2,
        "--confidence", "--confidence-n", 200,
    )  # fmt: skip
    assert [score.title for score in own.scores] == [score["name"] for score in theirs] == ["BLEU", "chrF2++", "TER"]
    for mine, other in zip(own.scores, theirs, strict=True):
        assert same(mine, other)
        assert isinstance(mine.confidence, Interval)
        assert mine.confidence.mean == pytest.approx(other["confidence_mean"], abs=1e-6)
        assert mine.confidence.plus_minus == pytest.approx(other["confidence_var"], abs=1e-6)


def test_tokenized_bleu_is_sacrebleus_without_a_tokenizer(texts: Path) -> None:
    hypotheses, references = lines(texts / "good.txt"), [lines(texts / "ref.txt")]
    own = score_corpus(hypotheses, references, metrics=["tokenized_bleu", "bleu"])
    (theirs,) = sacrebleu(texts / "ref.txt", "-i", texts / "good.txt", "--tokenize", "none")
    assert same(own.scores[0], theirs)
    assert own.scores[0].title == "tokenized BLEU"
    assert own["tokenized_bleu"] != own["bleu"]


@pytest.mark.parametrize("code", ["zh", "zh-CN", "zh_Hans", "zho"])
def test_chinese_has_its_own_words(tmp_path: Path, code: str) -> None:
    (tmp_path / "hyp").write_text("\n".join(CHINESE), encoding="utf-8")
    (tmp_path / "ref").write_text("\n".join(CHINESE_REFERENCES), encoding="utf-8")
    own = score_corpus(CHINESE, [CHINESE_REFERENCES], metrics=["bleu"], target_language=code)
    (theirs,) = sacrebleu(tmp_path / "ref", "-i", tmp_path / "hyp", "--tokenize", "zh")
    assert same(own.scores[0], theirs)
    assert "tok:zh" in own.scores[0].signature


def test_a_language_without_its_tokenizer_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_ja_mecab.MeCab", None)
    with pytest.raises(UserError, match=r"BLEU for ja needs .* `pip install sacrebleu\[ja\]`"):
        score_corpus(["犬"], [["犬"]], metrics=["bleu"], target_language="ja")


def test_perfect_translations_are_perfect(texts: Path) -> None:
    references = lines(texts / "ref.txt")
    scores = score_corpus(references, [references], metrics=list(METRICS))
    assert {score.metric: round(score.score, 6) for score in scores.scores} == {
        "bleu": 100, "chrf": 100, "ter": 0, "tokenized_bleu": 100,
    }  # fmt: skip
    assert scores.sentences == len(references)
    assert all(score.confidence is None for score in scores.scores)


def test_only_the_metrics_asked_for_are_computed_each_once(texts: Path) -> None:
    references = lines(texts / "ref.txt")
    scores = score_corpus(references, [references], metrics=["ter", "bleu", "ter"])
    assert [score.metric for score in scores.scores] == ["ter", "bleu"]


@pytest.mark.parametrize(
    ("hypotheses", "references", "options", "sentence"),
    [
        (["a"], [["a"]], {"metrics": ["blue"]}, "no metric 'blue'; choose some of bleu, chrf, ter, tokenized_bleu"),
        (["a"], [["a"]], {"metrics": []}, "no metric was named"),
        (["a"], [["a"]], {"confidence": -5}, "confidence is -5"),
        (["a"], [["a"], ["a", "b"]], {}, "1 translations and 2 references"),
        (["a", "b"], [["a"]], {}, "2 translations and 1 references"),
        ([], [[]], {}, "nothing to score"),
        (["a"], [], {}, "nothing to score"),
    ],
)
def test_what_cannot_be_scored_gets_a_sentence(
    hypotheses: list[str], references: list[list[str]], options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        score_corpus(hypotheses, references, **options)
