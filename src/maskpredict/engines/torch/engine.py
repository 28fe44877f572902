"""The general engine: PyTorch on any device, in float32 or half precision.

Shape letters: B rows, T positions, L lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from maskpredict.decoding.beam import longest_target
from maskpredict.decoding.engine import BatchPolicy, CausalEngine, split_groups
from maskpredict.decoding.hypothesis import Hypothesis
from maskpredict.decoding.settings import BeamSettings
from maskpredict.engines.torch.beam_search import Beams, Search, SearchShape, beam_search
from maskpredict.engines.torch.incremental import Incremental
from maskpredict.engines.torch.passes import HiddenStates, PaddedHiddenStates, TorchPasses
from maskpredict.engines.torch.target_scores import hypotheses_of, target_log_probs
from maskpredict.errors import UserError
from maskpredict.model.batch import Tokens, pad
from maskpredict.model.layout import Padded
from maskpredict.model.padding import round_up
from maskpredict.model.transformer import Transformer
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.systems.base import EncoderOutput, System

T = TypeVar("T")

GPU_GROUP_POSITIONS = 16_384
"""Positions of drafts from which the kernels take longer to run than Python takes to launch them."""
MAX_BATCH_TOKENS = 262_144
"""Largest default batch on a GPU; a larger one is hardly faster."""
BYTES_PER_TOKEN = 100_000
"""GPU memory per token of a batch, measured for a search with five beams, which needs most."""
GPU_WINDOW = 8_192
"""`Engine.window` on a GPU."""

StartSearch = Callable[[Transformer, Tokens, Tensor, int], Search]
"""(model, sources, longest length of each target, the longest of all) -> a search before its first step."""


class TorchEngine(CausalEngine):
    """A system's PyTorch module on a device."""

    name = "torch"

    def __init__(self, system: System, device: str = "cpu", compute_type: str = "float32") -> None:
        self.system = system.to(torch.device(device), getattr(torch, compute_type)).eval()
        self.config, self.special = system.config, system.special
        self.device, self.compute_type = device, compute_type
        self.threads = torch.get_num_threads()
        if self.system.device.type == "cuda":
            half = compute_type in ("float16", "bfloat16")
            self.batch_policy = BatchPolicy.SIMILAR_WIDTH if half else BatchPolicy.SAME_WIDTH
            self.batch_tokens = gpu_batch_tokens(self.system.device)
            self.window = GPU_WINDOW
            self.out_of_memory = (torch.OutOfMemoryError,)
        else:
            self.batch_policy = BatchPolicy.SAME_WIDTH

    @property
    def transformer(self) -> Transformer:
        """The system's transformer."""
        return self.system.transformer

    def working(self) -> AbstractContextManager[None]:
        """As in `Engine`: without gradients."""
        return torch.inference_mode()

    def free_memory(self) -> None:
        """As in `Engine`."""
        torch.cuda.empty_cache()

    @torch.inference_mode()
    def encode(self, sources: Sequence[Sequence[int]]) -> EncodedSources:
        """As in `Engine`."""
        source = pad(sources, self.special.pad, self.system.device, slot=self.system.reserves_slot)
        encoding = self.system.encode(source)
        assert isinstance(encoding.layout, Padded)
        return EncodedSources(self, encoding)

    def hidden_states(self, encoding: EncoderOutput, owner: Sequence[int], target: Padded) -> HiddenStates:
        """Return a function that runs the decoder over drafts of this layout."""
        return PaddedHiddenStates(self.system, encoding, owner, target)

    @torch.inference_mode()
    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], settings: BeamSettings
    ) -> list[list[Hypothesis]]:
        """As in `CausalEngine`."""
        # Except in int8, the number of rows is a multiple of model.padding.ROWS; the added sentences are dropped.
        rows = len(sources) if self.transformer.sentence_by_sentence else round_up(len(sources))
        missing = rows - len(sources)
        source = pad([*sources, *[sources[-1]] * missing], self.special.pad, self.system.device)
        limits_B = torch.tensor([*limits, *[limits[-1]] * missing], device=self.system.device)
        source_width = source.ids.shape[1]
        suppressed = torch.tensor(settings.suppress_tokens, dtype=torch.long, device=self.system.device)

        def start(transformer: Transformer, source: Tokens, limits_B: Tensor, width: int) -> Search:
            layout = Padded.of(source.layout.lengths_B, source_width)
            decoder = Incremental(transformer, Tokens(source.ids, layout), settings.beam_size, suppressed)
            return self.search_kind(transformer, settings.beam_size)(
                decoder.advance,
                rows,
                width,
                beams=settings.beam_size,
                limits_B=limits_B,
                bos=self.special.bos,
                eos=self.special.eos,
                length_penalty=settings.length_penalty,
            )

        width = longest_target(source_width, settings, self.config.max_positions)
        shape = SearchShape(rows, source_width, width, settings)
        beams = self.run_search(shape, source, limits_B, start)
        return hypotheses_of(beams, settings.num_hypotheses, self.special.eos)[: len(sources)]

    def search_kind(self, transformer: Transformer, beams: int) -> type[Search]:
        """Return the class that implements a beam search's steps."""
        return Search

    def run_search(self, shape: SearchShape, source: Tokens, limits_B: Tensor, start: StartSearch) -> Beams:
        """Run a beam search to its end."""
        return beam_search(start(self.transformer, source, limits_B, int(limits_B.max())))

    @torch.inference_mode()
    def target_log_probs(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], suppress: tuple[int, ...]
    ) -> list[list[float]]:
        """As in `CausalEngine`."""
        assert isinstance(self.system, Autoregressive)
        return target_log_probs(self.system, sources, targets, suppress)


@dataclass(frozen=True)
class EncodedSources:
    """Sources after the encoder."""

    engine: TorchEngine
    encoding: EncoderOutput

    @property
    def length_log_probs_BL(self) -> npt.NDArray[np.float32]:
        """As in `Encoded`."""
        if self.encoding.length_log_probs_BL is None:
            raise UserError(f"{self.engine.system.name} models do not predict target lengths.")
        return self.encoding.length_log_probs_BL.float().numpy(force=True)

    @property
    def positions(self) -> list[int]:
        """As in `Encoded`."""
        if self.encoding.positions_B is None:
            raise UserError(f"{self.engine.system.name} models have no fixed number of target positions.")
        counts: list[int] = self.encoding.positions_B.tolist()
        return counts

    @property
    def fertility_log_probs(self) -> list[npt.NDArray[np.float32]]:
        """As in `EncodedWithFertilities`."""
        if self.encoding.fertility_log_probs_BSC is None:
            raise UserError(f"{self.engine.system.name} models do not predict fertilities.")
        log_probs_BSC = self.encoding.fertility_log_probs_BSC.float().numpy(force=True)
        lengths: list[int] = self.encoding.layout.lengths_B.tolist()
        return [log_probs_SC[:length] for log_probs_SC, length in zip(log_probs_BSC, lengths, strict=True)]

    def groups(self, lengths: Sequence[int]) -> list[list[int]]:
        """As in `Encoded`: drafts of one padded width; on a GPU in half precision, of similar width."""
        if self.engine.transformer.sentence_by_sentence and self.engine.system.decodes_tokens:
            return split_groups([list(range(len(lengths)))], lengths)
        if self.engine.batch_policy is BatchPolicy.SIMILAR_WIDTH:
            return groups_by_width(lengths, GPU_GROUP_POSITIONS)
        groups = groups_by_width(lengths)
        return split_groups(groups, lengths) if self.engine.device == "cpu" else groups

    def passes(self, owner: Sequence[int], lengths: Sequence[int]) -> TorchPasses:
        """As in `Encoded`."""
        target = Padded.of(torch.tensor(list(lengths), device=self.engine.system.device), round_up(max(lengths)))
        hidden = self.engine.hidden_states(self.encoding, owner, target)
        return TorchPasses(self.engine.transformer, hidden, target, self.engine.special.eos)


def gpu_batch_tokens(device: torch.device) -> int:
    """Return the default batch size on a GPU, which takes up to a quarter of its memory."""
    memory = torch.cuda.get_device_properties(device).total_memory
    return min(MAX_BATCH_TOKENS, memory // 4 // BYTES_PER_TOKEN)


def groups_by_width(lengths: Sequence[int], at_least: int = 0) -> list[list[int]]:
    """Group rows by padded width, the widest first; narrower ones join until a group has `at_least` positions."""
    widths = [round_up(length) for length in lengths]
    groups: list[list[int]] = []
    for width in sorted(set(widths), reverse=True):
        rows = [row for row, other in enumerate(widths) if other == width]
        if groups and len(groups[-1]) * widths[groups[-1][0]] < at_least:
            groups[-1] += rows
        else:
            groups.append(rows)
    return groups
