"""Decoder passes that onnxruntime makes: one run of its graph for each draft, down to the likeliest tokens.

Shape letters: B rows (drafts, sentences), T positions, M wanted positions, L lengths, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from maskpredict.decoding.best_tokens import Predicted
from maskpredict.model.layout import Padded
from maskpredict.model.onnxruntime_graph import Arrays
from maskpredict.model.onnxruntime_transformer import OnnxruntimeTransformer, Source


@dataclass(frozen=True)
class EncodedApart:
    """Sources after onnxruntime's encoder, each by itself, ready for any number of passes."""

    transformer: OnnxruntimeTransformer
    sources: list[Source]
    length_log_probs_BL: Tensor


class OnnxruntimePasses:
    """Passes over a group of drafts; `owner` says of which sentence each of them is."""

    def __init__(self, encoded: EncodedApart, owner: Sequence[int], layout: Padded) -> None:
        self.transformer = encoded.transformer
        self.lengths: list[int] = layout.lengths_B.tolist()
        self.memory = [encoded.sources[row].memory for row in owner]

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
        own_penalties = penalties(suppressed, self.transformer.target.tokens.num_embeddings)
        rows: list[Arrays] = []
        for row, end in enumerate(self.lengths):
            (places,) = wanted[row].nonzero()
            if len(places):
                own = {"ids": ids[row, :end], "wanted": places, "given": given[row, places, None]}
                rows.append({**own, "penalties": own_penalties, **self.memory[row]})
        return self.transformer.decoder_program.run(rows, outputs)


@lru_cache(maxsize=16)
def penalties(suppressed: tuple[int, ...], vocabulary: int) -> npt.NDArray[np.float32]:
    """What is added to the logits [V]."""
    penalties_V = np.zeros(vocabulary, np.float32)
    penalties_V[list(suppressed)] = -np.inf
    return penalties_V
