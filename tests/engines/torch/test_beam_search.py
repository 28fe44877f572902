"""Beam search against an enumeration of every hypothesis, and against a slow search in plain Python."""

from __future__ import annotations

import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from maskpredict.engines.torch.beam_search import Beams, Search, beam_search

BOS, EOS = 1, 0
Hypotheses = list[tuple[float, tuple[int, ...]]]


class InventedModel:
    """Log-probabilities that depend on the sentence and the whole prefix, with the state a real decoder would keep."""

    def __init__(self, seed: int, rows: int, beams: int, vocabulary: int) -> None:
        self.seed, self.beams, self.vocabulary = seed, beams, vocabulary
        self.prefixes: list[tuple[int, ...]] = [()] * (rows * beams)
        self.sentences = [row for row in range(rows) for _ in range(beams)]
        self.steps = 0
        self.rows_at: list[int] = []

    def log_probs(self, row: int, prefix: tuple[int, ...]) -> list[float]:
        chance = random.Random(f"{self.seed} {row} {prefix}")
        weights = [chance.uniform(0.02, 1.0) for _ in range(self.vocabulary)]
        return [math.log(weight / sum(weights)) for weight in weights]

    def advance(self, last_R: Tensor, origin_R: Tensor | None, time: int) -> Tensor:
        assert time == self.steps
        self.steps += 1
        if time == 0:
            assert (last_R == BOS).all()
        else:
            origin = range(len(self.prefixes)) if origin_R is None else origin_R.tolist()
            self.sentences = [self.sentences[row] for row in origin]
            self.prefixes = [(*self.prefixes[row], last) for row, last in zip(origin, last_R.tolist(), strict=True)]
        self.rows_at.append(len(self.prefixes))
        return torch.tensor([self.log_probs(*row) for row in zip(self.sentences, self.prefixes, strict=True)])


def search(seed: int, limits: list[int], beams: int, vocabulary: int = 4, length_penalty: float = 1.0) -> Beams:
    return run(InventedModel(seed, len(limits), beams, vocabulary), limits, length_penalty)


def run(model: InventedModel, limits: list[int], length_penalty: float = 1.0) -> Beams:
    return beam_search(
        Search(
            model.advance,
            len(limits),
            max(limits),
            beams=model.beams,
            limits_B=torch.tensor(limits),
            bos=BOS,
            eos=EOS,
            length_penalty=length_penalty,
        )
    )


def hypotheses_of(result: Beams, row: int) -> Hypotheses:
    """The finished hypotheses of a sentence, best first."""
    hypotheses = []
    for score, tokens in zip(result.scores_BK[row].tolist(), result.tokens_BKT[row].tolist(), strict=True):
        if score > -math.inf:
            hypotheses.append((score, tuple(tokens[: tokens.index(EOS) + 1])))
    return hypotheses


def every_hypothesis(model: InventedModel, row: int, limit: int, length_penalty: float) -> Hypotheses:
    """All sequences that end within the limit, best first."""
    finished: Hypotheses = []

    def grow(total: float, prefix: tuple[int, ...]) -> None:
        log_probs = model.log_probs(row, prefix)
        length = len(prefix) + 1
        finished.append(((total + log_probs[EOS]) / length**length_penalty, (*prefix, EOS)))
        if length < limit:
            for token in range(1, model.vocabulary):
                grow(total + log_probs[token], (*prefix, token))

    grow(0.0, ())
    return sorted(finished, reverse=True)


def slow_search(model: InventedModel, row: int, limit: int, length_penalty: float) -> Hypotheses:
    """One sentence in plain Python."""
    alive: Hypotheses = [(0.0, ())]
    done: Hypotheses = []
    for length in range(1, limit + 1):
        grown = [
            (total + log_prob, (*prefix, token))
            for total, prefix in alive
            for token, log_prob in enumerate(model.log_probs(row, prefix))
            if length < limit or token == EOS
        ]
        best = sorted(grown, reverse=True)[: 2 * model.beams]
        done += [(total / length**length_penalty, ids) for total, ids in best[: model.beams] if ids[-1] == EOS]
        alive = [hypothesis for hypothesis in best if hypothesis[1][-1] != EOS][: model.beams]
        if len(done) >= model.beams:
            break
    return sorted(done, reverse=True)[: model.beams]


def assert_same(actual: Hypotheses, expected: Hypotheses) -> None:
    assert [ids for _, ids in actual] == [ids for _, ids in expected]
    assert [score for score, _ in actual] == pytest.approx([score for score, _ in expected], abs=1e-5)


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_with_room_for_every_hypothesis_the_search_finds_the_true_n_best(seed: int, length_penalty: float) -> None:
    # Three tokens, one of them the end mark, at most four positions: 1 + 2 + 4 + 8 hypotheses.
    result = search(seed, [4, 3], beams=15, vocabulary=3, length_penalty=length_penalty)
    model = InventedModel(seed, 2, 15, 3)
    assert_same(hypotheses_of(result, 0), every_hypothesis(model, 0, 4, length_penalty))
    assert_same(hypotheses_of(result, 1), every_hypothesis(model, 1, 3, length_penalty))


@given(
    seed=st.integers(0, 10_000),
    limits=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    beams=st.integers(1, 5),
    vocabulary=st.integers(2, 6),
    length_penalty=st.sampled_from([0.0, 0.6, 1.0]),
)
@settings(max_examples=120, deadline=None)
def test_the_search_agrees_with_a_slow_one(
    seed: int, limits: list[int], beams: int, vocabulary: int, length_penalty: float
) -> None:
    result = search(seed, limits, beams, vocabulary, length_penalty)
    model = InventedModel(seed, len(limits), beams, vocabulary)
    for row, limit in enumerate(limits):
        assert_same(hypotheses_of(result, row), slow_search(model, row, limit, length_penalty))


@pytest.mark.parametrize("beams", [1, 3])
def test_finished_sentences_leave_the_batch_and_change_nothing_for_the_others(beams: int) -> None:
    limits = [2] * 20 + [12] * 5 + [3] * 10 + [9] * 5
    model = InventedModel(7, len(limits), beams, 6)
    result = run(model, limits)
    assert model.rows_at[0] == 40 * beams
    assert model.rows_at[-1] <= 16 * beams
    assert all(rows % (8 * beams) == 0 for rows in model.rows_at)
    for row, limit in enumerate(limits):
        assert_same(hypotheses_of(result, row), slow_search(model, row, limit, 1.0))


@pytest.mark.parametrize("seed", range(5))
def test_one_beam_is_greedy(seed: int) -> None:
    model = InventedModel(seed, 1, 1, 4)
    prefix: tuple[int, ...] = ()
    while EOS not in prefix and len(prefix) < 9:
        log_probs = model.log_probs(0, prefix)
        prefix = (*prefix, log_probs.index(max(log_probs)))
    prefix = prefix if EOS in prefix else (*prefix, EOS)
    assert hypotheses_of(search(seed, [10], beams=1), 0)[0][1] == prefix


def test_hypotheses_come_best_first_and_scores_are_their_log_probabilities_over_length_to_alpha() -> None:
    result = search(3, [8, 8, 8], beams=4, length_penalty=0.6)
    for row in range(3):
        actual = hypotheses_of(result, row)
        assert [score for score, _ in actual] == sorted((score for score, _ in actual), reverse=True)
        for beam, (score, ids) in enumerate(actual):
            total = float(result.log_probs_BKT[row, beam, : len(ids)].sum())
            assert score == pytest.approx(total / len(ids) ** 0.6, abs=1e-5)


def test_a_higher_length_penalty_favours_longer_hypotheses() -> None:
    lengths = [
        sum(len(hypotheses_of(search(seed, [8], beams=8, length_penalty=alpha), 0)[0][1]) for seed in range(20))
        for alpha in (0.0, 1.0, 3.0)
    ]
    assert lengths[0] < lengths[1] < lengths[2]


def test_no_hypothesis_is_longer_than_its_sentences_limit() -> None:
    result = search(1, [1, 2, 5], beams=3, vocabulary=6)
    for row, limit in enumerate([1, 2, 5]):
        actual = hypotheses_of(result, row)
        assert actual
        assert all(len(ids) <= limit and ids[-1] == EOS for _, ids in actual)


def test_the_search_ends_when_every_sentence_has_as_many_finished_hypotheses_as_beams() -> None:
    class EndsAtOnce(InventedModel):
        def log_probs(self, row: int, prefix: tuple[int, ...]) -> list[float]:
            return [math.log(0.97), *[math.log(0.01)] * 3]

    model = EndsAtOnce(0, 2, 1, 4)
    run(model, [50, 50])
    assert model.steps == 1


def test_a_sentence_is_not_affected_by_those_beside_it() -> None:
    together = search(7, [6, 9, 3], beams=3)
    model = InventedModel(7, 3, 3, 4)
    for row, limit in enumerate([6, 9, 3]):
        assert_same(hypotheses_of(together, row), slow_search(model, row, limit, 1.0))
