"""A system's encoder and decoder as plain functions of padded tensors, which is how other programs know them.

Shape letters: B rows, S source positions, T target positions, D width, L lengths, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from maskpredict.errors import UserError
from maskpredict.model.layout import Padded
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.systems.base import System
from maskpredict.systems.cmlm import CMLM


@dataclass(frozen=True)
class Encoding:
    """What the encoder makes of the sources."""

    memory_BSD: Tensor
    length_log_probs_BL: Tensor | None
    """Of each target length, from a CMLM."""


def refuse_other_systems(name: str) -> None:
    """Say so when a model is of a system that cannot be had as these two passes."""
    known = (CMLM.name, Autoregressive.name)
    if name not in known:
        raise UserError(f"a {name} model cannot be exported to this format; it takes {' and '.join(known)} models.")


def encode(system: System, ids_BS: Tensor, lengths_B: Tensor) -> Encoding:
    """Run the encoder on sources that end with the end mark."""
    if not isinstance(system, CMLM):
        return Encoding(system.transformer.encode(ids_BS, Padded.of(lengths_B, ids_BS.shape[1])), None)
    with_slot = torch.cat([ids_BS[:, :1], ids_BS], 1)  # which id stands in LENGTH's place makes no difference
    layout = Padded.of(lengths_B + 1, with_slot.shape[1])
    encoded = system.transformer.encode(with_slot, layout, slot=system.length.slot)
    return Encoding(encoded[:, 1:], system.length(encoded[:, 0]))


def decode(system: System, ids_BT: Tensor, lengths_B: Tensor, memory_BSD: Tensor, source_lengths_B: Tensor) -> Tensor:
    """Logits [B, T, V] of one decoder pass.

    A CMLM takes a target with masks and answers for every position; an autoregressive model takes BOS and the target so
    far, and answers with what comes next after each position.
    """
    target = Padded.of(lengths_B, ids_BT.shape[1])
    source = Padded.of(source_lengths_B, memory_BSD.shape[1])
    layers = system.transformer.memory(memory_BSD)
    causal = isinstance(system, Autoregressive)
    return system.transformer.output(system.transformer.decode(ids_BT, target, layers, source, causal=causal))
