"""Encoder and decoder of a system as functions of padded tensors, as other runtimes expect them.

Shape letters: B rows, S source positions, T target positions, D width, L lengths, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from maskpredict.errors import UserError
from maskpredict.model.layout import Padded
from maskpredict.systems.alignment import Alignment
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.systems.base import System
from maskpredict.systems.cmlm import CMLM


@dataclass(frozen=True)
class Encoding:
    """Output of the encoder."""

    memory_BSD: Tensor
    length_log_probs_BL: Tensor | None
    """Log probability of each target length; None unless the model is a CMLM."""


def refuse_other_systems(name: str, supported: Sequence[str]) -> None:
    """Raise `UserError` for a system that a format does not support."""
    if name not in supported:
        *others, last = supported
        raise UserError(
            f"a {name} model cannot be exported to this format; it supports {', '.join(others)} and {last} models."
        )


def encode(system: System, ids_BS: Tensor, lengths_B: Tensor) -> Encoding:
    """Run the encoder on sources that end with the end mark."""
    if not isinstance(system, CMLM):
        return Encoding(system.transformer.encode(ids_BS, Padded.of(lengths_B, ids_BS.shape[1])), None)
    with_slot = torch.cat([ids_BS[:, :1], ids_BS], 1)  # the id in the LENGTH slot has no effect
    layout = Padded.of(lengths_B + 1, with_slot.shape[1])
    encoded = system.transformer.encode(with_slot, layout, slot=system.length.slot)
    return Encoding(encoded[:, 1:], system.length(encoded[:, 0]))


def decode(system: System, ids_BT: Tensor, lengths_B: Tensor, memory_BSD: Tensor, source_lengths_B: Tensor) -> Tensor:
    """Logits [B, T, V] of one decoder pass.

    A CMLM takes a target with masks and predicts every position. So does an alignment model, whose target has k
    positions for each of the source, and BOS for a blank that was predicted; it predicts MASK for a blank. An
    autoregressive model takes BOS and the target so far, and predicts the next token after each position.
    """
    target = Padded.of(lengths_B, ids_BT.shape[1])
    source = Padded.of(source_lengths_B, memory_BSD.shape[1])
    layers = system.transformer.memory(memory_BSD)
    if isinstance(system, Alignment):
        states = system.add_words(system.split_states(memory_BSD)[:, : ids_BT.shape[1]], ids_BT)
        hidden = system.transformer.decode_states(states, target, layers, source, causal=False)
        return system.transformer.output(hidden)
    causal = isinstance(system, Autoregressive)
    return system.transformer.output(system.transformer.decode(ids_BT, target, layers, source, causal=causal))
