"""Compiles the kernels of a base model for Hopper, without a GPU; prints a line of JSON for each.

    python tests/kernels/compile_only.py

Triton is told that there is such a GPU. A launch ends once its kernel is compiled, so tensors keep the zeros that they
begin with, and what is computed means nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from maskpredict.decoding.beam import BeamDecoder
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import AlignmentSettings, BeamSettings, MaskPredictSettings
from maskpredict.engines.cuda.alignment_captures import FusedAlignment
from maskpredict.engines.cuda.capture import Capture, capture_inputs
from maskpredict.engines.cuda.capture_shape import CaptureShape
from maskpredict.engines.cuda.engine import CudaEngine
from maskpredict.engines.cuda.fused_computation import FusedComputation
from maskpredict.engines.cuda.fused_search import FusedSearch
from maskpredict.engines.cuda.fused_transformer import FusedTransformer
from maskpredict.kernels import draft_step, pdl
from maskpredict.kernels import fused as fused_ops
from maskpredict.kernels.ctc_lattice import best_alignments, sum_alignments
from maskpredict.kernels.short_attention import short_attention
from maskpredict.kernels.vocabulary_scan import best
from maskpredict.model.config import ModelConfig
from maskpredict.systems import Vocabulary, find_system
from maskpredict.tokenizer import SpecialIds

HOPPER = GPUTarget("cuda", 90, 32)
VOCABULARY = 16_000
SENTENCE = Request((*range(10, 36), 2))
"""27 subwords."""
CONFIG = ModelConfig(norm="pre", dropout=0.0)


def compile_only(run: Callable[..., Any]) -> Callable[..., None]:
    """What a launch does instead of launching."""
    reported = set()

    def compiled(self: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> None:
        kernel = run(self, *args, grid=grid, warmup=True, **options)
        if kernel.hash not in reported:
            reported.add(kernel.hash)
            size = len(kernel.asm["cubin"])
            line = {"name": self.fn.__name__, "shared": kernel.metadata.shared, "machine_code": size}
            print(json.dumps(line), flush=True)

    return compiled


def system(name: str) -> Any:
    """A base model in half precision."""
    return find_system(name)(CONFIG, Vocabulary(VOCABULARY, VOCABULARY, SpecialIds())).eval().half()


def mask_predict() -> None:
    """A sentence in four passes, one in ten with five lengths, and a batch; the best words of a larger one."""
    cmlm = system("cmlm")
    fused = FusedTransformer(cmlm.transformer, fused_ops)
    for sentences, settings in (
        (1, MaskPredictSettings(4, 1)),
        (1, MaskPredictSettings(10, 5, threshold=0.5)),
        (16, MaskPredictSettings(4, 1)),
    ):
        group = [SENTENCE] * sentences
        shape = CaptureShape.of(group, settings, CONFIG.max_positions)
        assert shape is not None
        capture = Capture(cmlm, shape, FusedComputation(cmlm, fused, draft_step, shape))
        capture.begin(capture_inputs(group, shape, cmlm.special.pad))
    best(torch.zeros(64, VOCABULARY, dtype=torch.float16))


def alignments() -> None:
    """A sentence in two passes, and a batch in one."""
    alignment = system("alignment")
    fused = FusedTransformer(alignment.transformer, fused_ops)
    for sentences, passes in ((1, 2), (8, 1)):
        group = [SENTENCE] * sentences
        shape = CaptureShape.of_alignments(group, AlignmentSettings(passes), CONFIG.ctc_positions)
        assert shape is not None
        capture = Capture(alignment, shape, FusedAlignment(alignment, fused, draft_step, shape))
        capture.begin(capture_inputs(group, shape, alignment.special.pad))


def beam_search() -> None:
    """Some steps of one beam and of five."""
    autoregressive = system("autoregressive")
    autoregressive.transformer = FusedTransformer(autoregressive.transformer, fused_ops)
    decoder = BeamDecoder("autoregressive", CudaEngine(autoregressive, "cpu", "float16"))
    for beams in (1, 5):
        decoder.translate([SENTENCE], BeamSettings(beams, max_length_ratio=0.01))

        def advance(last_R: Tensor, origin_R: Tensor | None, time: int) -> Tensor:
            return torch.zeros(len(last_R), VOCABULARY, dtype=torch.float16)

        limits_B = torch.full((8,), 64)
        search = FusedSearch(advance, 8, 64, beams=beams, limits_B=limits_B, bos=1, eos=2, length_penalty=1.0)
        search.step(0)
        search.step(1)


def training() -> None:
    """Attention within packed sentences, and its gradients; alignments of some words and of many."""
    starts = torch.tensor([0, 27, 54], dtype=torch.int32)
    for causal in (False, True):
        q, k, v = (torch.zeros(54, 8, 64, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
        short_attention(q, k, v, starts, starts, causal).sum().backward()
    for words in (30, 126, 256):
        counts_B, words_BL = torch.zeros(2, dtype=torch.long), torch.zeros(2, words, dtype=torch.long)
        lattice = torch.zeros(16, words + 1), torch.zeros(2, 8, dtype=torch.long), counts_B, words_BL, counts_B
        sum_alignments(*lattice)
        best_alignments(*lattice)


if __name__ == "__main__":
    this_gpu = SimpleNamespace(
        get_current_target=lambda: HOPPER, get_current_device=lambda: 0, get_current_stream=lambda device: 0
    )
    driver.set_active(this_gpu)
    with (
        patch.object(JITFunction, "run", compile_only(JITFunction.run)),
        patch.object(pdl, "_is_supported", lambda device: True),
        patch.object(torch, "empty", torch.zeros),
        patch.object(torch, "empty_like", torch.zeros_like),
    ):
        with torch.inference_mode():
            mask_predict()
            alignments()
            beam_search()
        training()
