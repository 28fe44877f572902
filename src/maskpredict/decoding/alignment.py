"""Mask-predict over alignments: a word or a blank at each of a fixed number of positions, collapsed into the target.

To collapse, merge equal neighbours, then drop blanks. The source determines the number of positions, so there are no
lengths to try. In one pass this is CTC decoding (Libovický & Helcl, 2018); more passes revise the least confident
positions (Chan et al., 2020).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from maskpredict.decoding.blanks import EncodedForAlignments
from maskpredict.decoding.candidates import CompletedDraft
from maskpredict.decoding.completion import DraftCompleter
from maskpredict.decoding.decoder import Decoder, StartedTranslation
from maskpredict.decoding.hypothesis import Gap, Hypothesis, Request
from maskpredict.decoding.lattice_path import Chain, Floats, best_words, phrase_chain, target_chain, template_chain
from maskpredict.decoding.pausing import pause
from maskpredict.decoding.settings import AlignmentSettings, OnePassSettings
from maskpredict.decoding.trace import CandidateTrace, Trace
from maskpredict.errors import UserError

logger = logging.getLogger(__name__)


class AlignmentDecoder(Decoder):
    """Predicts the positions of each sentence in passes, and collapses them."""

    settings_type: ClassVar[type] = AlignmentSettings

    def start(self, requests: Sequence[Request], settings: Any) -> StartedTranslation:
        """As in `Decoder`."""
        self.refuse_constraints(requests)
        passes = self._passes(settings)
        started = self.engine.start(requests, passes)
        if started is None:
            hypotheses = self._in_passes(requests, passes)
            return lambda: hypotheses

        def finish() -> list[list[Hypothesis]]:
            alignments = started()
            if alignments is None:
                return self._in_passes(requests, passes)
            return [[self._collapsed(row, traced=False)] for (row,) in alignments]

        return finish

    def _in_passes(self, requests: Sequence[Request], passes: AlignmentSettings) -> list[list[Hypothesis]]:
        with self.engine.working():
            completer = self._completer(requests, passes)
            drafts = [self._draft(completer, sentence, request) for sentence, request in enumerate(requests)]
            rows = completer.complete(drafts, range(len(drafts)))
        return [[self._collapsed(row, traced=passes.trace)] for row in rows]

    def score(self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: Any) -> list[Hypothesis]:
        """As in `Decoder`: the targets' likeliest alignments in the first pass, with the log-probability of each
        position when it was last predicted."""
        self.refuse_constraints(requests)
        with self.engine.working():
            completer = self._completer(requests, self._passes(settings))
            alignments = [self._alignment(completer, sentence, target) for sentence, target in enumerate(targets)]
            drafts = [[self.engine.special.mask] * len(alignment) for alignment in alignments]
            rows = completer.complete(drafts, range(len(drafts)), given=alignments)
        return [self._collapsed(row, traced=False) for row in rows]

    def refuse_constraints(self, requests: Sequence[Request]) -> None:
        """Refuse lengths and places, which alignments do not have."""
        for request in requests:
            if request.length is not None:
                raise UserError(f"models of the system {self.system} cannot keep to a length; use a CMLM.")
            if any(pin.place is not None for pin in request.pins):
                raise UserError(
                    f"models of the system {self.system} choose the places of pinned words; pin them without a "
                    "place, or use a CMLM."
                )
            if any(isinstance(part, Gap) and part.length is not None for part in request.template or ()):
                raise UserError(
                    f"models of the system {self.system} choose the sizes of gaps; write ___ without a size, or use "
                    "a CMLM."
                )

    def pass_settings(self, settings: Any) -> AlignmentSettings:
        """Return the settings of the passes."""
        assert isinstance(settings, AlignmentSettings)
        return settings

    def _passes(self, settings: Any) -> AlignmentSettings:
        passes, blank = self.pass_settings(settings), self.engine.special.mask
        # The model predicts a blank by the id of MASK, which other systems suppress.
        return replace(passes, suppress_tokens=tuple(token for token in passes.suppress_tokens if token != blank))

    def _completer(self, requests: Sequence[Request], passes: AlignmentSettings) -> DraftCompleter:
        special = self.engine.special
        encoded = EncodedForAlignments(self.engine.encode([request.source for request in requests]), special)
        return DraftCompleter(encoded, special, passes, blank=special.bos)

    def _draft(self, completer: DraftCompleter, sentence: int, request: Request) -> list[int]:
        """Return masks, and the given words at their likeliest positions."""
        special = self.engine.special
        draft = [special.mask] * completer.encoded.positions[sentence]
        if not request.pins and request.template is None:
            return draft
        log_probs_TV = self._first_pass(completer, sentence)
        if request.template is not None:
            template = self._filled_in(draft, log_probs_TV, template_chain(request.template, special.mask, special.eos))
            if template is None:
                raise UserError(
                    f"the template does not fit the {len(draft)} positions that its source has; shorten it."
                )
            return template
        for pin in sorted(request.pins, key=lambda pin: -len(pin.ids)):
            pinned = self._filled_in(draft, log_probs_TV, phrase_chain(pin.ids, special.mask))
            if pinned is None:
                raise UserError(
                    f"the pinned words do not fit the {len(draft)} positions that their source has; pin fewer or "
                    "shorter ones."
                )
            draft = pinned
        return draft

    def _alignment(self, completer: DraftCompleter, sentence: int, target: Sequence[int]) -> list[int]:
        """Return a target's likeliest alignment in the first pass."""
        draft = [self.engine.special.mask] * completer.encoded.positions[sentence]
        log_probs_TV = self._first_pass(completer, sentence)
        alignment = self._filled_in(draft, log_probs_TV, target_chain(target, self.engine.special.mask))
        if alignment is None:
            raise UserError(f"a target of {len(target)} subwords is too long for its source; shorten it.")
        return alignment

    def _first_pass(self, completer: DraftCompleter, sentence: int) -> Floats:
        pause()
        hidden = [self.engine.special.mask] * completer.encoded.positions[sentence]
        return np.asarray(completer.first_pass(hidden, sentence))

    def _filled_in(self, draft: Sequence[int], log_probs_TV: Floats, chain: Chain) -> list[int] | None:
        """Return the draft with the words of a chain at their likeliest positions.

        They keep at least one position away from the draft's words, so that they do not merge when it is collapsed.
        """
        special = self.engine.special
        is_given_T = np.array([token != special.mask for token in draft])
        closed_T = np.convolve(is_given_T, [True, True, True])[1:-1] > 0
        words = best_words(log_probs_TV, chain, closed_T)
        if words is None:
            return None
        shown = [special.bos if word == special.mask else word for word in words]  # a blank, in the draft
        return [old if word is None else word for old, word in zip(draft, shown, strict=True)]

    def _collapsed(self, row: CompletedDraft, *, traced: bool) -> Hypothesis:
        """Collapse an alignment into its target.

        A word's log-probability is its highest over the positions of its run.
        """
        special = self.engine.special
        words: list[int] = []
        log_probs: list[float] = []
        for place, (token, log_prob) in enumerate(zip(row.ids, row.log_probs, strict=True)):
            if token == special.bos:
                continue
            if place and token == row.ids[place - 1]:
                log_probs[-1] = max(log_probs[-1], log_prob)
            else:
                words.append(token)
                log_probs.append(log_prob)
        if len(words) == len(row.ids) and special.eos not in words:  # no position to spare, and no end mark
            logger.warning("A translation fills all of its %d positions, and may be cut off.", len(words))
        trace = Trace([CandidateTrace(len(row.ids), row.score, row.history)], 0) if traced else None
        return Hypothesis(words, log_probs, row.score, row.passes, trace=trace)


class CTCDecoder(AlignmentDecoder):
    """Decodes models that have learned no second pass."""

    settings_type: ClassVar[type] = OnePassSettings

    def refuse_constraints(self, requests: Sequence[Request]) -> None:
        """Refuse all constraints: a model that has seen no words in its input cannot heed given ones."""
        Decoder.refuse_constraints(self, requests)

    def pass_settings(self, settings: Any) -> AlignmentSettings:
        """As in `AlignmentDecoder`: one pass."""
        assert isinstance(settings, OnePassSettings)
        return AlignmentSettings(iterations=1, suppress_tokens=settings.suppress_tokens, shortlist=settings.shortlist)
