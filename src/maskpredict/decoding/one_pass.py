"""Decoding in a single pass, for systems whose source determines the number of target positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from maskpredict.decoding.candidates import Finished
from maskpredict.decoding.decoder import Decoder, StartedTranslation
from maskpredict.decoding.finish import Finisher
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.settings import MaskPredictSettings, OnePassSettings


class OnePassDecoder(Decoder):
    """Predicts every position at once, independently of the others."""

    settings_type: ClassVar[type] = OnePassSettings

    def start(self, requests: Sequence[Request], settings: OnePassSettings) -> StartedTranslation:
        """As in `Decoder`."""
        self.refuse_constraints(requests)
        with self.engine.working():
            finisher = self.finisher(requests, settings)
            drafts = [[self.engine.special.mask] * count for count in finisher.encoded.positions]
            hypotheses = [[_hypothesis(row)] for row in finisher.finish(drafts, range(len(drafts)))]
        return lambda: hypotheses

    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: OnePassSettings
    ) -> list[Hypothesis]:
        """As in `Decoder`."""
        self.refuse_constraints(requests)
        drafts = [[self.engine.special.mask] * len(target) for target in targets]
        with self.engine.working():
            rows = self.finisher(requests, settings).finish(drafts, range(len(drafts)), given=targets)
        return [_hypothesis(row) for row in rows]

    def finisher(self, requests: Sequence[Request], settings: OnePassSettings) -> Finisher:
        """Run the encoder, and return a `Finisher` for these requests."""
        one_pass = MaskPredictSettings(iterations=1, suppress_tokens=settings.suppress_tokens)
        return Finisher(self.engine.encode([request.source for request in requests]), self.engine.special, one_pass)


def _hypothesis(row: Finished) -> Hypothesis:
    return Hypothesis(row.ids, row.log_probs, row.score, passes=row.passes)
