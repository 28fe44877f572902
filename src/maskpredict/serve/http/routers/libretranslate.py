"""LibreTranslate's routes: its clients work with this server unchanged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError

from maskpredict.documents.names import FORMATS
from maskpredict.runtime.presets import PRESETS
from maskpredict.serve.http.errors import ApiError, invalid_request
from maskpredict.serve.http.responses import detection_response
from maskpredict.serve.http.routers.dependencies import ERRORS, Access, Service
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

Body = TypeVar("Body", bound=BaseModel)
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def _body_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI schema of a body that may be JSON or a form."""
    schema = {"schema": model.model_json_schema(ref_template="#/components/schemas/{model}")}
    return {"requestBody": {"required": True, "content": {"application/json": schema, _FORMS[0]: schema}}}


async def read_body(request: Request, model: type[Body]) -> Body:
    """Parse and validate a body that is JSON or a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", *_FORMS):
        raise ApiError(400, "Invalid request: send JSON or a form with a matching Content-Type")
    values: Any
    is_form = kind in _FORMS
    if is_form:
        form = await request.form()
        values = {name: form.getlist(name) for name in form}
        values = {name: value[0] if len(value) == 1 else value for name, value in values.items()}
    else:
        try:
            values = json.loads(await request.body())
        except (ValueError, RecursionError):
            raise ApiError(400, "Invalid request: the body is not JSON") from None
    if not isinstance(values, Mapping):
        raise ApiError(400, "Invalid request: the body is not a JSON object")
    try:
        return model.model_validate(values, strict=not is_form)
    except ValidationError as error:
        raise invalid_request(error) from None


@router.post("/translate", response_model=TranslateResponse, openapi_extra=_body_schema(TranslateRequest))
async def translate(request: Request, service: Service, access: Access) -> JSONResponse:
    """Translate a text or a list of texts."""
    body = await read_body(request, TranslateRequest)
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


@router.post("/detect", response_model=list[DetectedLanguage], openapi_extra=_body_schema(DetectRequest))
async def detect(request: Request, service: Service, access: Access) -> JSONResponse:
    """Detect the language of a text among the served languages, the likeliest first."""
    body = await read_body(request, DetectRequest)
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
            "suggestions": False,
            "supportedFilesFormat": list(FORMATS),
            "speeds": list(PRESETS),
        }
    )
