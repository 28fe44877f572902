"""The transformer that onnxruntime runs against the plain one, and against itself in other company."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from maskpredict.engines.onnxruntime.passes import EncodedApart, OnnxruntimePasses
from maskpredict.engines.onnxruntime.sessions import OnnxruntimeTransformer, is_available
from maskpredict.model.folder import own_weights, take_weights
from maskpredict.model.layout import Padded
from maskpredict.model.length import LengthHead
from maskpredict.model.meta_init import unfilled
from maskpredict.model.transformer import Transformer

pytestmark = pytest.mark.skipif(not is_available(), reason="it takes onnxruntime")

SOURCES, TARGETS = [9, 1, 30, 17, 8], [5, 2, 31, 8, 20]
SHAPES: list[dict[str, Any]] = [
    {"norm": "pre"},
    {"norm": "post", "activation": "relu"},
    {"norm": "pre", "embeddings": "target", "scale_embeddings": True},
    {"norm": "post", "embeddings": "separate"},
]


@pytest.fixture(autouse=True)
def threads_put_back() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def by_onnxruntime(plain: Transformer, threads: int = 1) -> OnnxruntimeTransformer:
    with unfilled():
        empty = Transformer(plain.config, 13, 13)
    take_weights(empty, own_weights(plain), int8=True)
    return OnnxruntimeTransformer(empty.eval(), threads)


def tokens(lengths: list[int], width: int, seed: int) -> tuple[Tensor, Padded]:
    """Random ids, and other ones for filling than the other call with another width would have."""
    chance = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 13, (len(lengths), 32), generator=chance)[:, :width]
    return ids, Padded.of(torch.tensor(lengths), width)


def logits_of(passes: OnnxruntimePasses, ids: Tensor, wanted: Tensor) -> Tensor:
    return torch.cat(list(passes.logits(ids, wanted, ())))


def rows_of(ids: Tensor, lengths: list[int]) -> list[list[int]]:
    return [ids[row, :length].tolist() for row, length in enumerate(lengths)]


def length_head() -> LengthHead:
    head = LengthHead(21, 64)
    torch.nn.init.normal_(head.table.weight, generator=torch.Generator().manual_seed(4))
    return head


def encoded_by(transformer: OnnxruntimeTransformer, *, slot: bool = False) -> EncodedApart:
    """All of the sources."""
    sources = rows_of(tokens(SOURCES, 32, seed=1)[0], SOURCES)
    return EncodedApart(transformer, transformer.encode_each(sources, length_head(), slot=slot), torch.empty(0))


def passes_of(transformer: OnnxruntimeTransformer, target: Padded) -> OnnxruntimePasses:
    """Passes over a target for each of the sources."""
    return OnnxruntimePasses(encoded_by(transformer), range(5), target)


def error(got: Tensor, wanted: Tensor) -> float:
    return float((got - wanted).norm() / wanted.norm())


@torch.inference_mode()
@pytest.mark.parametrize("slot", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_computes_what_the_plain_transformer_does(
    make_transformer: Callable[..., Transformer], shape: dict[str, Any], slot: bool
) -> None:
    plain = make_transformer(width=64, hidden=128, heads=4, **shape)
    other = by_onnxruntime(plain)
    front, head = int(slot), length_head()
    source_ids, _ = tokens(SOURCES, 32, seed=1)
    target_ids, target = tokens(TARGETS, 32, seed=2)
    found = encoded_by(other, slot=slot)
    hidden = []
    for row, ids in enumerate(rows_of(source_ids, SOURCES)):
        # What stands in the place of the slot does not matter.
        with_slot = torch.tensor([[0] * front + ids])
        source = Padded.of(torch.tensor([with_slot.shape[1]]), with_slot.shape[1])
        encoded = plain.encode(with_slot, source, slot=head.slot if slot else None)
        own = found.sources[row]
        assert error(torch.from_numpy(own.encoded_SD), encoded[0]) < 0.05
        # From the same vector, what the length head itself finds.
        lengths = head(torch.from_numpy(own.encoded_SD[:1]))[0]
        torch.testing.assert_close(torch.from_numpy(own.length_log_probs_L), lengths)
        behind = encoded[:, front:]
        own_source = Padded.of(torch.tensor([behind.shape[1]]), behind.shape[1])
        own_target = Padded.of(torch.tensor([TARGETS[row]]), TARGETS[row])
        own_ids = target_ids[row : row + 1, : TARGETS[row]]
        hidden.append(plain.decode(own_ids, own_target, plain.memory(behind), own_source, causal=False)[0])
    passes = OnnxruntimePasses(found, range(5), target)
    assert error(logits_of(passes, target_ids, target.valid), plain.output(torch.cat(hidden))) < 0.1


@torch.inference_mode()
def test_the_largest_sums_do_not_overflow(make_transformer: Callable[..., Transformer]) -> None:
    plain = make_transformer(width=64, hidden=128, heads=4, norm="pre", embeddings="separate")
    assert isinstance(plain.decoder_norm, torch.nn.LayerNorm)
    torch.nn.init.zeros_(plain.decoder_norm.weight)
    torch.nn.init.ones_(plain.decoder_norm.bias)
    torch.nn.init.constant_(plain.output.weight, 0.5)
    ids, target = tokens(TARGETS, 32, seed=2)
    logits = logits_of(passes_of(by_onnxruntime(plain), target), ids, target.valid)
    torch.testing.assert_close(logits, torch.full_like(logits, 32.0), rtol=0.01, atol=0.0)


@torch.inference_mode()
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_sentence_comes_out_the_same_in_any_company(
    make_transformer: Callable[..., Transformer], norm: str, threads: int
) -> None:
    plain = make_transformer(width=64, hidden=128, heads=4, norm=norm)
    one, several = by_onnxruntime(plain), by_onnxruntime(plain, threads)
    source_ids, _ = tokens(SOURCES, 32, seed=1)
    target_ids, target = tokens(TARGETS, 32, seed=2)
    encoded = encoded_by(one)
    together = logits_of(OnnxruntimePasses(encoded, range(5), target), target_ids, target.valid)
    for row, expected in enumerate(together.split(TARGETS)):
        width = -(-TARGETS[row] // 8) * 8
        own_target = Padded.of(torch.tensor([TARGETS[row]]), width)
        own = several.encode_each([source_ids[row, : SOURCES[row]].tolist()], length_head(), slot=False)
        assert (own[0].encoded_SD == encoded.sources[row].encoded_SD).all()
        assert (own[0].length_log_probs_L == encoded.sources[row].length_log_probs_L).all()
        alone = OnnxruntimePasses(EncodedApart(several, own, torch.empty(0)), [0], own_target)
        assert torch.equal(logits_of(alone, target_ids[row : row + 1, :width], own_target.valid), expected)


@torch.inference_mode()
def test_drafts_of_one_sentence_share_its_memory_and_rows_without_wishes_are_left_out(
    make_transformer: Callable[..., Transformer],
) -> None:
    other = by_onnxruntime(make_transformer(width=64, hidden=128, heads=4, norm="pre"))
    target_ids, target = tokens(TARGETS, 32, seed=2)
    encoded = encoded_by(other)
    owner = [2, 2, 0, 4, 2]
    wanted = target.valid & (torch.arange(32) % 3 != 1)
    wanted[1] = wanted[3] = False
    shared = OnnxruntimePasses(encoded, owner, target)
    everything = iter(logits_of(shared, target_ids, wanted).split([int(wanted[row].sum()) for row in (0, 2, 4)]))
    for row in (0, 2, 4):
        own = Padded.of(target.lengths_B[row : row + 1], 32)
        alone = OnnxruntimePasses(encoded, owner[row : row + 1], own)
        assert torch.equal(logits_of(alone, target_ids[row : row + 1], wanted[row : row + 1]), next(everything))


@torch.inference_mode()
def test_the_best_tokens_are_those_of_the_logits_that_are_not_suppressed(
    make_transformer: Callable[..., Transformer],
) -> None:
    other = by_onnxruntime(make_transformer(width=64, hidden=128, heads=4, norm="pre"))
    target_ids, target = tokens(TARGETS, 32, seed=2)
    passes = passes_of(other, target)
    logits = logits_of(passes, target_ids, target.valid)
    for suppressed in ((), (0, 1, 4), tuple(logits.argmax(1).unique()[:2].tolist())):
        expected = logits.index_fill(1, torch.tensor(suppressed, dtype=torch.long), float("-inf")).log_softmax(1)
        found = passes.predict(target_ids, target.valid, suppressed, target_ids)
        assert torch.equal(found.tokens_M, expected.argmax(1))
        torch.testing.assert_close(found.log_probs_M, expected.amax(1))
        given = expected.gather(1, target_ids[target.valid][:, None])[:, 0]
        torch.testing.assert_close(found.given_log_probs_M, given)


@torch.inference_mode()
def test_of_equally_likely_tokens_the_first_is_taken(make_transformer: Callable[..., Transformer]) -> None:
    plain = make_transformer(width=64, hidden=128, heads=4, embeddings="separate")
    plain.output.weight[9] = plain.output.weight[3] = plain.output.weight[7] * 2
    other = by_onnxruntime(plain)
    target_ids, target = tokens(TARGETS, 32, seed=2)
    passes = passes_of(other, target)
    found = passes.predict(target_ids, target.valid, (), None)
    assert (found.tokens_M == 3).any()
    assert not (found.tokens_M == 9).any()
    assert found.given_log_probs_M is None


def test_pytorch_has_one_thread_while_it_is_at_work(make_transformer: Callable[..., Transformer]) -> None:
    other = by_onnxruntime(make_transformer(width=64, hidden=128, heads=4), threads=2)
    seen = []

    def fail() -> None:
        with other.at_work():
            seen.append(torch.get_num_threads())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [*seen, torch.get_num_threads()] == [1, 2]


@torch.inference_mode()
def test_weights_are_let_go_when_every_session_has_its_copy(make_transformer: Callable[..., Transformer]) -> None:
    other = by_onnxruntime(make_transformer(width=64, hidden=128, heads=4), threads=2)
    rows = rows_of(tokens([4, 9], 16, seed=1)[0], [4, 9])
    (one,) = other.encode_each(rows[:1], length_head(), slot=False)
    assert other.source_program.weights
    both = other.encode_each(rows, length_head(), slot=False)
    assert not other.source_program.weights
    assert (both[0].encoded_SD == one.encoded_SD).all()


def test_graphs_with_the_same_weights_share_them(make_transformer: Callable[..., Transformer]) -> None:
    other = by_onnxruntime(make_transformer(width=64, hidden=128, heads=4))
    passes, drafts = other.decoder_program.weights, other.draft_program.weights
    assert passes.keys() == drafts.keys()
    assert all(drafts[name] is values for name, values in passes.items())
