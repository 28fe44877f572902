"""Our own routes: passes, lengths, pins, gaps, scores and traces."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from maskpredict.runtime.lines import Line
from maskpredict.runtime.presets import preset_settings
from maskpredict.serve.http.errors import Refusal
from maskpredict.serve.http.responses import sentence_answer, translate_answer
from maskpredict.serve.http.routers.dependencies import ERRORS, Entrance, Service
from maskpredict.serve.http.schemas import (
    DecodingRequest,
    FillRequest,
    SentenceAnswer,
    Template,
    V1TranslateAnswer,
    V1TranslateRequest,
)
from maskpredict.serve.queue.texts import TranslatedText, open_text
from maskpredict.serve.text.segmented_text import Document

router = APIRouter(prefix="/v1", tags=["maskpredict"], responses=ERRORS)

MOST_OPEN_GAPS = 4
FILL_CANDIDATES = 3
"""Lengths tried for a template with open gaps; for each, its gaps are sized in many ways."""


@router.post("/translate", response_model=V1TranslateAnswer, response_model_exclude_unset=True)
async def translate(asked: V1TranslateRequest, request: Request, service: Service, gate: Entrance) -> JSONResponse:
    """Translate a text, with scores, confidences and, if asked for, every pass."""
    begin = time.perf_counter()
    gate.admit(request, asked.api_key)
    gate.check_size([asked.q])
    # A pin belongs to one sentence, so a text with pins is one.
    of = Document.of_sentence if asked.pins else Document.of_text
    opened = open_text(service, asked.q, asked.source, asked.target, of)
    pins = tuple(pin.phrase if pin.position is None else (pin.phrase, pin.position) for pin in asked.pins)
    work = [(model, Line(line.source, pins)) for model, line in opened.work]
    settings = settings_of(asked)
    if asked.alternatives:
        settings["num_hypotheses"] = asked.alternatives + 1
    translations = await service.translate(work, settings)
    translated, seconds = TranslatedText(opened, translations), time.perf_counter() - begin
    return JSONResponse(translate_answer(translated, seconds, traced=asked.trace, alternatives=asked.alternatives))


@router.post("/fill", response_model=SentenceAnswer)
async def fill(asked: FillRequest, request: Request, service: Service, gate: Entrance) -> JSONResponse:
    """Complete a target with gaps: what is given stays, the rest is predicted."""
    gate.admit(request, asked.api_key)
    gate.check_size([asked.source_text])
    model = service.languages.model(asked.source, asked.target)
    if model is None:
        raise Refusal(400, "Invalid request: source and target are the same language")
    settings = {**settings_of(asked), "length_candidates": FILL_CANDIDATES}
    line = Line(asked.source_text, template=_given(asked.template))
    (translation,) = await service.translate([(model, line)], settings)
    return JSONResponse(sentence_answer(asked.source_text, translation, traced=asked.trace))


def settings_of(asked: DecodingRequest) -> dict[str, Any]:
    """Decoding settings of a request: what it names goes before its preset."""
    settings: dict[str, Any] = preset_settings(asked.speed) if asked.speed else {}
    for name in ("iterations", "length_candidates"):
        value = getattr(asked, name, None)
        if value is not None:
            settings[name] = value
    return {**settings, "trace": True} if asked.trace else settings


def _given(template: Template) -> str | tuple[str | None, ...]:
    if template.tokens is not None:
        return tuple(template.tokens)
    assert template.text is not None
    if template.text.count("___") > MOST_OPEN_GAPS:
        raise Refusal(400, f"Invalid request: a template has at most {MOST_OPEN_GAPS} gaps")
    return template.text
