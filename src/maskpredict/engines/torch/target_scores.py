"""Log-probabilities of given targets under an autoregressive model, and finished beams as hypotheses.

Shape letters: R rows, N positions of all targets, D width, V vocabulary, K beams, T positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice

import torch
from torch import Tensor

from maskpredict.decoding.hypothesis import Hypothesis
from maskpredict.engines.torch.beam_search import Beams
from maskpredict.model.batch import pad
from maskpredict.model.best_tokens import best_tokens, rows_at_once
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Memory, suppress
from maskpredict.systems.autoregressive import Autoregressive


def target_log_probs(
    system: Autoregressive,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    suppressed: Sequence[int],
) -> list[list[float]]:
    """Return the log-probability of every token of the targets; sources that repeat are encoded once."""
    distinct = list(dict.fromkeys(map(tuple, sources)))
    row_of = {source: row for row, source in enumerate(distinct)}
    rows_R = torch.tensor([row_of[tuple(source)] for source in sources], device=system.device)
    encoding = system.encode(pad(distinct, system.special.pad, system.device))
    assert isinstance(encoding.layout, Padded)
    memory = [Memory(layer.keys[rows_R], layer.values[rows_R]) for layer in encoding.memory]
    target = pad(targets, system.special.pad, system.device)
    hidden = system.hidden(target, memory, encoding.layout.select(rows_R))
    valid = target.layout.valid
    log_probs = iter(_log_probs(system, hidden[valid], target.ids[valid], suppressed).tolist())
    return [list(islice(log_probs, len(ids))) for ids in targets]


def _log_probs(system: Autoregressive, hidden_ND: Tensor, ids_N: Tensor, suppressed: Sequence[int]) -> Tensor:
    """Return the log-probabilities [N] of these ids after these decoder outputs."""
    at_once = rows_at_once(hidden_ND)
    parts = []
    for hidden_RD, ids_R in zip(hidden_ND.split(at_once), ids_N.split(at_once), strict=True):
        logits_RV = suppress(system.transformer.logits(hidden_RD), suppressed)
        norm_R = best_tokens(logits_RV, 1).norm_R
        parts.append(logits_RV.gather(1, ids_R[:, None])[:, 0].float() - norm_R)
    return torch.cat(parts)


def hypotheses_of(beams: Beams, count: int, eos: int) -> list[list[Hypothesis]]:
    """Return the best `count` hypotheses of each sentence, or all if there are fewer."""
    scores = beams.scores_BK[:, :count].tolist()
    tokens = beams.tokens_BKT[:, :count].tolist()
    log_probs = beams.log_probs_BKT[:, :count].tolist()
    return [
        [_hypothesis(*beam, eos) for beam in zip(*sentence, strict=True) if beam[0] > -math.inf]
        for sentence in zip(scores, tokens, log_probs, strict=True)
    ]


def _hypothesis(score: float, ids: list[int], log_probs: list[float], eos: int) -> Hypothesis:
    length = ids.index(eos) + 1
    return Hypothesis(ids[:length], log_probs[:length], score, passes=length)
