"""The length head of fairseq's CMLMs in NumPy; `systems/fairseq_cmlm.py` has it in PyTorch.

Shape letters: S source positions, D width, C classes, L lengths.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maskpredict.decoding.framed import LENGTH_OFFSET

Array = npt.NDArray[np.float32]


def fairseq_length_log_probs(encoded_SD: Array, table_CD: Array, max_positions: int, *, relative: bool) -> Array:
    """Return log-probabilities [L] of target lengths without BOS, -inf where there is no class."""
    scores_C = table_CD @ encoded_SD.mean(0)
    log_probs_C = scores_C - np.logaddexp.reduce(scores_C)
    shift = LENGTH_OFFSET - len(encoded_SD) if relative else 0
    class_L = np.arange(max_positions) + 1 + shift
    exists_L = (class_L >= 0) & (class_L < len(log_probs_C))
    return np.where(exists_L, log_probs_C[np.clip(class_L, 0, len(log_probs_C) - 1)], -np.inf).astype(np.float32)
