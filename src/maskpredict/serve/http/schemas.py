"""The shapes of requests and answers, as clients write them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, model_validator

from maskpredict.runtime.presets import PRESETS

MOST_ITERATIONS, MOST_CANDIDATES, MOST_ALTERNATIVES = 32, 16, 8
MOST_PINS, LAST_POSITION = 32, 1_000
LONGEST_TEMPLATE = 1_000


def _real_text(text: str) -> str:
    if "\0" in text:
        raise ValueError("a text cannot hold NUL characters; remove them")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a text cannot hold half characters, lone surrogates; remove them") from None
    return text


Text = Annotated[str, AfterValidator(_real_text)]
LANGUAGE_MARK = "x-language"
"""Stands in a field's schema until a server that knows its languages puts their codes there."""
Code = Annotated[str, Field(description="Code of a language.", json_schema_extra={LANGUAGE_MARK: "code"})]
SourceCode = Annotated[
    str, Field(description="Code of a language, or auto.", json_schema_extra={LANGUAGE_MARK: "code or auto"})
]
ApiKey = Annotated[str, Field(description="Where the server asks for one; Authorization: Bearer does as well.")]
Iterations = Annotated[int, Field(ge=1, le=MOST_ITERATIONS)] | Literal["N"] | None
LengthCandidates = Annotated[int, Field(ge=1, le=MOST_CANDIDATES)] | None
Speed = Literal[*PRESETS] | None  # type: ignore[valid-type]


class TranslateRequest(BaseModel):
    """As LibreTranslate takes it."""

    q: Annotated[Text | list[Text], Field(description="A text, or several.")]
    source: SourceCode
    target: Code
    format: Literal["text", "html"] = "text"
    alternatives: Annotated[int, Field(ge=0, le=MOST_ALTERNATIVES, description="Other translations to add.")] = 0
    api_key: ApiKey = ""


class DetectRequest(BaseModel):
    """As LibreTranslate takes it."""

    q: Text
    api_key: ApiKey = ""


class Pin(BaseModel):
    """A phrase that the translation must have."""

    phrase: Annotated[Text, Field(min_length=1)]
    position: Annotated[
        int | None, Field(ge=0, le=LAST_POSITION, description="Of its first subword; null lets the model choose.")
    ] = None


class DecodingRequest(BaseModel):
    """How to decode; what is left out is as the model folder says."""

    iterations: Annotated[Iterations, Field(description="Decoder passes; N for one per target subword.")] = None
    speed: Annotated[Speed, Field(description="A preset; what is named besides goes before it.")] = None
    trace: Annotated[bool, Field(description="Whether to return every pass.")] = False
    api_key: ApiKey = ""


class StreamRequest(DecodingRequest):
    """A text to watch."""

    q: Text
    source: SourceCode
    target: Code
    length_candidates: Annotated[LengthCandidates, Field(description="Target lengths tried side by side.")] = None


class V1TranslateRequest(StreamRequest):
    """A text, and everything this program can do with it."""

    pins: Annotated[
        list[Pin], Field(max_length=MOST_PINS, description="With pins, the text is translated as one sentence.")
    ] = []
    alternatives: Annotated[int, Field(ge=0, le=MOST_ALTERNATIVES, description="Of each sentence.")] = 0


class Template(BaseModel):
    """A target with gaps, as text or as tokens."""

    text: Annotated[
        Text | None,
        Field(max_length=LONGEST_TEMPLATE, description="With ___ for a gap, ___{2} for one of two subwords."),
    ] = None
    tokens: Annotated[
        list[Text | None] | None,
        Field(
            min_length=2,
            max_length=LAST_POSITION,
            description="A subword for every position, the end mark included; null where one is to be predicted.",
        ),
    ] = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Template:
        if (self.text is None) == (self.tokens is None):
            raise ValueError("give either text or tokens")
        return self


class FillRequest(DecodingRequest):
    """A source and a target with gaps."""

    source_text: Text
    source: Code
    target: Code
    template: Template


class ErrorAnswer(BaseModel):
    """What went wrong, in one sentence."""

    error: str


class DetectedLanguage(BaseModel):
    """A language that a text may be in."""

    confidence: Annotated[int, Field(ge=0, le=100)]
    language: str


class TranslateAnswer(BaseModel):
    """As LibreTranslate gives it; lists for a list of texts."""

    translatedText: str | list[str]
    detectedLanguage: Annotated[
        DetectedLanguage | list[DetectedLanguage] | None, Field(description="Only for source auto.")
    ] = None
    alternatives: Annotated[list[str] | list[list[str]] | None, Field(description="Only when asked for.")] = None


class LanguageAnswer(BaseModel):
    """A language and those it can be translated into."""

    code: str
    name: str
    targets: list[str]


class TranslateFileAnswer(BaseModel):
    """Where the translation can be fetched for some minutes."""

    translatedFileUrl: str


class StatusAnswer(BaseModel):
    """How the server is."""

    status: str


class LanguageChoice(BaseModel):
    """A language for a menu."""

    code: str
    name: str


class LanguagePair(BaseModel):
    """The languages a page begins with."""

    source: LanguageChoice
    target: LanguageChoice


class SettingsAnswer(BaseModel):
    """What a page must know of the server, as LibreTranslate says it, and the names of our presets."""

    apiKeys: bool
    charLimit: int
    filesTranslation: bool
    frontendTimeout: int
    keyRequired: bool
    language: LanguagePair
    suggestions: bool
    supportedFilesFormat: list[str]
    speeds: list[str]


class PassAnswer(BaseModel):
    """The target after one pass."""

    masked: Annotated[list[bool], Field(description="What the pass predicted anew.")]
    tokens: list[str]
    probabilities: list[float]


class CandidateAnswer(BaseModel):
    """One length candidate from first pass to last."""

    length: int
    score: float
    passes: list[PassAnswer]


class TraceAnswer(BaseModel):
    """Every pass of every length candidate."""

    chosen: int
    candidates: list[CandidateAnswer]


class AlternativeAnswer(BaseModel):
    """Another translation of a sentence."""

    text: str
    score: float


class SentenceAnswer(BaseModel):
    """A sentence and its translation."""

    source: str
    text: str
    score: Annotated[float, Field(description="Mean log-probability; higher is better.")]
    tokens: Annotated[list[str], Field(description="Every target position as a subword, the end mark included.")]
    confidences: Annotated[list[float], Field(description="Probability of each token.")]
    passes: int
    lengths: Annotated[list[int], Field(description="Target lengths that were tried, likeliest first.")]
    alternatives: list[AlternativeAnswer]
    trace: TraceAnswer | None


class V1TranslateAnswer(BaseModel):
    """A translated text, sentence by sentence."""

    translatedText: str
    detectedLanguage: Annotated[DetectedLanguage | None, Field(description="Only for source auto.")] = None
    sentences: list[SentenceAnswer]
    seconds: float
