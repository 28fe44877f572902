"""Weights in PyTorch modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from maskpredict.engines.int8.engine import fill_in_int8
from maskpredict.errors import UserError
from maskpredict.model.meta_init import meta_init
from maskpredict.model.module_weights import take_weights, weights_of
from maskpredict.model.transformer import Transformer

Take = Callable[[Any, Any], None]


def test_a_module_without_weights_takes_them(make_transformer: Callable[..., Transformer]) -> None:
    full = make_transformer()
    with meta_init():
        empty = Transformer(full.config, 13, 13)
    assert all(parameter.is_meta for parameter in empty.parameters())
    take_weights(empty, weights_of(full))
    assert not any(parameter.is_meta for parameter in empty.parameters())
    own = dict(full.named_parameters())
    assert all(torch.equal(parameter, own[name]) for name, parameter in empty.named_parameters())
    assert empty.source.tokens.weight is empty.target.tokens.weight
    assert empty.output.weight is empty.target.tokens.weight


@pytest.mark.parametrize("take", [take_weights, fill_in_int8])
def test_weights_that_do_not_fit_are_refused(make_transformer: Callable[..., Transformer], take: Take) -> None:
    weights = weights_of(make_transformer())
    with meta_init():
        other = Transformer(make_transformer(hidden=8).config, 13, 13)
        deeper = Transformer(make_transformer(encoder_layers=3).config, 13, 13)
    with pytest.raises(UserError, match=r"has shape \[32, 16\], expected \[8, 16\]"):
        take(other, weights)
    with pytest.raises(UserError, match=r"missing encoder\.2\."):
        take(deeper, weights)
