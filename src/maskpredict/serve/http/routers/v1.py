"""The /v1 routes: translation with passes, length candidates, pins, gaps, scores and traces."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from maskpredict.runtime.lines import Line
from maskpredict.runtime.presets import preset_settings
from maskpredict.serve.http.errors import ApiError
from maskpredict.serve.http.responses import sentence_response, translate_response
from maskpredict.serve.http.routers.dependencies import ERRORS, NO_GLOSSARY, Access, Service
from maskpredict.serve.http.routers.glossaries import Glossaries, GlossaryChoice, authorized_key
from maskpredict.serve.http.schemas import (
    DecodingRequest,
    FillRequest,
    SentenceResponse,
    TargetTemplate,
    V1TranslateRequest,
    V1TranslateResponse,
    WordsRequest,
    WordsResponse,
)
from maskpredict.serve.queue.models import ServedModel
from maskpredict.serve.queue.service import TranslationService
from maskpredict.serve.queue.texts import TranslatedText, as_sentence, as_text, prepare_text
from maskpredict.serve.queue.words import Place, other_words

router = APIRouter(prefix="/v1", tags=["maskpredict"], responses=ERRORS)

MAX_OPEN_GAPS = 4
FILL_CANDIDATES = 3
"""Length candidates for a template with open gaps; each is tried with several sizes of the gaps."""


@router.post("/translate", response_model=V1TranslateResponse, response_model_exclude_unset=True, responses=NO_GLOSSARY)
async def translate(
    body: V1TranslateRequest, request: Request, service: Service, access: Access, store: Glossaries
) -> JSONResponse:
    """Translate a text, with scores, confidences and, if requested, every pass."""
    start = time.perf_counter()
    key = authorized_key(request, access, body.api_key)
    access.check_size([body.q])
    choice = GlossaryChoice(store, key, body.glossary_id, body.terms)
    # A pin belongs to one sentence, so a text with pins is not split.
    segmenter = as_sentence if body.pins else as_text
    prepared = await prepare_text(service, body.q, body.source, body.target, segmenter)
    pins = tuple(pin.phrase if pin.position is None else (pin.phrase, pin.position) for pin in body.pins)
    model = prepared.model
    glossary = None if model is None else await choice.glossary(service, model.source, model.target)
    lines = [(model, Line(line.source, pins, glossary=glossary)) for model, line in prepared.lines]
    settings = decoding_settings(body)
    if body.alternatives:
        settings["num_hypotheses"] = body.alternatives + 1
    translations = await service.translate(lines, settings)
    translated, seconds = TranslatedText(prepared, translations), time.perf_counter() - start
    return JSONResponse(translate_response(translated, seconds, traced=body.trace, alternatives=body.alternatives))


@router.post("/fill", response_model=SentenceResponse)
async def fill(body: FillRequest, request: Request, service: Service, access: Access) -> JSONResponse:
    """Fill the gaps of a target template; the given words stay."""
    access.authorize(request, body.api_key)
    access.check_size([body.source_text])
    model = _known_model(service, body.source, body.target)
    settings = {**decoding_settings(body), "length_candidates": FILL_CANDIDATES}
    line = Line(body.source_text, template=_line_template(body.template))
    (translation,) = await service.translate([(model, line)], settings)
    return JSONResponse(sentence_response(body.source_text, translation, traced=body.trace))


@router.post("/words", response_model=WordsResponse)
async def words(body: WordsRequest, request: Request, service: Service, access: Access) -> JSONResponse:
    """Find other words for a place of a translation."""
    access.authorize(request, body.api_key)
    access.check_size([body.source_text])
    model = _known_model(service, body.source, body.target)
    others = await other_words(service, model, body.source_text, Place(body.tokens, body.start, body.end))
    responses = [
        {
            "text": word.text,
            "probability": word.probability,
            "sentence": sentence_response(body.source_text, word.translation, traced=True),
        }
        for word in others
    ]
    return JSONResponse({"words": responses})


def _known_model(service: TranslationService, source: str, target: str) -> ServedModel:
    model = service.languages.model(source, target)
    if model is None:
        raise ApiError(400, "Invalid request: source and target are the same language")
    return model


def decoding_settings(request: DecodingRequest) -> dict[str, Any]:
    """Return the decoding settings of a request; single settings override its preset."""
    settings: dict[str, Any] = preset_settings(request.speed) if request.speed else {}
    for name in ("iterations", "length_candidates"):
        value = getattr(request, name, None)
        if value is not None:
            settings[name] = value
    return {**settings, "trace": True} if request.trace else settings


def _line_template(template: TargetTemplate) -> str | tuple[str | None, ...]:
    if template.tokens is not None:
        return tuple(template.tokens)
    assert template.text is not None
    if template.text.count("___") > MAX_OPEN_GAPS:
        raise ApiError(400, f"Invalid request: a template has at most {MAX_OPEN_GAPS} gaps")
    return template.text
