"""`generate` of Hugging Face transformers, with our model converted to BART or mBART."""

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
"""Compute types that `generate` supports."""


class TransformersRacer:
    """Our model as BART or mBART, with our tokenizer, decoded by `generate`."""

    def __init__(self, entry: Entry, load_bart: Callable[[], Any], model: RacedModel, beams: int) -> None:
        self.entry, self.model = entry, model
        self._load = load_bart
        self._source, self._target = model.contents.tokenizers.source, model.contents.tokenizers.target
        self._options: dict[str, Any] = {"do_sample": False, "num_beams": beams}
        if beams > 1:  # our beam search also ends when it has as many finished translations as beams
            self._options |= {"early_stopping": True, "length_penalty": LENGTH_PENALTY}

    def prepare(self, sentences: Sequence[str]) -> None:
        """Convert the model."""
        self._bart = self._load()
        self.translate(sentences[:1])

    @torch.inference_mode()
    def translate(self, batch: Sequence[str]) -> list[str]:
        """Translate the sentences as one batch."""
        special = self._source.special
        rows = [torch.tensor([*self._source.encode(text), special.eos]) for text in batch]
        ids = pad_sequence(rows, batch_first=True, padding_value=special.pad).to(self._bart.device)
        longest = self.model.longest_translation(ids.shape[1] - 1)
        mask = (ids != special.pad).long()
        translations = self._bart.generate(input_ids=ids, attention_mask=mask, max_new_tokens=longest, **self._options)
        return [self._target.decode(row) for row in translations.tolist()]


def transformers_racers(
    model: RacedModel, compute: ComputeSettings, beams: Sequence[int]
) -> Iterator[TransformersRacer]:
    """Racers of a model with each beam size in each compute type that `generate` supports, or in float32."""
    for compute_type in [name for name in compute.compute_types if name in PRECISIONS] or [FULL_PRECISION]:
        load_bart = cache(partial(_load, model, compute, compute_type))
        for count in beams:
            entry = Entry(
                name=f"transformers-b{count}-{compute_type}",
                engine="transformers",
                settings=f"b={count}",
                compute_type=compute_type,
                what=f"Hugging Face generate, the same model of {model.size}, beam {count}",
                same_as=f"ar-b{count}-{compute_type}",
            )
            yield TransformersRacer(entry, load_bart, model, count)


def _load(model: RacedModel, compute: ComputeSettings, compute_type: str) -> Any:
    if importlib.util.find_spec("transformers") is None:
        raise UserError("transformers is not installed; get it with: pip install 'maskpredict[bench]'.")
    return to_bart(model.contents).to(compute.device, getattr(torch, compute_type))
