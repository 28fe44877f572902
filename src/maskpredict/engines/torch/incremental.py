"""The incremental state of an autoregressive decoder: its KV cache, and the source's keys and values.

Shape letters: B sentences, K beams, R = B * K rows, T positions, V vocabulary.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.model.batch import Tokens
from maskpredict.model.layout import Padded
from maskpredict.model.padding import round_up
from maskpredict.model.transformer import Memory, Transformer

CACHE_STEP = 16
"""Positions by which the KV cache grows."""


class Incremental:
    """The decoder's KV cache of each beam, and the source's keys and values.

    A beam that continues another one does not copy its keys and values. `slots_BKT` is the beam in whose slot of the
    cache a beam's keys and values are, at each position.
    """

    def __init__(self, transformer: Transformer, source: Tokens, beams: int, suppressed: Tensor) -> None:
        self.transformer, self.beams, self.suppressed = transformer, beams, suppressed
        assert isinstance(source.layout, Padded)
        self.source = source.layout
        self.memory = self.transformer.memory_for_steps(self.transformer.encode(source.ids, source.layout))
        self.caches = self.transformer.new_caches(len(source.ids), beams, CACHE_STEP)
        self.beams_K = torch.arange(beams, device=source.ids.device)
        self.slots_BKT = torch.full((len(source.ids), beams, CACHE_STEP), -1, device=source.ids.device)

    def advance(self, last_R: Tensor, origin_R: Tensor | None, time: int) -> Tensor:
        """Feed the last token of every row, and return the next logits [R, V]; see `beam_search.Advance`."""
        if origin_R is not None:
            self._follow(origin_R.view(-1, self.beams))
        if time == self.slots_BKT.shape[2]:
            self._grow()
        self.slots_BKT[:, :, time] = self.beams_K
        seen_BKTK = self.slots_BKT[:, :, : round_up(time + 1), None] == self.beams_K
        ids_BK = last_R.view(-1, self.beams)
        hidden = self.transformer.decode_step(ids_BK, time, self.caches, seen_BKTK.flatten(2), self.memory, self.source)
        return self.transformer.logits(hidden.flatten(0, 1)).index_fill_(1, self.suppressed, -math.inf)

    def _follow(self, origin_BK: Tensor) -> None:
        """Let each beam continue the given one of its sentence, and drop sentences that are not continued."""
        if len(origin_BK) < len(self.slots_BKT):
            stay_B = origin_BK[:, 0] // self.beams
            self.source, self.slots_BKT = self.source.select(stay_B), self.slots_BKT[stay_B]
            self.memory = [Memory(m.keys[stay_B], m.values[stay_B]) for m in self.memory]
            self.caches = [cache.select(stay_B) for cache in self.caches]
        from_BK1 = (origin_BK % self.beams)[:, :, None]
        self.slots_BKT = self.slots_BKT.gather(1, from_BK1.expand_as(self.slots_BKT))

    def _grow(self) -> None:
        """Extend the cache by a few positions, so that short translations stay cheap."""
        self.slots_BKT = F.pad(self.slots_BKT, (0, CACHE_STEP), value=-1)
        for cache in self.caches:
            cache.grow(CACHE_STEP)
