"""The record of a decoding run."""

from __future__ import annotations

import json

from maskpredict.decoding.trace import CandidateTrace, Pass, Trace

TRACE = Trace(
    [
        CandidateTrace(2, -0.7, [Pass([True, True], [7, 2], [0.5, 0.5])]),
        CandidateTrace(
            3,
            -0.1,
            [Pass([True] * 3, [7, 7, 2], [0.9, 0.8, 1.0]), Pass([False, True, False], [7, 8, 2], [0.9, 0.9, 1.0])],
        ),
    ],
    chosen=1,
)


def test_the_passes_of_a_trace_are_those_of_the_chosen_candidate() -> None:
    assert [step.ids for step in TRACE.passes] == [[7, 7, 2], [7, 8, 2]]


def test_spelling_puts_subwords_beside_the_ids_of_every_candidate() -> None:
    spelled = TRACE.spelled(lambda ids: [f"<{i}>" for i in ids])
    assert spelled.candidates[0].passes[0].tokens == ["<7>", "<2>"]
    assert spelled.passes[1].tokens == ["<7>", "<8>", "<2>"]
    assert TRACE.passes[1].tokens == []


def test_a_trace_survives_json() -> None:
    plain = json.loads(json.dumps(TRACE.to_dict()))
    assert plain["chosen"] == 1
    assert plain["candidates"][1]["passes"][1]["masked"] == [False, True, False]
