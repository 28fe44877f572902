"""Hugging Face transformers' `generate`, the engine that most people know, with our model as one of its own classes."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from maskpredict.bench.racers.bart_equivalent import to_bart
from maskpredict.bench.racers.base import FULL_PRECISION, LENGTH_PENALTY, ComputeSettings, Entry, RacedModel
from maskpredict.errors import UserError

PRECISIONS = ("float32", "float16", "bfloat16")
"""What PyTorch's own layers compute in, and so `generate`."""


class TransformersRacer:
    """Our model as BART or mBART, tokenized by us and decoded by `generate` as it comes."""

    def __init__(self, entry: Entry, load_bart: Callable[[], Any], model: RacedModel, beams: int) -> None:
        self.entry, self.model = entry, model
        self._open = load_bart
        self._source, self._target = model.contents.tokenizers.source, model.contents.tokenizers.target
        self._options: dict[str, Any] = {"do_sample": False, "num_beams": beams}
        if beams > 1:  # our searches end, too, when there are as many finished translations as beams
            self._options |= {"early_stopping": True, "length_penalty": LENGTH_PENALTY}

    def prepare(self, sentences: Sequence[str]) -> None:
        """Build the model."""
        self._bart = self._open()
        self.translate(sentences[:1])

    @torch.inference_mode()
    def translate(self, batch: Sequence[str]) -> list[str]:
        """Translate all at once."""
        special = self._source.special
        rows = [torch.tensor([*self._source.encode(text), special.eos]) for text in batch]
        ids = pad_sequence(rows, batch_first=True, padding_value=special.pad).to(self._bart.device)
        longest = self.model.longest_translation(ids.shape[1] - 1)
        mask = (ids != special.pad).long()
        found = self._bart.generate(input_ids=ids, attention_mask=mask, max_new_tokens=longest, **self._options)
        return [self._target.decode(row) for row in found.tolist()]


def transformers_racers(model: RacedModel, track: ComputeSettings, beams: Sequence[int]) -> Iterator[TransformersRacer]:
    """A model with each beam size in each compute type of `PRECISIONS` that is raced, or in float32."""
    for compute_type in [own for own in track.compute_types if own in PRECISIONS] or [FULL_PRECISION]:
        opened = cache(partial(_open, model, track, compute_type))
        for count in beams:
            entry = Entry(
                name=f"transformers-b{count}-{compute_type}",
                engine="transformers",
                settings=f"b={count}",
                compute_type=compute_type,
                what=f"Hugging Face generate, the same model of {model.size}, beam {count}",
                same_as=f"ar-b{count}-{compute_type}",
            )
            yield TransformersRacer(entry, opened, model, count)


def _open(model: RacedModel, track: ComputeSettings, compute_type: str) -> Any:
    if importlib.util.find_spec("transformers") is None:
        raise UserError("transformers is not installed; get it with: pip install 'maskpredict[bench]'.")
    return to_bart(model.contents).to(track.device, getattr(torch, compute_type))
