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
from maskpredict.serve.http.routers.dependencies import ERRORS, Access, Service
from maskpredict.serve.http.schemas import (
    DecodingRequest,
    FillRequest,
    SentenceResponse,
    TargetTemplate,
    V1TranslateRequest,
    V1TranslateResponse,
)
from maskpredict.serve.queue.texts import TranslatedText, as_sentence, as_text, prepare_text

router = APIRouter(prefix="/v1", tags=["maskpredict"], responses=ERRORS)

MAX_OPEN_GAPS = 4
FILL_CANDIDATES = 3
"""Length candidates for a template with open gaps; each is tried with several sizes of the gaps."""


@router.post("/translate", response_model=V1TranslateResponse, response_model_exclude_unset=True)
async def translate(body: V1TranslateRequest, request: Request, service: Service, access: Access) -> JSONResponse:
    """Translate a text, with scores, confidences and, if requested, every pass."""
    start = time.perf_counter()
    access.authorize(request, body.api_key)
    access.check_size([body.q])
    # A pin belongs to one sentence, so a text with pins is not split.
    segmenter = as_sentence if body.pins else as_text
    prepared = await prepare_text(service, body.q, body.source, body.target, segmenter)
    pins = tuple(pin.phrase if pin.position is None else (pin.phrase, pin.position) for pin in body.pins)
    lines = [(model, Line(line.source, pins)) for model, line in prepared.lines]
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
    model = service.languages.model(body.source, body.target)
    if model is None:
        raise ApiError(400, "Invalid request: source and target are the same language")
    settings = {**decoding_settings(body), "length_candidates": FILL_CANDIDATES}
    line = Line(body.source_text, template=_line_template(body.template))
    (translation,) = await service.translate([(model, line)], settings)
    return JSONResponse(sentence_response(body.source_text, translation, traced=body.trace))


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
