"""fairseq's CMLMs as onnxruntime computes them: where their lengths come from is not where other CMLMs' do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.engines.onnxruntime.sessions import OnnxruntimeTransformer, is_available
from maskpredict.model.folder import own_weights, take_weights
from maskpredict.systems import System
from maskpredict.systems.fairseq_cmlm import FairseqCMLM

pytestmark = pytest.mark.skipif(not is_available(), reason="it takes onnxruntime")


@torch.inference_mode()
@pytest.mark.parametrize("name", ["fairseq_cmlm", "fairseq_cmlm_relative"])
def test_lengths_are_nearly_those_of_float32_and_sentences_do_not_depend_on_their_batch(
    make_system: Callable[..., System], sources: list[tuple[int, ...]], name: str
) -> None:
    plain, int8 = (make_system(name, width=64, heads=4, length_classes=256) for _ in range(2))
    assert isinstance(plain, FairseqCMLM)
    assert isinstance(int8, FairseqCMLM)
    take_weights(int8, own_weights(plain), int8=True)
    int8.transformer = OnnxruntimeTransformer(int8.transformer, threads=1)
    requests = [Request(source) for source in sources]
    expected, found = (system.encode(requests).length_log_probs_BL for system in (plain, int8))
    torch.testing.assert_close(found, expected, atol=0.5, rtol=0)
    together = int8.translate(requests, MaskPredictSettings(iterations=3))
    assert together == [int8.translate([request], MaskPredictSettings(iterations=3))[0] for request in requests]
