"""The served languages, and the model for each direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.errors import UserError
from maskpredict.serve.queue.detection import Detection, LanguageDetector
from maskpredict.serve.queue.models import ServedModel

AUTO = "auto"
"""Source language of a request that asks for detection."""
_NAMES = {
    "ar": "Arabic",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "hi": "Hindi",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "zh": "Chinese",
}


@dataclass(frozen=True)
class Language:
    """A language that a model translates from or into."""

    code: str
    targets: tuple[str, ...]
    """Codes of the languages it can be translated into."""

    @property
    def name(self) -> str:
        """English name, or the code if the name is not known."""
        return _NAMES.get(self.code, self.code)


class ServedLanguages:
    """The languages and directions of the loaded models."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self._models = {(model.source, model.target): model for model in models}
        sources = dict.fromkeys(model.source for model in models)
        codes = dict.fromkeys([*sources, *(model.target for model in models)])
        self.all = [Language(code, tuple(t for s, t in self._models if s == code)) for code in codes]
        self._detector = LanguageDetector(list(codes))

    def model(self, source: str, target: str) -> ServedModel | None:
        """Return the model for a direction; None if source and target are the same language."""
        self.check(source)
        self.check(target)
        if source == target:
            return None
        if (source, target) not in self._models:
            pairs = ", ".join(f"{s} to {t}" for s, t in self._models)
            raise UserError(f"{target} is not available as a target language from {source}; there is {pairs}.")
        return self._models[source, target]

    def check(self, code: str) -> None:
        """Raise a `UserError` if no model translates from or into the language."""
        codes = sorted(language.code for language in self.all)
        if code not in codes:
            raise UserError(f"{_printable(code)} is not supported; the languages are {', '.join(codes)}.")

    def detect(self, text: str) -> list[Detection]:
        """Return all languages with how likely the text is in each, the likeliest first."""
        return self._detector.detect(text)


def _printable(code: str) -> str:
    """Shorten and escape a language code that a client sent."""
    return ascii(code[:16])[1:-1]


def base_code(language: str) -> str:
    """Return this server's code for a language of other services, such as EN-US."""
    return language.partition("-")[0].lower()
