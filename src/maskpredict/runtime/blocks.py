"""Blocks of lines, translated together: lines to requests, batches, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Any

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.errors import UserError
from maskpredict.runtime.batching import BatchType, batches
from maskpredict.runtime.judge import Judge
from maskpredict.runtime.lines import Line, LineCodec
from maskpredict.runtime.out_of_memory import start_splitting
from maskpredict.runtime.text.protection import Protection
from maskpredict.runtime.text.steps import Steps, in_step, unprotected
from maskpredict.runtime.translation import Translation, joined


@dataclass(frozen=True)
class BlockTranslator:
    """Translates blocks of lines under the options of one call."""

    decoder: Decoder
    judge: Judge | None
    codec: LineCodec
    settings: Any
    collapse_repeats: bool
    max_batch_size: int | None
    batch_type: BatchType

    def translate(self, lines: list[Line]) -> list[Translation]:
        """Return what the model writes for each line."""
        if any(line.glossary is not None for line in lines):
            raise UserError("a glossary needs words; leave out raw or pretokenized, or the glossary.")
        return self._translate(lines)

    def translate_protected(self, lines: list[Line], protection: Protection) -> list[Translation]:
        """Translate lines so that what must not change does not."""
        steps = in_step(_protected(line, protection) for line in lines)
        translator = self
        try:
            asked = next(steps)
            while True:
                asked = steps.send(translator._translate(asked))
                translator = self._without_unknown()
        except StopIteration as finished:
            translations: list[Translation] = finished.value
            return translations

    def _without_unknown(self) -> BlockTranslator:
        """Return the same, with UNK never produced: second tries are for lines in which something was lost."""
        suppressed = {*self.settings.suppress_tokens, self.codec.target.special.unk}
        return replace(self, settings=replace(self.settings, suppress_tokens=tuple(sorted(suppressed))))

    def _translate(self, lines: list[Line]) -> list[Translation]:
        per_line = self.codec.requests(lines)
        requests = [request for line_requests in per_line for request in line_requests]
        n_best = self.settings.num_hypotheses > 1
        translations: dict[int, Translation] = {}
        for batch, results in self._results(requests):
            for index, best in zip(batch, results, strict=True):
                translations[index] = self.codec.translation(
                    best, collapse_repeats=self.collapse_repeats, n_best=n_best
                )
        in_order = (translations[index] for index in range(len(requests)))
        return [joined(list(islice(in_order, len(line_requests)))) for line_requests in per_line]

    def _results(self, requests: list[Request]) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
        """Yield batches of the requests' indices, each with its hypotheses.

        A GPU computes the next batch while the caller processes one.
        """
        translates, engine = self.judge or self.decoder, self.decoder.engine

        def start(batch: list[int]) -> Callable[[], list[list[Hypothesis]]]:
            chosen = [requests[index] for index in batch]
            return start_splitting(lambda part: translates.start(part, self.settings), chosen, engine)

        to_start = batches(requests, self.settings, self.decoder, self.max_batch_size, self.batch_type)
        started = ((batch, start(batch)) for batch in to_start)
        # `pairwise` starts the next batch before it yields one; the last is paired with an empty batch.
        for (batch, finish), _ in pairwise(chain(started, [([], list)])):
            yield batch, finish()


def _protected(line: Line, protection: Protection) -> Steps:
    # A reference gives the length of what the model writes for exactly this source.
    return unprotected(line) if line.reference is not None else protection.line(line)
