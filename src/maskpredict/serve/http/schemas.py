"""Schemas of requests and responses, for validation and for the OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from maskpredict.runtime.glossary.glossary import Term
from maskpredict.runtime.presets import PRESETS

MAX_ITERATIONS, MAX_LENGTH_CANDIDATES, MAX_ALTERNATIVES = 32, 16, 8
MAX_PINS, MAX_POSITION = 32, 1_000
MAX_TEMPLATE_CHARACTERS = 1_000
MAX_TERMS = 500
"""Terms that come with a request; a glossary that the server keeps may have more."""


def _check_text(text: str) -> str:
    if "\0" in text:
        raise ValueError("a text cannot contain NUL characters; remove them")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a text cannot contain half characters (lone surrogates); remove them") from None
    return text


Text = Annotated[str, AfterValidator(_check_text)]
LANGUAGE_MARK = "x-language"
"""Key in the schema of a field, which a server replaces by the codes of its languages."""
Code = Annotated[str, Field(description="Language code.", json_schema_extra={LANGUAGE_MARK: "code"})]
SourceCode = Annotated[
    str, Field(description="Language code, or auto for detection.", json_schema_extra={LANGUAGE_MARK: "code or auto"})
]
ApiKey = Annotated[
    str, Field(description="Needed if the server requires a key; the header Authorization: Bearer works too.")
]
Iterations = Annotated[int, Field(ge=1, le=MAX_ITERATIONS)] | Literal["N"] | None
LengthCandidates = Annotated[int, Field(ge=1, le=MAX_LENGTH_CANDIDATES)] | None
Speed = Literal[*PRESETS] | None  # type: ignore[valid-type]

_STRICT = ConfigDict(strict=True)
"""For JSON bodies: a string or a boolean is not an integer. Forms and queries are text, which has to be converted."""


class TranslateRequest(BaseModel):
    """Texts to translate, as in LibreTranslate's API."""

    q: Annotated[Text | list[Text], Field(description="A text or a list of texts.")]
    source: SourceCode
    target: Code
    format: Literal["text", "html"] = "text"
    alternatives: Annotated[
        int, Field(ge=0, le=MAX_ALTERNATIVES, description="Number of alternative translations.")
    ] = 0
    api_key: ApiKey = ""


class DetectRequest(BaseModel):
    """A text in an unknown language, as in LibreTranslate's API."""

    q: Text
    api_key: ApiKey = ""


class PinnedPhrase(BaseModel):
    """A phrase that the translation must contain."""

    model_config = _STRICT
    phrase: Annotated[Text, Field(min_length=1)]
    position: Annotated[
        int | None,
        Field(ge=0, le=MAX_POSITION, description="Of its first subword; by default the model chooses."),
    ] = None


class TermBody(BaseModel):
    """A term and its translation."""

    model_config = _STRICT
    source: Annotated[Text, Field(min_length=1, max_length=1_000)]
    target: Annotated[Text, Field(min_length=1, max_length=1_000)]
    soft: Annotated[bool, Field(description="Whether the translation may have it inflected.")] = False

    def term(self) -> Term:
        """Return it as a glossary's term."""
        return Term(self.source, self.target, self.soft)


class DecodingRequest(BaseModel):
    """Decoding settings; the defaults are those of the model folder."""

    iterations: Annotated[Iterations, Field(description="Decoder passes; N for one per target subword.")] = None
    speed: Annotated[Speed, Field(description="A preset; iterations and length_candidates override it.")] = None
    trace: Annotated[bool, Field(description="Whether to return every pass.")] = False
    api_key: ApiKey = ""


class StreamRequest(DecodingRequest):
    """A text to translate pass by pass."""

    q: Text
    source: SourceCode
    target: Code
    length_candidates: Annotated[LengthCandidates, Field(description="Number of target lengths to try.")] = None


class V1TranslateRequest(StreamRequest):
    """A text to translate, with all options of this server."""

    model_config = _STRICT
    pins: Annotated[
        list[PinnedPhrase], Field(max_length=MAX_PINS, description="With pins, the text is translated as one sentence.")
    ] = []
    alternatives: Annotated[
        int, Field(ge=0, le=MAX_ALTERNATIVES, description="Number of alternative translations of each sentence.")
    ] = 0
    glossary_id: Annotated[str | None, Field(description="Glossary of POST /v1/glossaries.")] = None
    terms: Annotated[
        list[TermBody], Field(max_length=MAX_TERMS, description="Terms of this request, in place of a glossary.")
    ] = []


class TargetTemplate(BaseModel):
    """A target with gaps, as text or as tokens."""

    model_config = _STRICT
    text: Annotated[
        Text | None,
        Field(max_length=MAX_TEMPLATE_CHARACTERS, description="Write ___ for a gap, ___{2} for a gap of two subwords."),
    ] = None
    tokens: Annotated[
        list[Text | None] | None,
        Field(
            min_length=2,
            max_length=MAX_POSITION,
            description="A subword for every position, including the end mark; null for positions to predict.",
        ),
    ] = None

    @model_validator(mode="after")
    def _check_one_given(self) -> TargetTemplate:
        if (self.text is None) == (self.tokens is None):
            raise ValueError("give either text or tokens")
        return self


class FillRequest(DecodingRequest):
    """A source and a target with gaps."""

    model_config = _STRICT
    source_text: Text
    source: Code
    target: Code
    template: TargetTemplate


class WordsRequest(BaseModel):
    """A place in a translation."""

    model_config = _STRICT
    source_text: Text
    source: Code
    target: Code
    tokens: Annotated[
        list[Text],
        Field(min_length=2, max_length=MAX_POSITION, description="The translation's subwords, the end mark included."),
    ]
    start: Annotated[int, Field(ge=0, description="Position of the first subword.")]
    end: Annotated[int, Field(description="Position after the last one.")]
    api_key: ApiKey = ""

    @field_validator("end")
    @classmethod
    def _check_inside(cls, end: int, info: ValidationInfo) -> int:
        if not info.data.get("start", 0) < end < len(info.data.get("tokens", [])):
            raise ValueError("start and end name no subwords in front of the end mark")
        return end


class ErrorResponse(BaseModel):
    """Error message in one sentence."""

    error: str


class DetectedLanguage(BaseModel):
    """A language that a text may be in."""

    confidence: Annotated[int, Field(ge=0, le=100)]
    language: str


class TranslateResponse(BaseModel):
    """Translations, as in LibreTranslate's API; lists if the request had a list of texts."""

    translatedText: str | list[str]
    detectedLanguage: Annotated[
        DetectedLanguage | list[DetectedLanguage] | None, Field(description="Only if source was auto.")
    ] = None
    alternatives: Annotated[list[str] | list[list[str]] | None, Field(description="Only if requested.")] = None


class LanguageResponse(BaseModel):
    """A language and the languages it can be translated into."""

    code: str
    name: str
    targets: list[str]


class TranslateFileResponse(BaseModel):
    """Address of the translated file, valid for ten minutes."""

    translatedFileUrl: str


class StatusResponse(BaseModel):
    """Status of the server."""

    status: str


class ReadyResponse(StatusResponse):
    """Readiness and load of the server."""

    status: Annotated[str, Field(description="ok or busy.")]
    waiting_sentences: int
    unfinished_seconds: Annotated[float, Field(description="Estimated computing time of all accepted work.")]


class LanguageChoice(BaseModel):
    """A language for a menu."""

    code: str
    name: str


class LanguagePair(BaseModel):
    """Default languages of a page."""

    source: LanguageChoice
    target: LanguageChoice


class SettingsResponse(BaseModel):
    """Settings for a page, as in LibreTranslate's API, and the names of the presets."""

    apiKeys: bool
    charLimit: int
    filesTranslation: bool
    frontendTimeout: int
    keyRequired: bool
    language: LanguagePair
    suggestions: bool
    supportedFilesFormat: list[str]
    speeds: list[str]


class PassResponse(BaseModel):
    """The target after one pass."""

    masked: Annotated[list[bool], Field(description="True at the positions that the pass predicted.")]
    tokens: list[str]
    probabilities: list[float]


class CandidateResponse(BaseModel):
    """All passes of one length candidate."""

    length: int
    score: float
    passes: list[PassResponse]


class TraceResponse(BaseModel):
    """Every pass of every length candidate."""

    chosen: int
    candidates: list[CandidateResponse]


class AlternativeResponse(BaseModel):
    """Another translation of a sentence."""

    text: str
    score: float


class SentenceResponse(BaseModel):
    """A sentence and its translation."""

    source: str
    text: str
    score: Annotated[float, Field(description="Mean log-probability; higher is better.")]
    tokens: Annotated[list[str], Field(description="Target subwords, including the end mark.")]
    confidences: Annotated[list[float], Field(description="Probability of each token.")]
    passes: int
    lengths: Annotated[list[int], Field(description="Target lengths that were tried, the likeliest first.")]
    alternatives: list[AlternativeResponse]
    trace: TraceResponse | None


class WordResponse(BaseModel):
    """A word that could stand there."""

    text: str
    probability: float
    sentence: Annotated[SentenceResponse, Field(description="The translation with this word, and its passes.")]


class WordsResponse(BaseModel):
    """Other words, the likeliest first."""

    words: list[WordResponse]


class V1TranslateResponse(BaseModel):
    """A translated text, sentence by sentence."""

    translatedText: str
    detectedLanguage: Annotated[DetectedLanguage | None, Field(description="Only if source was auto.")] = None
    sentences: list[SentenceResponse]
    seconds: float
