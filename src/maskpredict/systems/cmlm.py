"""The conditional masked language model: the paper's system.

Training (section 2.2): mask a random number of target tokens, predict them all at once, and predict the target's length
from the LENGTH position of the encoder. Translating (section 3): mask-predict on a few length candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from maskpredict.decoding.candidates import candidate_lengths
from maskpredict.decoding.drafts import has_room, pinned_draft, shortest_with, template_drafts
from maskpredict.decoding.hypothesis import Hypothesis, Pin, Request
from maskpredict.decoding.mask_predict import Decoded, mask_predict
from maskpredict.decoding.strategies import STRATEGIES, Iterations
from maskpredict.decoding.trace import CandidateTrace, Pass, Trace
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens, pad, pad_rows, round_up
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.length import LengthHead
from maskpredict.model.transformer import Memory
from maskpredict.systems.base import Loss, System, Vocabulary


@dataclass(frozen=True)
class MaskPredictSettings:
    """How a CMLM translates."""

    iterations: Iterations = 10
    """Decoder passes T; "N" takes as many as the target has tokens."""
    length_candidates: int = 5
    """Target lengths tried side by side; the most confident result is kept."""
    strategy: str = "mask_predict"
    """Order in which the target is filled in: mask_predict, one_shot, easy_first or left_to_right."""
    stop_when_stable: bool = False
    """End a sentence's passes as soon as one of them changes nothing."""
    threshold: float | None = None
    """Do not mask tokens again whose probability is at least this; a sentence without others is finished."""
    num_hypotheses: int = 1
    """How many of the length candidates to return, best first."""
    suppress_tokens: tuple[int, ...] = ()
    """Ids that are never produced."""
    trace: bool = False
    """Record every pass."""

    def __post_init__(self) -> None:
        if self.iterations != "N" and self.iterations < 1:
            raise UserError(f'iterations is {self.iterations}; use 1 or more, or "N" for one per token.')
        if self.length_candidates < 1:
            raise UserError(f"length_candidates is {self.length_candidates}; use 1 or more.")
        if self.num_hypotheses < 1:
            raise UserError(f"num_hypotheses is {self.num_hypotheses}; use 1 or more.")
        if self.strategy not in STRATEGIES:
            raise UserError(f"there is no strategy '{self.strategy}'; choose one of {', '.join(STRATEGIES)}.")
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UserError(f"threshold is {self.threshold}; it is a probability above 0 and at most 1.")
        if (self.threshold is not None or self.stop_when_stable) and self.strategy != "mask_predict":
            raise UserError(f"early exit (threshold, stop_when_stable) is for mask_predict, not for {self.strategy}.")


@dataclass(frozen=True)
class Encoded:
    """Sources after the encoder, ready for any number of decoder passes."""

    memory: list[Memory]
    layout: Padded
    length_log_probs_BL: Tensor

    def select(self, rows: Tensor) -> tuple[list[Memory], Padded]:
        """Memory and layout of these rows, which may repeat."""
        return [Memory(m.keys[rows], m.values[rows]) for m in self.memory], self.layout.select(rows)


@dataclass(frozen=True)
class _Row:
    """One finished draft."""

    ids: list[int]
    log_probs: list[float]
    score: float
    passes: int
    history: list[Pass]


class CMLM(System):
    """Predicts any masked subset of the target from the source and the rest of the target."""

    name: ClassVar[str] = "cmlm"
    settings_type: ClassVar[type] = MaskPredictSettings
    loss_parts: ClassVar[tuple[str, ...]] = ("word", "length")
    reserves_slot: ClassVar[bool] = True

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__(config, vocabulary, label_smoothing)
        self.length = LengthHead(config.max_positions, config.width)

    def loss(self, batch: Batch) -> Loss:
        """Cross-entropy of the masked tokens, plus the length's, both summed (to be divided by the masked tokens)."""
        target, layout = batch.target.ids, batch.target.layout
        masked = sample_masks(layout)
        encoded, length_log_probs, source = self._encode(batch.source)
        memory = self.transformer.memory(encoded)
        inputs = target.masked_fill(masked, self.special.mask)
        hidden = self.transformer.decode(inputs, layout, memory, source, causal=False)
        index_M, counted_M = masked_places(masked, layout)
        smooth, plain = self.word_loss(hidden.flatten(0, -2)[index_M], target.flatten()[index_M], counted_M)
        own_length_B = length_log_probs.gather(1, layout.lengths_B[:, None])[:, 0]
        length = -torch.where(layout.valid_rows, own_length_B, 0.0).sum()
        return Loss(smooth + length, counted_M.sum(), {"word": plain, "length": length})

    def _encode(self, source: Tokens) -> tuple[Tensor, Tensor, Layout]:
        """Encoder output and length log-probabilities; LENGTH itself is removed from what the decoder sees."""
        encoded = self.transformer.encode(source.ids, source.layout, slot=self.length.slot)
        length_log_probs_BL = self.length(pad_rows(source.layout.firsts(encoded)))[: len(source.layout.lengths_B)]
        rest, layout = source.layout.without_firsts(encoded)
        return rest, length_log_probs_BL, layout

    @torch.inference_mode()
    def encode(self, requests: Sequence[Request]) -> Encoded:
        """Run the encoder on the sources."""
        source = pad([request.source for request in requests], self.special.pad, self.device, slot=True)
        encoded, length_log_probs_BL, layout = self._encode(source)
        assert isinstance(layout, Padded)
        return Encoded(self.transformer.memory(encoded), layout, length_log_probs_BL)

    @torch.inference_mode()
    def translate(self, requests: Sequence[Request], settings: MaskPredictSettings) -> list[list[Hypothesis]]:
        """Mask-predict."""
        encoded = self.encode(requests)
        drafts = self._drafts(requests, encoded, settings)
        owner = [sentence for sentence, own in enumerate(drafts) for _ in own]
        rows = self._decode([draft for own in drafts for draft in own], owner, encoded, settings)
        grouped: list[list[_Row]] = [[] for _ in requests]
        for sentence, row in zip(owner, rows, strict=True):
            grouped[sentence].append(row)
        return [_ranked(own, settings) for own in grouped]

    def _drafts(
        self, requests: Sequence[Request], encoded: Encoded, settings: MaskPredictSettings
    ) -> list[list[list[int]]]:
        """What to start from, for each request: one draft per length candidate."""
        longest = self.config.max_positions - 1
        predicted = candidate_lengths(encoded.length_log_probs_BL, settings.length_candidates, longest)
        return [
            self._request_drafts(request, lengths, sentence, encoded, settings)
            for sentence, (request, lengths) in enumerate(zip(requests, predicted, strict=True))
        ]

    def _refuse_length(self, length: int) -> None:
        longest = self.config.max_positions - 1
        if not 1 <= length <= longest:
            raise UserError(f"a target of {length} positions was asked for; this model has between 1 and {longest}.")

    def _request_drafts(
        self,
        request: Request,
        lengths: list[int],
        sentence: int,
        encoded: Encoded,
        settings: MaskPredictSettings,
    ) -> list[list[int]]:
        mask, eos = self.special.mask, self.special.eos
        if request.template is not None:
            drafts = template_drafts(request.template, lengths, mask, eos)
            self._refuse_length(min(map(len, drafts)))
            return [draft for draft in drafts if len(draft) < self.config.max_positions]
        if request.length is not None:
            lengths = [request.length]
        else:
            lengths = list(dict.fromkeys(max(length, shortest_with(request.pins, mask)) for length in lengths))
        self._refuse_length(lengths[0])
        drafts = [pinned_draft(length, request.pins, mask) for length in lengths]
        floating = [pin for pin in request.pins if pin.place is None]
        return [self._place(draft, floating, sentence, encoded, settings) for draft in drafts] if floating else drafts

    def _place(
        self,
        draft: list[int],
        pins: list[Pin],
        sentence: int,
        encoded: Encoded,
        settings: MaskPredictSettings,
    ) -> list[int]:
        """Write each phrase where the model, seeing the draft as it is, finds it likeliest; longest phrases first."""
        log_probs_TV = self._log_probs(draft, sentence, encoded, settings)
        ordered = sorted(pins, key=lambda pin: -len(pin.ids))
        for number, pin in enumerate(ordered, 1):
            width, later = len(pin.ids), [len(other.ids) for other in ordered[number:]]
            starts = [
                start
                for start in range(len(draft) - width)
                if all(token == self.special.mask for token in draft[start : start + width])
                and has_room([*draft[:start], *pin.ids, *draft[start + width :]], later, self.special.mask)
            ]
            if not starts:
                raise UserError("the pinned words leave no room for each other; pin fewer or shorter ones.")
            fit = {start: sum(float(log_probs_TV[start + i, t]) for i, t in enumerate(pin.ids)) for start in starts}
            best = max(starts, key=lambda start: fit[start])
            draft[best : best + width] = pin.ids
        return draft

    def _log_probs(self, draft: list[int], sentence: int, encoded: Encoded, settings: MaskPredictSettings) -> Tensor:
        tokens = pad([draft], self.special.pad, self.device)
        memory, source = encoded.select(torch.tensor([sentence], device=self.device))
        hidden = self.transformer.decode(tokens.ids, tokens.layout, memory, source, causal=False)
        return self.suppress(self.transformer.output(hidden[0]).float(), settings.suppress_tokens).log_softmax(-1)

    def _decode(
        self,
        drafts: list[list[int]],
        owner: list[int],
        encoded: Encoded,
        settings: MaskPredictSettings,
        given: Sequence[Sequence[int]] | None = None,
    ) -> list[_Row]:
        """Finish drafts of sentences `owner`; rows of one padded width are decoded together.

        With `given`, the result is those tokens and the probability each had when its position was last predicted.
        """
        finished: dict[int, _Row] = {}
        widths = [round_up(len(draft)) for draft in drafts]
        for width in sorted(set(widths)):
            group = [row for row, own in enumerate(widths) if own == width]
            memory, source = encoded.select(torch.tensor([owner[row] for row in group], device=self.device))
            watched = given and [given[row] for row in group]
            rows = self._decode_group([drafts[row] for row in group], memory, source, settings, watched)
            finished.update(zip(group, rows, strict=True))
        return [finished[row] for row in range(len(drafts))]

    def _decode_group(
        self,
        drafts: list[list[int]],
        memory: list[Memory],
        source: Padded,
        settings: MaskPredictSettings,
        given: Sequence[Sequence[int]] | None,
    ) -> list[_Row]:
        tokens = pad(drafts, self.special.pad, self.device)
        free_BT = (tokens.ids == self.special.mask) & tokens.layout.valid
        # An end mark in front of given words would cut them off.
        before_given_BT = (tokens.layout.valid & ~free_BT).flip(1).cumsum(1).flip(1) > 0
        plan = STRATEGIES[settings.strategy]
        forced_BT = pad(given, self.special.pad, self.device).ids if given else None
        forced_log_probs_BT = torch.zeros(tokens.ids.shape, device=self.device)

        def predict(inputs_BT: Tensor, masked_BT: Tensor) -> tuple[Tensor, Tensor]:
            hidden_BTD = self.transformer.decode(inputs_BT, tokens.layout, memory, source, causal=False)
            # Only masked positions need the vocabulary, by far the largest matrix product.
            logits_MV = self.transformer.output(pad_rows(hidden_BTD[masked_BT]))[: masked_BT.sum()].float()
            logits_MV = self.suppress(logits_MV, settings.suppress_tokens)
            logits_MV[before_given_BT[masked_BT], self.special.eos] = float("-inf")
            norm_M = logits_MV.logsumexp(-1)
            best = logits_MV.max(-1)
            if forced_BT is not None:
                wanted_M1 = forced_BT[masked_BT][:, None]
                forced_log_probs_BT[masked_BT] = logits_MV.gather(1, wanted_M1)[:, 0] - norm_M
            tokens_BT, log_probs_BT = inputs_BT.clone(), torch.zeros(inputs_BT.shape, device=self.device)
            tokens_BT[masked_BT], log_probs_BT[masked_BT] = best.indices, best.values - norm_M
            return tokens_BT, log_probs_BT

        history: list[tuple[Tensor, Decoded]] = []
        result = mask_predict(
            predict,
            tokens.ids,
            free_BT,
            plan.count(free_BT.sum(1), settings.iterations),
            self.special.mask,
            strategy=plan.strategy,
            stop_when_stable=settings.stop_when_stable,
            threshold=settings.threshold,
            watch=(lambda masked_BT, decoded: history.append((masked_BT, decoded))) if settings.trace else None,
        )
        if forced_BT is not None:
            result = Decoded(forced_BT, forced_log_probs_BT, result.passes_B)
        return _rows(result, free_BT, [len(draft) for draft in drafts], history)

    @torch.inference_mode()
    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: MaskPredictSettings
    ) -> list[Hypothesis]:
        """Mask-predict at each target's length, charging every position with the probability of the given token the
        last time it was predicted: what `translate` reports when it arrives at these tokens itself."""
        encoded = self.encode(requests)
        drafts = [[self.special.mask] * len(target) for target in targets]
        rows = self._decode(drafts, list(range(len(requests))), encoded, settings, given=targets)
        return [_ranked([row], settings)[0] for row in rows]


def sample_masks(layout: Layout) -> Tensor:
    """For each sentence n ~ Uniform{1..N}, then a uniform subset of n of its N tokens; True where masked."""
    lengths_B = torch.where(layout.valid_rows, layout.lengths_B, 0)
    count_B = (torch.rand(lengths_B.shape, device=lengths_B.device) * lengths_B).long() + 1
    rows, valid = layout.rows.flatten(), layout.valid.flatten()
    # Sorting by row + random number shuffles every sentence in place; float64 keeps the fraction exact enough.
    shuffle = rows + torch.rand(rows.shape, device=rows.device, dtype=torch.float64)
    order = shuffle.masked_fill(~valid, float("inf")).argsort()
    first_B = lengths_B.cumsum(0) - lengths_B
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device) - first_B[rows[order]]
    return ((rank < count_B[rows]) & valid).view(layout.valid.shape)


def masked_places(masked: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Flat indices of the masked tokens, and 1.0 for each that counts.

    Padded batches give exactly the masked places. Packed ones need a fixed number: half of the tokens are masked on
    average, and with a margin of a few standard deviations none is left out in practice.
    """
    flat = masked.flatten()
    if isinstance(layout, Padded):
        index = flat.nonzero()[:, 0]
        return index, torch.ones(len(index), device=flat.device)
    return _first_masked(flat, budget=round_up((len(flat) + len(layout.lengths_B)) // 2 + len(flat) // 32, 128))


def _first_masked(flat: Tensor, budget: int) -> tuple[Tensor, Tensor]:
    place = (flat.cumsum(0) - 1).masked_fill(~flat, budget).clamp(max=budget)
    index = torch.zeros(budget + 1, dtype=torch.long, device=flat.device)
    index.scatter_(0, place, torch.arange(len(flat), device=flat.device))
    counted = torch.arange(budget, device=flat.device) < flat.sum()
    return index[:budget], counted.float()


def _rows(result: Decoded, free_BT: Tensor, lengths: list[int], history: list[tuple[Tensor, Decoded]]) -> list[_Row]:
    """Tensors of a group as one `_Row` for each draft; pinned positions do not enter the score."""
    scores = (result.log_probs_BT * free_BT).sum(1) / free_BT.sum(1).clamp(min=1)
    tokens, log_probs, passes = (
        result.tokens_BT.tolist(),
        result.log_probs_BT.tolist(),
        result.passes_B.tolist(),
    )
    steps = [(m.tolist(), d.tokens_BT.tolist(), d.log_probs_BT.exp().tolist()) for m, d in history]
    return [
        _Row(
            tokens[row][:length],
            log_probs[row][:length],
            score,
            passes[row],
            [Pass(m[row][:length], t[row][:length], p[row][:length]) for m, t, p in steps[: passes[row]]],
        )
        for row, (length, score) in enumerate(zip(lengths, scores.tolist(), strict=True))
    ]


def _ranked(rows: list[_Row], settings: MaskPredictSettings) -> list[Hypothesis]:
    """A sentence's candidates as hypotheses, best first, the earlier candidate on a tie."""
    order = sorted(range(len(rows)), key=lambda index: -rows[index].score)
    lengths = tuple(len(row.ids) for row in rows)
    candidates = [CandidateTrace(len(row.ids), row.score, row.history) for row in rows] if settings.trace else []
    return [
        Hypothesis(
            rows[index].ids,
            rows[index].log_probs,
            rows[index].score,
            rows[index].passes,
            lengths,
            Trace(candidates, index) if settings.trace else None,
        )
        for index in order[: settings.num_hypotheses]
    ]
