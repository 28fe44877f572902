"""PyTorch on one NVIDIA GPU, with whole translations captured as CUDA graphs over fused kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from maskpredict.decoding.engine import StartedBatch
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import AlignmentSettings, MaskPredictSettings
from maskpredict.engines.cuda.alignment_captures import AlignmentCaptures
from maskpredict.engines.cuda.captured_search import MAX_CAPTURED_BEAMS, SearchCaptures, search_kind
from maskpredict.engines.cuda.captures import Captures, CMLMCaptures
from maskpredict.engines.torch.beam_search import Beams, Search, SearchShape
from maskpredict.engines.torch.engine import StartSearch, TorchEngine
from maskpredict.model.batch import Tokens
from maskpredict.model.transformer import Transformer
from maskpredict.systems.alignment import Alignment
from maskpredict.systems.base import System
from maskpredict.systems.cmlm import CMLM
from maskpredict.systems.ctc import CTC

CAPTURED: dict[type[System], type[Captures]] = {
    CMLM: CMLMCaptures,
    Alignment: AlignmentCaptures,
    CTC: AlignmentCaptures,
}
"""What is captured for a system; not for its subclasses, which encode sources or choose positions differently."""


class CudaEngine(TorchEngine):
    """As `TorchEngine`, with whole translations in one launch where the batch can be captured."""

    name = "cuda"

    def __init__(self, system: System, device: str, compute_type: str) -> None:
        super().__init__(system, device, compute_type)
        kind = CAPTURED.get(type(system))
        self.captures = None if kind is None else kind(system)
        self.searches = SearchCaptures()
        self.capturing = True
        """False to decode everything pass by pass and step by step, as `TorchEngine` does."""

    def start(self, requests: Sequence[Request], settings: Any) -> StartedBatch | None:
        """As in `Engine`: the GPU replays a capture while the host continues."""
        if not self._captures(settings):
            return None
        assert self.captures is not None
        return self.captures.start(requests, settings)

    def batch_limit(self, width: int, settings: Any) -> int | None:
        """As in `Engine`: the batch of the fastest capture."""
        if not self._captures(settings):
            return None
        assert self.captures is not None
        return self.captures.batch_limit(width, settings)

    def _captures(self, settings: Any) -> bool:
        captured = isinstance(settings, MaskPredictSettings | AlignmentSettings)
        return self.capturing and self.captures is not None and captured

    def search_kind(self, transformer: Transformer, beams: int) -> type[Search]:
        """As in `TorchEngine`, with fused kernels where the transformer has them."""
        return search_kind(transformer, beams)

    def run_search(self, shape: SearchShape, source: Tokens, limits_B: Tensor, start: StartSearch) -> Beams:
        """As in `TorchEngine`, captured where the batch is small enough."""
        if self.capturing and shape.sentences * shape.beams <= MAX_CAPTURED_BEAMS:
            beams = self.searches.find(shape, self.transformer, source, limits_B, start)
            if beams is not None:
                return beams
        return super().run_search(shape, source, limits_B, start)

    def free_memory(self) -> None:
        """As in `Engine`: drops all captures."""
        if self.captures is not None:
            self.captures.made.clear()
        self.searches.made.clear()
        super().free_memory()
