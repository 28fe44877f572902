"""PyTorch's int8 kernels on an x86 CPU with AVX2: the fastest engine for autoregressive models there."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from maskpredict.decoding.engine import BatchPolicy
from maskpredict.engines.int8.linear import Int8Linear
from maskpredict.engines.int8.transformer import Int8HiddenStates, Int8Transformer
from maskpredict.engines.torch.engine import TorchEngine
from maskpredict.engines.torch.loading import empty_system
from maskpredict.engines.torch.passes import HiddenStates
from maskpredict.model.folder import ModelFolder
from maskpredict.model.layout import Padded
from maskpredict.model.module_weights import shapes_of, take_weights
from maskpredict.model.parameter_shapes import check_weights
from maskpredict.model.stored_weights import Weights, int8_matrix
from maskpredict.systems.base import EncoderOutput, System
from maskpredict.systems.cmlm import CMLM
from maskpredict.systems.ctc import CTC
from maskpredict.systems.fairseq_cmlm import FairseqCMLM


class Int8Engine(TorchEngine):
    """A system whose matrix products are in int8, with one scale per row of the input."""

    name = "int8"

    def __init__(self, system: System) -> None:
        """`system` is what `load_int8_system` returns."""
        self.system = system.eval()
        self.config, self.special = system.config, system.special
        self.device, self.compute_type = "cpu", "int8"
        self.threads = torch.get_num_threads()
        # Padding does not change their results, except the mean in fairseq's length head.
        unpadded = isinstance(system, CMLM | CTC) and not isinstance(system, FairseqCMLM)
        self.batch_policy = BatchPolicy.ANY if unpadded else BatchPolicy.SAME_WIDTH

    def hidden_states(self, encoding: EncoderOutput, owner: Sequence[int], target: Padded) -> HiddenStates:
        """As in `TorchEngine`, without padding."""
        if not self.system.decodes_tokens:
            return super().hidden_states(encoding, owner, target)
        assert isinstance(self.transformer, Int8Transformer)
        assert isinstance(encoding.layout, Padded)
        return Int8HiddenStates(self.transformer, encoding.memory, encoding.layout, owner, target)


def load_int8_system(contents: ModelFolder) -> System:
    """Return a model folder's system with its linear layers in int8."""
    system = empty_system(contents)
    fill_in_int8(system, contents.weights)
    system.transformer = Int8Transformer(system.transformer)
    return system.eval()


def fill_in_int8(module: nn.Module, weights: Weights) -> None:
    """Give a module on the meta device its weights, and replace its linear layers by int8 ones."""
    check_weights(weights, shapes_of(module))
    names: dict[Tensor, str] = {parameter: name for name, parameter in module.named_parameters()}
    for part in list(module.modules()):
        for place, linear in list(part.named_children()):
            if isinstance(linear, nn.Linear):
                matrix = int8_matrix(weights, names[linear.weight])
                bias = None if linear.bias is None else torch.as_tensor(weights[names[linear.bias]])
                part.add_module(place, Int8Linear(matrix, bias))
    take_weights(module, {name: weights[name] for name, _ in module.named_parameters()})
