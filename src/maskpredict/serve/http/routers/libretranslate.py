"""LibreTranslate's routes: its clients work with this server unchanged."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from maskpredict.documents.names import FORMATS
from maskpredict.runtime.presets import PRESETS
from maskpredict.serve.http.responses import detection_response
from maskpredict.serve.http.routers.body import body_schema, read_body
from maskpredict.serve.http.routers.dependencies import ERRORS, Access, Service
from maskpredict.serve.http.routers.nemo_curator import TextsRequest, TextsResponse, translate_all
from maskpredict.serve.http.schemas import (
    DetectedLanguage,
    DetectRequest,
    LanguageResponse,
    SettingsResponse,
    TranslateRequest,
    TranslateResponse,
)
from maskpredict.serve.queue.texts import TranslatedText, as_html, as_text, translate_texts

router = APIRouter(tags=["LibreTranslate"], responses=ERRORS)


@router.post(
    "/translate",
    response_model=TranslateResponse | TextsResponse,
    openapi_extra=body_schema(TranslateRequest, TextsRequest),
)
async def translate(request: Request, service: Service, access: Access) -> JSONResponse:
    """Translate a text or a list of texts."""
    given = await read_body(request)
    if "texts" in given.values:
        return await translate_all(request, service, access, given.validated(TextsRequest))
    body = given.validated(TranslateRequest)
    access.authorize(request, body.api_key)
    texts = [body.q] if isinstance(body.q, str) else body.q
    access.check_size(texts)
    settings = {"num_hypotheses": body.alternatives + 1} if body.alternatives else {}
    segmenter = as_html if body.format == "html" else as_text
    translated = await translate_texts(service, texts, body.source, body.target, settings, segmenter)
    responses = [await asyncio.to_thread(_response, one, body.alternatives) for one in translated]
    if isinstance(body.q, str):
        return JSONResponse(responses[0])
    names = responses[0] if responses else {"translatedText": None}
    return JSONResponse({name: [response[name] for response in responses] for name in names})


def _response(translated: TranslatedText, alternatives: int) -> dict[str, Any]:
    response: dict[str, Any] = {"translatedText": translated.text}
    if translated.prepared.detected is not None:
        response["detectedLanguage"] = detection_response(translated.prepared.detected)
    if alternatives:
        response["alternatives"] = translated.alternatives(alternatives)
    return response


@router.post("/detect", response_model=list[DetectedLanguage], openapi_extra=body_schema(DetectRequest))
async def detect(request: Request, service: Service, access: Access) -> JSONResponse:
    """Detect the language of a text among the served languages, the likeliest first."""
    body = (await read_body(request)).validated(DetectRequest)
    access.authorize(request, body.api_key)
    access.check_size([body.q])
    return JSONResponse([detection_response(detection) for detection in service.languages.detect(body.q)])


@router.get("/languages", response_model=list[LanguageResponse])
async def languages(service: Service) -> JSONResponse:
    """List the languages and the languages that each can be translated into."""
    return JSONResponse(
        [{"code": one.code, "name": one.name, "targets": list(one.targets)} for one in service.languages.all]
    )


@router.get("/frontend/settings", response_model=SettingsResponse)
async def settings(service: Service, access: Access) -> JSONResponse:
    """Return the settings that a page needs."""
    first = next(language for language in service.languages.all if language.targets)
    named = {language.code: {"code": language.code, "name": language.name} for language in service.languages.all}
    return JSONResponse(
        {
            "apiKeys": access.requires_key,
            "charLimit": service.config.char_limit,
            "filesTranslation": True,
            "frontendTimeout": 500,
            "keyRequired": access.requires_key,
            "language": {"source": named[first.code], "target": named[first.targets[0]]},
            "suggestions": service.config.suggestions is not None,
            "supportedFilesFormat": list(FORMATS),
            "speeds": list(PRESETS),
        }
    )
