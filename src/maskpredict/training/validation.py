"""Validation: the loss on fixed masks, so that checkpoints are comparable, and BLEU of a few translations."""

from __future__ import annotations

from typing import Any

import torch

from maskpredict.config import from_dict
from maskpredict.corpus.batches import PaddedBatches
from maskpredict.corpus.dataset import Dataset
from maskpredict.decoding.hypothesis import Request
from maskpredict.engines.torch.engine import TorchEngine
from maskpredict.model.padding import padded_width
from maskpredict.systems import find_decoder
from maskpredict.systems.base import System
from maskpredict.training.config import TrainConfig
from maskpredict.training.distributed import ProcessGroup
from maskpredict.training.engine import mixed_precision, part_seed, sums_of
from maskpredict.training.loader import to_batch

MASK_SEED = 20190417
"""Seed of the validation masks, which are the same in all runs."""
ROWS = 32
"""Sentences translated at once."""


class Validation:
    """Measures a system on the `valid` split."""

    def __init__(self, config: TrainConfig, dataset: Dataset, system: System, group: ProcessGroup) -> None:
        self.config, self.dataset, self.system, self.group = config, dataset, system, group
        self.split = dataset.split("valid")
        self.batches = PaddedBatches(
            self.split,
            system.special,
            tokens=config.batch.part_tokens,
            max_length=config.batch.max_length,
            slot=system.reserves_slot,
            seed=MASK_SEED,
        )
        self.plan = self.batches.plan(0)
        self.settings = decoding_settings(system, config.validation.decoding)

    @torch.no_grad()
    def losses(self, dtype: torch.dtype) -> dict[str, float]:
        """Loss per predicted token, and its parts, over the whole split."""
        self.system.eval()
        names = self.system.loss_parts
        sums = torch.zeros(2 + len(names), dtype=torch.float64, device=self.system.device)
        # Otherwise the fixed masks would leave the generator in the same state after every validation.
        with torch.random.fork_rng(devices=[self.system.device] if self.system.device.type == "cuda" else []):
            for number in range(self.group.rank, len(self.plan), self.group.world_size):
                torch.manual_seed(part_seed(MASK_SEED, 0, number))
                arrays = self.batches.arrays(self.plan[number])
                with mixed_precision(self.system.device, dtype):
                    loss = self.system.loss(to_batch(arrays, self.system.device, self.config.batch.max_length))
                sums += sums_of(loss)
        self.system.train()
        self.group.all_reduce([sums])
        total, count, *parts = sums.tolist()
        count = max(count, 1)
        return {
            "loss": total / count,
            **{name: value / count for name, value in zip(names, parts, strict=True)},
        }

    def bleu(self) -> float:
        """sacreBLEU of the first sentences, translated with the configured settings."""
        from sacrebleu.metrics.bleu import BLEU

        assert self.split.texts is not None
        count = min(self.config.validation.bleu_sentences, len(self.split))
        longest = self.config.batch.max_length
        decoder = find_decoder(self.system.name)(self.system.name, TorchEngine(self.system, str(self.system.device)))
        eos = self.system.special.eos
        sources = [(*self.split.source[i][: longest - 1].tolist(), eos) for i in range(count)]
        outputs = [""] * count
        widths = [padded_width(len(source), slot=self.system.reserves_slot) for source in sources]
        by_width = sorted(range(count), key=lambda i: widths[i])
        for group in _groups([widths[i] for i in by_width], by_width):
            translated = decoder.translate([Request(sources[i]) for i in group], self.settings)
            for i, hypotheses in zip(group, translated, strict=True):
                ids = hypotheses[0].ids
                outputs[i] = self.dataset.tokenizers.target.decode(ids[: ids.index(eos)] if eos in ids else ids)
        self.system.train()
        return float(BLEU().corpus_score(outputs, [self.split.texts.target[:count]]).score)


def decoding_settings(system: System, settings: dict[str, Any]) -> Any:
    """Decoding settings of a system with these values; PAD, BOS and MASK are suppressed."""
    special = system.special
    return from_dict(
        find_decoder(system.name).settings_type,
        {"suppress_tokens": [special.pad, special.bos, special.mask], **settings},
    )


def _groups(widths: list[int], items: list[int]) -> list[list[int]]:
    """Consecutive items of equal width, at most ROWS together."""
    groups: list[list[int]] = []
    previous = None
    for width, item in zip(widths, items, strict=True):
        if width != previous or len(groups[-1]) == ROWS:
            groups.append([])
        groups[-1].append(item)
        previous = width
    return groups
