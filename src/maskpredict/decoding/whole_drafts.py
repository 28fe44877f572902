"""One pass that predicts every position of its drafts, for decoders that do not mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.decoding.arrays import array_namespace, device
from maskpredict.decoding.engine import Encoded, Query
from maskpredict.decoding.pausing import pause

Ids = Sequence[int]


@dataclass(frozen=True)
class Answers:
    """The predictions at all positions of a draft."""

    tokens: list[int]
    log_probs: list[float]
    given_log_probs: list[float]
    """Log-probabilities of the tokens that were given; empty if none were."""


def predict_all(
    encoded: Encoded,
    drafts: Sequence[Ids],
    owner: Sequence[int],
    suppress: tuple[int, ...],
    *,
    pad: int,
    given: Sequence[Ids] | None = None,
    end_penalty: float = 0.0,
) -> list[Answers]:
    """Predict every position of every draft; `owner` is the row of each draft's source."""
    pause()
    answers: dict[int, Answers] = {}
    for rows in encoded.groups([len(draft) for draft in drafts]):
        lengths = [len(drafts[row]) for row in rows]
        passes = encoded.passes([owner[row] for row in rows], lengths)
        tokens_BT = passes.array([drafts[row] for row in rows], pad)
        xp, tokens_device = array_namespace(tokens_BT), device(tokens_BT)
        lengths_B = xp.asarray(lengths, device=tokens_device)
        valid_BT = xp.arange(tokens_BT.shape[1], device=tokens_device)[None, :] < lengths_B[:, None]
        given_BT = None if given is None else passes.array([given[row] for row in rows], pad)
        result = passes.predict(tokens_BT, valid_BT, Query(suppress, given_BT=given_BT, end_penalty=end_penalty))
        given_rows = [[]] * len(rows) if result.given_log_probs_BT is None else result.given_log_probs_BT.tolist()
        parts = zip(rows, lengths, result.tokens_BT.tolist(), result.log_probs_BT.tolist(), given_rows, strict=True)
        for row, length, tokens, log_probs, given_log_probs in parts:
            answers[row] = Answers(tokens[:length], log_probs[:length], given_log_probs[:length])
    return [answers[row] for row in range(len(drafts))]
