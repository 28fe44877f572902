"""Length classes of fairseq's CMLMs, which count BOS."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from maskpredict.model.batch import pad
from maskpredict.systems.base import System
from maskpredict.systems.fairseq_cmlm import FairseqCMLM

CPU = torch.device("cpu")
CLASSES, LONGEST = 140, 160
SOURCES = [[6, 7, 2], [8, 9, 10, 11, 2], [*(5 + place % 15 for place in range(148)), 2]]


@pytest.mark.parametrize("name", ["fairseq_cmlm", "fairseq_cmlm_relative"])
def test_a_length_has_the_probability_of_its_class(make_system: Callable[..., System], name: str) -> None:
    system = make_system(name, max_positions=LONGEST, length_classes=CLASSES)
    assert isinstance(system, FairseqCMLM)
    together_BL = system.encode(pad(SOURCES, 0, CPU, slot=True)).length_log_probs_BL
    assert together_BL is not None
    for source, log_probs_L in zip(SOURCES, together_BL, strict=True):
        framed = pad([[system.special.bos, *source]], 0, CPU)
        encoded_TD = system.transformer.encode(framed.ids, framed.layout)[0, : 1 + len(source)]
        log_probs_C = (system.length.table.weight @ encoded_TD.mean(0)).log_softmax(0).tolist()
        for length, log_prob in enumerate(log_probs_L.tolist()):
            # A target of `length` has one position more with BOS, and so has the source; class 128 is as long as it.
            place = length + 1 if name == "fairseq_cmlm" else 128 + (length + 1) - (1 + len(source))
            expected = log_probs_C[place] if 0 <= place < CLASSES else -math.inf
            assert log_prob == pytest.approx(expected, abs=1e-3)
