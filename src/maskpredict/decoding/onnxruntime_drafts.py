"""Drafts that onnxruntime completes by itself: one run of its graph for each, through all passes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from maskpredict.decoding.candidates import Finished
from maskpredict.decoding.mask_predict import least_confident
from maskpredict.decoding.onnxruntime_passes import EncodedApart, penalties
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.decoding.strategies import STRATEGIES


def plain_mask_predict(settings: MaskPredictSettings) -> bool:
    """True when these settings ask for nothing but the tokens after the last pass of mask-predict."""
    plan = STRATEGIES[settings.strategy]
    all_to_the_end = settings.prune_candidates is None and not settings.trace
    return plan.strategy is least_confident and plan.hide and all_to_the_end


def finish_each(
    encoded: EncodedApart, drafts: Sequence[list[int]], owner: Sequence[int], settings: MaskPredictSettings
) -> list[Finished]:
    """Complete drafts of nothing but masks, each of the sentence `owner` names, as `Finisher` does."""
    transformer = encoded.transformer
    lengths_B = torch.tensor([len(draft) for draft in drafts])
    passes = STRATEGIES[settings.strategy].count(lengths_B, settings.iterations)[:, None].numpy()
    asked = {
        "limit": np.array(math.inf if settings.threshold is None else math.log(settings.threshold), np.float32),
        "unless_stable": np.array(settings.stop_when_stable),
        "penalties": penalties(settings.suppress_tokens, transformer.target.tokens.num_embeddings),
    }
    rows = [
        {"draft": np.array(draft), "passes": own_passes, **asked, **encoded.sources[sentence].memory}
        for draft, own_passes, sentence in zip(drafts, passes, owner, strict=True)
    ]
    finished = []
    for found in transformer.draft_program.run(rows, ["tokens", "log_probs", "used"]):
        log_probs: list[float] = found["log_probs"].tolist()
        score = math.fsum(log_probs) / len(log_probs)
        finished.append(Finished(found["tokens"].tolist(), log_probs, score, int(found["used"][0]), []))
    return finished
