"""Languages by their codes: which are served, what they are called, and which model goes from one to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.serve.http.errors import Refusal
from maskpredict.serve.queue.models import ServedModel
from maskpredict.serve.text.detection import Detected, Detector

AUTO = "auto"
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
    """A language that some model reads or writes."""

    code: str
    targets: tuple[str, ...]
    """Codes of the languages it can be translated into."""

    @property
    def name(self) -> str:
        """In English; the code, where no name is known."""
        return _NAMES.get(self.code, self.code)


class Languages:
    """What the loaded models make possible."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self._models = {(model.source, model.target): model for model in models}
        sources = dict.fromkeys(model.source for model in models)
        codes = dict.fromkeys([*sources, *(model.target for model in models)])
        self.all = [Language(code, tuple(t for s, t in self._models if s == code)) for code in codes]
        self._detector = Detector(models, list(codes))

    def model(self, source: str, target: str) -> ServedModel | None:
        """The model for this direction; none is needed from a language to itself."""
        codes = {language.code for language in self.all}
        for code in (source, target):
            if code not in codes:
                raise Refusal(400, f"{shown(code)} is not supported; the languages are {', '.join(sorted(codes))}.")
        if source == target:
            return None
        if (source, target) not in self._models:
            pairs = ", ".join(f"{s} to {t}" for s, t in self._models)
            raise Refusal(400, f"{target} is not available as a target language from {source}; there is {pairs}.")
        return self._models[source, target]

    def detect(self, text: str) -> list[Detected]:
        """How likely the text is in each of the languages, the likeliest first."""
        return self._detector.detect(text)


def shown(code: str) -> str:
    """A language code as a client sent it, made short and harmless."""
    return ascii(code[:16])[1:-1]
