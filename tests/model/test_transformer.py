"""What the transformer may and may not look at."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from maskpredict.errors import UserError
from maskpredict.model.batch import Tokens, pad
from maskpredict.model.config import PRESETS, ModelConfig, preset
from maskpredict.model.layout import Packed, Padded
from maskpredict.model.parameter_shapes import parameter_shapes
from maskpredict.model.transformer import Transformer

MakeTransformer = Callable[..., Transformer]

SOURCES = [[5, 6, 7, 8, 2], [9, 10, 2], [11, 5, 12, 6, 7, 8, 9, 2]]
TARGETS = [[6, 7, 2], [8, 9, 10, 11, 5, 2], [7, 2]]
CPU = torch.device("cpu")
EVERY_SHAPE = pytest.mark.parametrize(
    "shape",
    [
        {"norm": "post"},
        {"norm": "pre"},
        {"activation": "relu"},
        {"scale_embeddings": True},
        {"embeddings": "target"},
        {"embeddings": "separate"},
    ],
    ids=str,
)


def hidden(transformer: Transformer, source: Tokens, target: Tokens, *, causal: bool = False) -> Tensor:
    memory = transformer.memory(transformer.encode(source.ids, source.layout))
    return transformer.decode(target.ids, target.layout, memory, source.layout, causal=causal)


def packed(rows: list[list[int]], padding: list[int]) -> Tokens:
    """Rows end to end, then rows of padding of these lengths."""
    lengths = torch.tensor([0, *map(len, rows), *padding])
    starts = lengths.cumsum(0).int()
    ids = torch.tensor([*(token for row in rows for token in row), *[0] * sum(padding)])
    return Tokens(ids, Packed.of(starts, torch.tensor(len(rows)), len(ids), 12))


def flat_rows(padded_BTD: Tensor, rows: list[list[int]]) -> Tensor:
    return torch.cat([padded_BTD[row, : len(ids)] for row, ids in enumerate(rows)])


@EVERY_SHAPE
@pytest.mark.parametrize("causal", [False, True])
def test_packed_rows_give_what_padded_rows_give_and_the_same_gradients(
    make_transformer: MakeTransformer, shape: dict[str, object], causal: bool
) -> None:
    transformer = make_transformer(**shape)
    weight = torch.randn(sum(map(len, TARGETS)), 16, generator=torch.Generator().manual_seed(2))
    outputs, gradients = [], []
    for source, target in (
        (pad(SOURCES, 0, CPU), pad(TARGETS, 0, CPU)),
        (packed(SOURCES, [4, 0, 0]), packed(TARGETS, [3, 3, 0])),
    ):
        out = hidden(transformer, source, target, causal=causal)
        real = flat_rows(out, TARGETS) if isinstance(target.layout, Padded) else out[target.layout.valid]
        transformer.zero_grad()
        (real * weight).sum().backward()
        outputs.append(real.detach())
        gradients.append({name: p.grad for name, p in transformer.named_parameters() if p.grad is not None})
    torch.testing.assert_close(outputs[0], outputs[1], rtol=1e-4, atol=1e-5)
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], rtol=1e-3, atol=1e-4, msg=name)


@EVERY_SHAPE
def test_padding_has_no_influence(make_transformer: MakeTransformer, shape: dict[str, object]) -> None:
    transformer = make_transformer(**shape)
    for causal in (False, True):
        together = hidden(transformer, pad(SOURCES, 0, CPU), pad(TARGETS, 0, CPU), causal=causal)
        other_padding = hidden(transformer, pad(SOURCES, 9, CPU), pad(TARGETS, 9, CPU), causal=causal)
        torch.testing.assert_close(flat_rows(together, TARGETS), flat_rows(other_padding, TARGETS), rtol=0, atol=0)
        for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
            alone = hidden(transformer, pad([source], 0, CPU), pad([target], 0, CPU), causal=causal)
            torch.testing.assert_close(together[row, : len(target)], alone[0, : len(target)], rtol=1e-4, atol=1e-5)


def test_a_causal_decoder_does_not_look_ahead(make_transformer: MakeTransformer) -> None:
    transformer = make_transformer()
    for place in range(1, 6):
        changed = list(TARGETS[1])
        changed[place] = 12
        one, other = (
            hidden(transformer, pad([SOURCES[0]], 0, CPU), pad([ids], 0, CPU), causal=True)[0]
            for ids in (TARGETS[1], changed)
        )
        assert torch.equal(one[:place], other[:place])
        assert not torch.allclose(one[place:6], other[place:6])


def test_a_decoder_that_is_not_causal_looks_at_the_whole_target(make_transformer: MakeTransformer) -> None:
    transformer = make_transformer()
    changed = [*TARGETS[1][:-1], 12]
    one, other = (
        hidden(transformer, pad([SOURCES[0]], 0, CPU), pad([ids], 0, CPU))[0] for ids in (TARGETS[1], changed)
    )
    assert (one[:6] - other[:6]).abs().amax(-1).min() > 1e-4


def test_the_decoder_looks_at_the_whole_source(make_transformer: MakeTransformer) -> None:
    transformer = make_transformer()
    for place in range(5):
        changed = list(SOURCES[0])
        changed[place] = 12
        one, other = (
            hidden(transformer, pad([ids], 0, CPU), pad([TARGETS[1]], 0, CPU))[0] for ids in (SOURCES[0], changed)
        )
        assert (one[:6] - other[:6]).abs().amax(-1).min() > 1e-4


@EVERY_SHAPE
def test_decoding_step_by_step_equals_the_whole_causal_pass(
    make_transformer: MakeTransformer, shape: dict[str, object]
) -> None:
    transformer = make_transformer(**shape)
    source, target = pad(SOURCES, 0, CPU), pad(TARGETS, 0, CPU)
    assert isinstance(source.layout, Padded)
    whole = hidden(transformer, source, target, causal=True)
    memory = transformer.memory(transformer.encode(source.ids, source.layout))
    caches = transformer.new_caches(len(SOURCES), 1, 8)
    for time in range(6):
        seen = (torch.arange(8) <= time).expand(len(SOURCES), 1, 8)
        step = transformer.decode_step(target.ids[:, time : time + 1], time, caches, seen, memory, source.layout)
        torch.testing.assert_close(step[:, 0], whole[:, time], rtol=1e-4, atol=1e-5)


def test_embedding_tables_are_shared_as_configured(make_transformer: MakeTransformer) -> None:
    tables = {
        kind: [t.source.tokens.weight, t.target.tokens.weight, t.output.weight]
        for kind in ("shared", "target", "separate")
        for t in [make_transformer(embeddings=kind)]
    }
    assert len({id(table) for table in tables["shared"]}) == 1
    assert len({id(table) for table in tables["target"]}) == 2
    assert tables["target"][1] is tables["target"][2]
    assert len({id(table) for table in tables["separate"]}) == 3


def test_post_norm_ends_in_a_layer_norm_and_pre_norm_adds_one(make_transformer: MakeTransformer) -> None:
    for norm in ("post", "pre"):
        transformer = make_transformer(norm=norm)
        for module in transformer.modules():
            if isinstance(module, nn.LayerNorm):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
        out = hidden(transformer, pad(SOURCES, 0, CPU), pad(TARGETS, 0, CPU))
        torch.testing.assert_close(out.mean(-1), torch.zeros(out.shape[:2]), rtol=0, atol=1e-5)
        torch.testing.assert_close(out.var(-1, unbiased=False), torch.ones(out.shape[:2]), rtol=1e-4, atol=1e-4)


def test_weights_start_normal_with_deviation_002_biases_at_zero_norms_at_one_and_zero() -> None:
    torch.manual_seed(3)
    transformer = Transformer(ModelConfig(width=64, hidden=128, heads=4, encoder_layers=1, decoder_layers=1), 200, 200)
    for name, parameter in transformer.named_parameters():
        if "norm" in name:
            assert torch.equal(parameter, torch.full_like(parameter, float(name.endswith("weight")))), name
        elif name.endswith("bias"):
            assert not parameter.any(), name
        else:
            assert float(parameter.detach().std()) == pytest.approx(0.02, rel=0.1), name
            assert abs(float(parameter.detach().mean())) < 0.002, name


def test_dropout_is_active_in_training_only(make_transformer: MakeTransformer) -> None:
    transformer = make_transformer(dropout=0.5)
    source, target = pad(SOURCES, 0, CPU), pad(TARGETS, 0, CPU)
    assert torch.equal(hidden(transformer, source, target), hidden(transformer, source, target))
    transformer.train()
    assert not torch.equal(hidden(transformer, source, target), hidden(transformer, source, target))


@pytest.mark.parametrize(
    ("name", "width", "hidden_size", "heads"),
    [("small", 512, 512, 8), ("base", 512, 2048, 8), ("large", 1024, 4096, 16)],
)
def test_presets_are_the_papers_sizes_with_the_authors_choices(
    name: str, width: int, hidden_size: int, heads: int
) -> None:
    config = PRESETS[name]
    assert (config.width, config.hidden, config.heads) == (width, hidden_size, heads)
    assert (config.encoder_layers, config.decoder_layers) == (6, 6)
    assert (config.norm, config.activation, config.norm_epsilon) == ("post", "gelu", 1e-12)
    assert (config.scale_embeddings, config.embeddings, config.dropout) == (False, "shared", 0.3)


def test_a_compact_alignment_model_takes_less_than_twelve_megabytes_in_eight_bits() -> None:
    shapes = parameter_shapes("alignment", PRESETS["compact"], 8_000, 8_000)
    assert shapes is not None
    assert sum(math.prod(shape) for shape in shapes.values()) < 11.2e6  # the vocabulary's file takes the rest


def test_a_preset_can_be_changed_and_mistakes_are_named() -> None:
    assert preset("base", {"norm": "pre"}).norm == "pre"
    with pytest.raises(UserError, match="no model preset 'bsae'; choose one of tiny, compact, small, base, large"):
        preset("bsae", {})
    with pytest.raises(UserError, match=r"did you mean 'model\.dropout'"):
        preset("base", {"dropuot": 0.1})
    with pytest.raises(UserError, match=r"model\.width 100 must be a multiple of model\.heads 8"):
        preset("base", {"width": 100})
    with pytest.raises(UserError, match=r"max_positions is 30; use a multiple of 8"):
        preset("base", {"max_positions": 30})
