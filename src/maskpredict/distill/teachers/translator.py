"""A teacher that is the `Translator`, with any model of ours: parallel models, too, for translating much text.

Unlike `ours.py`, it splits long lines, keeps placeholders, numbers and addresses, and takes the fastest engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskpredict.distill.teachers.base import ScoredText, TeacherConfig, Translations
from maskpredict.errors import UserError
from maskpredict.runtime.translation import Translation
from maskpredict.runtime.translator import Translator


class TranslatorTeacher:
    """A model folder of ours, with the settings of `decoding`."""

    def __init__(self, config: TeacherConfig) -> None:
        """Load the model."""
        if config.temperature is not None:
            raise UserError("our models do not sample; leave temperature out.")
        self.config = config
        self.translator = Translator(
            config.model, device=config.device, compute_type=config.compute_type, intra_threads=config.threads
        )
        known, wanted = self.translator.languages, (config.source_language, config.target_language)
        if (known.source, known.target) != wanted:
            raise UserError(
                f"the model {config.model} translates {known}, not {wanted[0]} to {wanted[1]}; use another model."
            )
        several = {"num_hypotheses": config.n} if config.n is not None else {}
        self.settings = {**config.decoding, **several}
        self.translator.translate([], **self.settings)  # refuses settings that the model does not have

    def translate(self, lines: Sequence[str]) -> Iterator[Translations]:
        """As in `TextTeacher`; no line is too long."""
        found = self.translator.translate_stream(lines, max_batch_size=self.config.batch_tokens, **self.settings)
        for index, translation in enumerate(found):
            yield {index: [ScoredText(one.text, one.score) for one in translation.hypotheses or (translation,)]}

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """As in `TextTeacher`."""
        scored = self.translator.score(sources, targets, max_batch_size=self.config.batch_tokens, **self.settings)
        return [_mean(translation) for translation in scored]


def _mean(translation: Translation) -> float:
    return sum(translation.log_probs) / len(translation.log_probs)
