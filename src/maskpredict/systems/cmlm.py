"""The conditional masked language model: the paper's system.

Training (section 2.2): mask a random number of target tokens, predict them all at once, and predict the target's length
from the LENGTH position of the encoder. Translating (section 3): mask-predict on a few length candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from maskpredict.decoding.candidates import Finished, candidate_lengths, likely_lengths, ranked
from maskpredict.decoding.drafts import pinned_draft, place_phrases, shortest_with, template_drafts
from maskpredict.decoding.finish import ENOUGH_FOR_A_GPU, Finisher
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.onnxruntime_passes import EncodedApart
from maskpredict.decoding.passes import Encoded
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens, pad, pad_rows
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.length import LengthHead
from maskpredict.model.onnxruntime_transformer import OnnxruntimeTransformer
from maskpredict.systems.base import Loss, Sharing, System, Vocabulary
from maskpredict.systems.captured_cmlm import Recordings
from maskpredict.systems.captured_shape import most_sentences
from maskpredict.systems.masking import masked_places, sample_masks


class CMLM(System):
    """Predicts any masked subset of the target from the source and the rest of the target."""

    name: ClassVar[str] = "cmlm"
    settings_type: ClassVar[type] = MaskPredictSettings
    loss_parts: ClassVar[tuple[str, ...]] = ("word", "length")
    works_in_passes: ClassVar[bool] = True
    reserves_slot: ClassVar[bool] = True

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__(config, vocabulary, label_smoothing)
        self.length = LengthHead(config.length_classes or config.max_positions, config.width)
        self.recordings = Recordings(self)

    def loss(self, batch: Batch) -> Loss:
        """Cross-entropy of the masked tokens, plus the length's, both summed (to be divided by the masked tokens)."""
        target, layout = batch.target.ids, batch.target.layout
        masked = sample_masks(layout)
        encoded, length_log_probs_BL, source = self.encode_tokens(batch.source)
        memory = self.transformer.memory(encoded)
        inputs = target.masked_fill(masked, self.special.mask)
        hidden = self.transformer.decode(inputs, layout, memory, source, causal=False)
        index_M, counted_M = masked_places(masked, layout)
        smooth, plain = self.word_loss(hidden.flatten(0, -2)[index_M], target.flatten()[index_M], counted_M)
        length = self.length_loss(length_log_probs_BL, layout)
        return Loss(smooth + length, counted_M.sum(), {"word": plain, "length": length})

    def length_loss(self, length_log_probs_BL: Tensor, target: Layout) -> Tensor:
        """Negative log-likelihood of the targets' lengths, summed."""
        own_length_B = length_log_probs_BL.gather(1, target.lengths_B[:, None])[:, 0]
        return -torch.where(target.valid_rows, own_length_B, 0.0).sum()

    def encode_tokens(self, source: Tokens) -> tuple[Tensor, Tensor, Layout]:
        """Encoder output and length log-probabilities; LENGTH itself is removed from what the decoder sees."""
        encoded = self.transformer.encode(source.ids, source.layout, slot=self.length.slot)
        length_log_probs_BL = self.length(pad_rows(source.layout.firsts(encoded)))[: len(source.layout.lengths_B)]
        rest, layout = source.layout.without_firsts(encoded)
        return rest, length_log_probs_BL, layout

    @property
    def sharing(self) -> Sharing:
        """As in `System`; any in eight bits."""
        return "any" if self.transformer.sentence_by_sentence else super().sharing

    def make_room(self) -> None:
        """Forget what was recorded; it can be recorded again."""
        self.recordings.made.clear()

    @torch.inference_mode()
    def encode(self, requests: Sequence[Request]) -> Encoded | EncodedApart:
        """Run the encoder on the sources."""
        if isinstance(self.transformer, OnnxruntimeTransformer):
            return self.encode_apart(self.transformer, [request.source for request in requests])
        source = pad([request.source for request in requests], self.special.pad, self.device, slot=True)
        encoded, length_log_probs_BL, layout = self.encode_tokens(source)
        assert isinstance(layout, Padded)
        return Encoded(self.transformer.memory(encoded), layout, length_log_probs_BL)

    def encode_apart(self, transformer: OnnxruntimeTransformer, sources: Sequence[Sequence[int]]) -> EncodedApart:
        """What `encode` does, by onnxruntime."""
        found = transformer.encode_each(sources, self.length, slot=True)
        length_log_probs_BL = np.stack([own.length_log_probs_L for own in found])
        return EncodedApart(transformer, found, torch.from_numpy(length_log_probs_BL))

    def translate(self, requests: Sequence[Request], settings: MaskPredictSettings) -> list[list[Hypothesis]]:
        """Mask-predict."""
        return self.start(requests, settings)()

    def start(self, requests: Sequence[Request], settings: MaskPredictSettings) -> Callable[[], list[list[Hypothesis]]]:
        """As in `System`: a recording is left to the GPU."""
        recorded = self.recordings.start(requests, settings) if self._records else None
        if recorded is None:
            found = self._step_by_step(requests, settings)
            return lambda: found

        def finish() -> list[list[Hypothesis]]:
            candidates = recorded()
            if candidates is None:
                return self._step_by_step(requests, settings)
            return [ranked(own, settings) for own in candidates]

        return finish

    def most_together(self, width: int, settings: MaskPredictSettings) -> int | None:
        """As in `System`: as many as are recorded."""
        return most_sentences(width, settings) if self._records else None

    @property
    def _records(self) -> bool:
        return self.recording and self.device.type == "cuda"

    @torch.inference_mode()
    def _step_by_step(self, requests: Sequence[Request], settings: MaskPredictSettings) -> list[list[Hypothesis]]:
        with self.transformer.at_work():
            return [ranked(own, settings) for own in self._candidates(requests, settings)]

    def _candidates(self, requests: Sequence[Request], settings: MaskPredictSettings) -> list[list[Finished]]:
        finisher = self._finisher(requests, settings)
        longest = self.config.max_positions - 1
        log_probs_BL = finisher.encoded.length_log_probs_BL
        lengths = candidate_lengths(log_probs_BL, settings.length_candidates, longest)
        likely = likely_lengths(log_probs_BL, lengths, settings.length_threshold)
        # Unlikely lengths are tried only where as many translations are asked for.
        tried = [own[: max(len(first), settings.num_hypotheses)] for own, first in zip(lengths, likely, strict=True)]
        drafts = [self._drafts(finisher, n, request, tried[n]) for n, request in enumerate(requests)]
        owner = [sentence for sentence, own in enumerate(drafts) for _ in own]
        candidates: list[list[Finished]] = [[] for _ in requests]
        at_hand_BL = log_probs_BL.cpu()
        for sentence, done in zip(owner, finisher.finish(list(chain(*drafts)), owner), strict=True):
            unlikely = len(done.ids) in tried[sentence][len(likely[sentence]) :]
            # What is imposed may be longer than any length that the model predicts.
            log_prob = float(at_hand_BL[sentence, min(len(done.ids), at_hand_BL.shape[1] - 1)])
            set_aside = done.set_aside or unlikely
            candidates[sentence].append(replace(done, set_aside=set_aside, length_log_prob=log_prob))
        return candidates

    @torch.inference_mode()
    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: MaskPredictSettings
    ) -> list[Hypothesis]:
        """Mask-predict at each target's length, charging every position with the probability of the given token the
        last time it was predicted: what `translate` reports when it arrives at these tokens itself."""
        drafts = [[self.special.mask] * len(target) for target in targets]
        with self.transformer.at_work():
            rows = self._finisher(requests, settings).finish(drafts, list(range(len(drafts))), given=targets)
        return [ranked([row], settings)[0] for row in rows]

    def _finisher(self, requests: Sequence[Request], settings: MaskPredictSettings) -> Finisher:
        at_least = ENOUGH_FOR_A_GPU if self.sharing == "alike" else 0
        return Finisher(self.transformer, self.encode(requests), self.special, settings, at_least)

    def _drafts(self, finisher: Finisher, sentence: int, request: Request, lengths: list[int]) -> list[list[int]]:
        """What to start from: one draft for each length candidate, with whatever the request imposes."""
        mask = self.special.mask
        if request.template is not None:
            drafts = template_drafts(request.template, lengths, mask, self.special.eos)
            self._refuse_length(min(map(len, drafts)))
            return [draft for draft in drafts if len(draft) < self.config.max_positions]
        if request.length is not None:
            lengths = [request.length]
        elif request.pins:
            lengths = list(dict.fromkeys(max(length, shortest_with(request.pins, mask)) for length in lengths))
        self._refuse_length(lengths[0])
        drafts = [pinned_draft(length, request.pins, mask) for length in lengths]
        phrases = [pin.ids for pin in request.pins if pin.place is None]
        if not phrases:
            return drafts
        return [place_phrases(draft, phrases, finisher.first_guess(draft, sentence), mask) for draft in drafts]

    def _refuse_length(self, length: int) -> None:
        longest = self.config.max_positions - 1
        if not 1 <= length <= longest:
            raise UserError(f"a target of {length} positions was asked for; this model has between 1 and {longest}.")
