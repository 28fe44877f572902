"""The alignment model: its loss given a part of the alignment, what it sees, and how it translates and scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Gap, Pin, Request
from maskpredict.decoding.settings import AlignmentSettings, OnePassSettings
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens, pad
from maskpredict.model.layout import Padded
from maskpredict.model.module_weights import load_weights, weights_of
from maskpredict.systems.alignment import Alignment, AlignmentOptions, RevealConfig, Revealed
from maskpredict.systems.base import System
from maskpredict.training.engine import mixed_precision

CPU = torch.device("cpu")
BOS, EOS, BLANK = 1, 2, 4
SUPPRESSED = (0, BOS, BLANK)
SOURCES = [[5, 6, 7, 2], [8, 9, 10, 11, 12, 2], [13, 2], [2]]
TARGETS = [[6, 7, 2], [8, 9, 9, 11, 5, 19, 18, 2], [2], [5, 6, 7, 2]]
"""The last has four words and its source three positions in all."""

HIDDEN, PARTIAL, GLANCING = (
    RevealConfig(partial=0.0, glancing=0.0),
    RevealConfig(partial=1.0, glancing=0.0),
    RevealConfig(partial=0.0, glancing=1.0, glancing_from=1.0, glancing_to=0.5),
)


@pytest.fixture
def model(make_system: Callable[..., System]) -> Alignment:
    system = make_system("alignment", seed=2)
    assert isinstance(system, Alignment)
    system.options = AlignmentOptions(reveal=PARTIAL)
    return system


@pytest.fixture
def decoder(model: Alignment, decoder_of: Callable[[System], Decoder]) -> Decoder:
    return decoder_of(model)


def batch() -> Batch:
    return Batch(pad(SOURCES, 0, CPU), pad(TARGETS, 0, CPU))


def collapsed(tokens: list[int]) -> list[int]:
    """The words of an alignment, whose blanks are MASK."""
    return [token for place, token in enumerate(tokens) if token != BLANK and tokens[:place][-1:] != [token]]


def record_reveals(monkeypatch: pytest.MonkeyPatch) -> list[Revealed]:
    """Returns a list that gets what the loss reveals, as it is drawn."""
    seen: list[Revealed] = []
    draw = Alignment._revealed

    def drawing(*arguments: object) -> Revealed:
        seen.append(draw(*arguments))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr(Alignment, "_revealed", drawing)
    return seen


def log_probs_given(model: Alignment, source: list[int], shown: Sequence[int | None]) -> torch.Tensor:
    """Log-probabilities [T, V] of one sentence, for what its positions show, as a decoder pass sees it."""
    encoding = model.encode(pad([source], 0, CPU))
    draft = [BLANK if token is None else BOS if token == BLANK else token for token in shown]
    layout = Padded.of(torch.tensor([len(draft)]), len(draft))
    inputs = model.decoder_inputs(encoding, torch.tensor([draft]), layout, torch.tensor([0]))
    hidden = model.transformer.decode_states(inputs, layout, encoding.memory, encoding.layout, causal=False)
    return model.transformer.output(hidden[0]).log_softmax(-1)


def test_the_loss_sums_over_the_alignments_that_agree_with_what_is_shown(
    model: Alignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    reveals = record_reveals(monkeypatch)
    torch.manual_seed(5)
    loss = model.loss(batch())
    (revealed,) = reveals
    expected, partly = 0.0, 0
    for row, (source, target) in enumerate(zip(SOURCES[:3], TARGETS[:3], strict=True)):
        positions = 3 * len(source)
        tokens = revealed.tokens[row, :positions].tolist()
        is_shown = revealed.shown[row, :positions].tolist()
        assert collapsed(tokens) == target  # the best alignment is one of the target
        partly += 0 < sum(is_shown) < positions
        shown = [token if is_shown[place] else None for place, token in enumerate(tokens)]
        log_probs_TV = log_probs_given(model, source, shown)
        expected -= brute_force(log_probs_TV, target, shown)
    assert partly >= 2
    assert float(loss.total.detach()) == pytest.approx(expected, rel=1e-4)
    assert int(loss.count) == 3 + 8 + 1


def brute_force(log_probs_TV: torch.Tensor, target: list[int], shown: list[int | None]) -> float:
    """The logarithm of the summed probability of the hidden positions, over alignments one by one.

    Goes from left to right and keeps, for each prefix of alignments that collapses to the same words and ends in the
    same token, the sum of their probabilities.
    """
    prefixes: dict[tuple[tuple[int, ...], int], float] = {((), BLANK): 0.0}
    for place, given in enumerate(shown):
        longer: dict[tuple[tuple[int, ...], int], float] = {}
        choices = {BLANK, *target} if given is None else {given}
        for ((words, last), total), token in product(prefixes.items(), choices):
            said = words if token in (BLANK, last) else (*words, token)
            if list(said) == target[: len(said)]:
                score = total + (log_probs_TV[place, token].item() if given is None else 0.0)
                before = longer.get((said, token), -math.inf)
                longer[said, token] = float(torch.logaddexp(torch.tensor(before), torch.tensor(score)))
        prefixes = longer
    ends = torch.tensor([total for (words, _), total in prefixes.items() if list(words) == target])
    return float(ends.logsumexp(0))


def test_fully_hidden_it_is_ctc_with_the_same_weights(
    model: Alignment,
    make_system: Callable[..., System],
    decoder_of: Callable[[System], Decoder],
    sources: list[tuple[int, ...]],
) -> None:
    ctc, requests = make_system("ctc", seed=3), [Request(source) for source in sources]
    load_weights(model, weights_of(ctc))
    model.options = AlignmentOptions(reveal=HIDDEN)
    torch.testing.assert_close(model.loss(batch()).total, ctc.loss(batch()).total)
    one_pass = AlignmentSettings(iterations=1, suppress_tokens=SUPPRESSED)
    expected = decoder_of(ctc).translate(requests, OnePassSettings(suppress_tokens=SUPPRESSED))
    actual = decoder_of(model).translate(requests, one_pass)
    assert [best.ids for (best,) in actual] == [best.ids for (best,) in expected]
    assert [best.score for (best,) in actual] == [best.score for (best,) in expected]


def test_partly_revealed_sentences_show_any_number_of_positions_but_all(
    model: Alignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    reveals = record_reveals(monkeypatch)
    counts = set()
    for seed in range(60):
        torch.manual_seed(seed)
        model.loss(Batch(pad([[13, 2]], 0, CPU), pad([[13, 2]], 0, CPU)))
        counts.add(int(reveals[-1].shown.sum()))
    assert counts == set(range(6))  # of 3 * 2 positions


def test_glancing_shows_a_share_of_what_is_wrong_that_falls_during_the_run(
    model: Alignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.options, reveals = AlignmentOptions(reveal=GLANCING), record_reveals(monkeypatch)
    model.train()
    shown = []
    for progress in (0.0, 0.5, 1.0):
        model.set_progress(progress)
        model.loss(batch())
        shown.append(reveals[-1].shown.sum(1)[:2])
    with torch.no_grad():
        wrong_B = torch.stack([torch.tensor(wrong_positions(model, row)) for row in range(2)])
    assert (wrong_B > 4).all()
    for counts_B, share in zip(shown, (1.0, 0.75, 0.5), strict=True):
        assert counts_B.tolist() == (share * wrong_B).long().tolist()


def wrong_positions(model: Alignment, row: int) -> int:
    """How many positions of a sentence have another token than the best alignment of its target, in one pass."""
    log_probs_TV = log_probs_given(model, SOURCES[row], [None] * 3 * len(SOURCES[row]))
    target = TARGETS[row]
    ways: dict[tuple[tuple[int, ...], int], tuple[float, list[int]]] = {((), BLANK): (0.0, [])}
    for log_probs_V in log_probs_TV.tolist():
        longer: dict[tuple[tuple[int, ...], int], tuple[float, list[int]]] = {}
        for ((words, last), (total, path)), token in product(ways.items(), {BLANK, *target}):
            said = words if token in (BLANK, last) else (*words, token)
            if list(said) == target[: len(said)]:
                way = (total + log_probs_V[token], [*path, token])
                longer[said, token] = max(longer.get((said, token), way), way)
        ways = longer
    _, best = max(way for (words, _), way in ways.items() if list(words) == target)
    return sum(token != guess for token, guess in zip(best, log_probs_TV.argmax(-1).tolist(), strict=True))


def test_validation_glances_at_nothing(model: Alignment, monkeypatch: pytest.MonkeyPatch) -> None:
    model.options, reveals = AlignmentOptions(reveal=GLANCING), record_reveals(monkeypatch)
    model.loss(batch())
    assert not reveals[-1].shown.any()


def test_shares_that_add_up_to_more_than_one_are_refused() -> None:
    with pytest.raises(UserError, match="add up to more than 1"):
        RevealConfig(partial=0.6, glancing=0.5)


@torch.inference_mode()
@pytest.mark.parametrize("settings", [{"iterations": 3}, {"iterations": 4, "strategy": "blocks"}, {"iterations": "N"}])
def test_a_pass_predicts_the_hidden_positions_from_the_others(
    model: Alignment, decoder: Decoder, sources: list[tuple[int, ...]], settings: dict[str, object]
) -> None:
    chosen = AlignmentSettings(**settings, suppress_tokens=SUPPRESSED, trace=True)  # type: ignore[arg-type]
    for source in sources[:8]:
        ((best,),) = decoder.translate([Request(source)], chosen)
        assert best.trace is not None
        (candidate,) = best.trace.candidates
        before = [BLANK] * candidate.length
        assert candidate.length == 3 * len(source)
        for step in candidate.passes:
            shown = [None if masked else old for masked, old in zip(step.masked, before, strict=True)]
            as_said = [BLANK if token == BOS else token for token in shown]
            log_probs_TV = log_probs_given(model, list(source), as_said)
            log_probs_TV[:, [0, BOS]] = -math.inf
            for place, masked in enumerate(step.masked):
                likeliest = int(log_probs_TV[place].argmax())
                assert step.ids[place] == ((BOS if likeliest == BLANK else likeliest) if masked else before[place])
            before = step.ids
        said = [BLANK if token == BOS else token for token in before]
        assert best.ids == collapsed(said)


@torch.inference_mode()
def test_given_the_whole_alignment_a_score_is_that_of_the_translation(
    decoder: Decoder, sources: list[tuple[int, ...]]
) -> None:
    settings = AlignmentSettings(iterations=1, suppress_tokens=SUPPRESSED)
    requests = [Request(source) for source in sources]
    translated = [best for (best,) in decoder.translate(requests, settings)]
    for best, again in zip(
        translated, decoder.score(requests, [best.ids for best in translated], settings), strict=True
    ):
        assert again.ids == best.ids
        assert again.score == pytest.approx(best.score, abs=1e-5)


@torch.inference_mode()
def test_pinned_words_are_kept_together_and_said_once(decoder: Decoder, sources: list[tuple[int, ...]]) -> None:
    phrase, word = (17, 18, 18), (17,)
    request = [Request(source, pins=(Pin(word), Pin(phrase))) for source in sources if len(source) > 3]
    for (best,) in decoder.translate(request, AlignmentSettings(iterations=4, suppress_tokens=SUPPRESSED)):
        starts = [place for place in range(len(best.ids)) if tuple(best.ids[place : place + 3]) == phrase]
        assert starts
        assert best.ids.count(17) >= 2  # the word stands for itself, beside the phrase
        assert EOS not in best.ids[: starts[-1]]


@torch.inference_mode()
def test_a_template_begins_goes_on_and_ends_as_given(decoder: Decoder, sources: list[tuple[int, ...]]) -> None:
    settings = AlignmentSettings(iterations=3, suppress_tokens=SUPPRESSED)
    long = [source for source in sources if len(source) > 3]
    for (best,) in decoder.translate([Request(s, template=((7, 7), Gap(), (9,))) for s in long], settings):
        ids = best.ids[: best.ids.index(EOS)]
        assert ids[:2] == [7, 7]
        assert ids[-1] == 9
    for (best,) in decoder.translate([Request(s, template=(Gap(), (9, 8), Gap())) for s in long], settings):
        assert (9, 8) in zip(best.ids, best.ids[1:], strict=False)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request((5, 2), length=3), "cannot keep to a length"),
        (Request((5, 2), pins=(Pin((5,), 1),)), "choose the places of pinned words"),
        (Request((5, 2), template=((5,), Gap(2))), "choose the sizes of gaps"),
        (Request((2,), pins=(Pin((5, 6, 7, 8)),)), "pinned words do not fit the 3 positions"),
        (Request((2,), template=((5, 6), Gap(), (7,))), "template does not fit the 3 positions"),
    ],
)
def test_what_alignments_do_not_have_is_refused(decoder: Decoder, request_: Request, words: str) -> None:
    with pytest.raises(UserError, match=words):
        decoder.translate([request_], AlignmentSettings())


def test_a_target_that_does_not_fit_is_refused(decoder: Decoder) -> None:
    with pytest.raises(UserError, match="4 subwords is too long for its source"):
        decoder.score([Request((2,))], [[5, 6, 7, 2]], AlignmentSettings())


def test_a_sentence_that_shows_all_its_positions_costs_nothing(
    model: Alignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Alignment, "_shown_counts", lambda self, layout, wrong_N: layout.lengths_B)
    loss = model.loss(batch())
    loss.total.backward()
    assert float(loss.total.detach()) == 0.0
    assert int(loss.count) == 3 + 8 + 1  # its words count, so that an update's mean does not depend on what is shown
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


@pytest.mark.parametrize("reveal", [HIDDEN, PARTIAL], ids=["hidden", "partial"])
def test_in_half_precision_the_sum_is_as_exact_as_the_logits(model: Alignment, reveal: RevealConfig) -> None:
    model.options = AlignmentOptions(reveal=reveal)
    losses = []
    for dtype in (torch.float32, torch.bfloat16):
        torch.manual_seed(4)
        with mixed_precision(CPU, dtype):
            loss = model.loss(batch())
        assert loss.total.dtype == torch.float32
        loss.total.backward()
        losses.append(float(loss.total.detach()))
    assert losses[1] == pytest.approx(losses[0], rel=0.05)
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_there_is_one_translation() -> None:
    with pytest.raises(UserError, match="one translation of a sentence"):
        AlignmentSettings(num_hypotheses=2)


def test_packed_rows_have_the_loss_of_padded_ones(model: Alignment, pack: Callable[..., Tokens]) -> None:
    model.options = AlignmentOptions(reveal=HIDDEN)
    packed = Batch(pack(SOURCES[:3], [3, 0]), pack(TARGETS[:3], [5, 0]))
    padded = Batch(pad(SOURCES[:3], 0, CPU), pad(TARGETS[:3], 0, CPU))
    torch.testing.assert_close(model.loss(packed).total, model.loss(padded).total, rtol=1e-5, atol=1e-4)


def test_packed_rows_reveal_alignments_of_their_targets(
    model: Alignment, pack: Callable[..., Tokens], monkeypatch: pytest.MonkeyPatch
) -> None:
    reveals = record_reveals(monkeypatch)
    torch.manual_seed(3)
    loss = model.loss(Batch(pack(SOURCES[:3], [3, 0]), pack(TARGETS[:3], [5, 0])))
    (revealed,) = reveals
    ends = torch.tensor([3 * len(source) for source in SOURCES[:3]]).cumsum(0).tolist()
    for start, end, target in zip([0, *ends], ends, TARGETS, strict=False):
        assert collapsed(revealed.tokens[start:end].tolist()) == target
    assert revealed.shown.any()
    assert not revealed.shown[ends[-1] :].any()
    loss.total.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_a_training_step_can_be_compiled_in_one_piece(model: Alignment, pack: Callable[..., Tokens]) -> None:
    model.options = AlignmentOptions(reveal=RevealConfig(partial=0.4, glancing=0.4))
    model.train()
    model.set_progress(0.3)
    packed = Batch(pack(SOURCES, [3, 0]), pack(TARGETS, [5, 0]))
    compiled = torch.compile(lambda: model.loss(packed).total, fullgraph=True, backend="aot_eager")
    torch.manual_seed(1)
    expected = model.loss(packed).total
    torch.manual_seed(1)
    torch.testing.assert_close(compiled(), expected)


def test_a_compiled_step_follows_the_falling_share_without_compiling_again(
    model: Alignment, pack: Callable[..., Tokens]
) -> None:
    model.options = AlignmentOptions(reveal=GLANCING)
    model.train()
    graphs = []

    def backend(graph: torch.fx.GraphModule, _: list[Tensor]) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    step = torch.compile(lambda batch: model.loss(batch).total, fullgraph=True, dynamic=False, backend=backend)
    packed = Batch(pack(SOURCES, [3, 0]), pack(TARGETS, [5, 0]))
    losses = []
    for progress in (0.0, 0.5, 1.0):
        model.set_progress(progress)
        torch.manual_seed(1)
        losses.append(float(step(packed).detach()))
        torch.manual_seed(1)
        assert losses[-1] == pytest.approx(float(model.loss(packed).total.detach()), rel=1e-5)
    assert len(graphs) == 1
    assert len(set(losses)) == 3
