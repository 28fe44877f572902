"""Decoder passes that onnxruntime makes: one run of its graph for each draft, down to the likeliest tokens.

Shape letters: B rows (drafts), T positions, S source positions, M wanted positions, H heads, K head size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from maskpredict.decoding.best_tokens import Predicted
from maskpredict.model.layout import Padded
from maskpredict.model.onnxruntime_graphs import memory_names
from maskpredict.model.onnxruntime_transformer import Arrays, OnnxruntimeTransformer
from maskpredict.model.transformer import Memory


class OnnxruntimePasses:
    """Passes over a group of drafts; `owner` says of which sentence each of them is."""

    def __init__(
        self,
        transformer: OnnxruntimeTransformer,
        memory: list[Memory],
        source: Padded,
        owner: Sequence[int],
        layout: Padded,
    ) -> None:
        self.transformer = transformer
        self.lengths: list[int] = layout.lengths_B.tolist()
        sources: list[int] = source.lengths_B.tolist()
        of_sentence = {row: _of_sentence(memory, row, sources[row]) for row in set(owner)}
        self.memory = [of_sentence[row] for row in owner]

    def logits(self, ids_BT: Tensor, wanted_BT: Tensor, suppressed: tuple[int, ...]) -> Iterator[Tensor]:
        """As in `Passes`."""
        for found in self._run(ids_BT, wanted_BT, suppressed, torch.zeros_like(ids_BT), ["logits"]):
            yield torch.from_numpy(found["logits"])

    def predict(
        self, ids_BT: Tensor, wanted_BT: Tensor, suppressed: tuple[int, ...], given_BT: Tensor | None
    ) -> Predicted:
        """As in `Passes`."""
        names = ["token", "log_prob"] + ([] if given_BT is None else ["given_log_prob"])
        given = torch.zeros_like(ids_BT) if given_BT is None else given_BT
        found = self._run(ids_BT, wanted_BT, suppressed, given, names)
        return Predicted(*(torch.from_numpy(np.concatenate([own[name][:, 0] for own in found])) for name in names))

    def _run(
        self, ids_BT: Tensor, wanted_BT: Tensor, suppressed: tuple[int, ...], given_BT: Tensor, outputs: list[str]
    ) -> list[Arrays]:
        ids, wanted, given = ids_BT.numpy(), wanted_BT.numpy(), given_BT.numpy()
        penalties = _penalties(suppressed, self.transformer.target.tokens.num_embeddings)
        rows: list[Arrays] = []
        for row, end in enumerate(self.lengths):
            (places,) = wanted[row].nonzero()
            if len(places):
                own = {"ids": ids[row, :end], "wanted": places, "given": given[row, places, None]}
                rows.append({**own, "penalties": penalties, **self.memory[row]})
        return self.transformer.decoder_program.run(rows, outputs)


@lru_cache(maxsize=16)
def _penalties(suppressed: tuple[int, ...], vocabulary: int) -> npt.NDArray[np.float32]:
    """What is added to the logits [V]."""
    penalties_V = np.zeros(vocabulary, np.float32)
    penalties_V[list(suppressed)] = -np.inf
    return penalties_V


def _of_sentence(memory: list[Memory], row: int, end: int) -> Arrays:
    """Keys and values of one sentence, [1, H, S, K], under the names that the decoder's graph has for them."""
    found: Arrays = {}
    for depth, own in enumerate(memory):
        for name, values_BSHK in zip(memory_names(depth), (own.keys, own.values), strict=True):
            found[name] = values_BSHK[row : row + 1, :end].transpose(1, 2).contiguous().numpy()
    return found
