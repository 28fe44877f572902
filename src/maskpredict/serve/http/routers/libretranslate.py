"""LibreTranslate's routes, so that its clients work with this server unchanged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError

from maskpredict.runtime.presets import PRESETS
from maskpredict.serve.http.errors import Refusal, invalid
from maskpredict.serve.http.responses import detected_answer
from maskpredict.serve.http.routers.dependencies import ERRORS, Entrance, Service
from maskpredict.serve.http.schemas import (
    DetectedLanguage,
    DetectRequest,
    LanguageAnswer,
    SettingsAnswer,
    TranslateAnswer,
    TranslateRequest,
)
from maskpredict.serve.queue.texts import TranslatedText, translate_texts
from maskpredict.serve.text.segmented_text import Document

router = APIRouter(tags=["LibreTranslate"], responses=ERRORS)

Asked = TypeVar("Asked", bound=BaseModel)
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def _body_of(model: type[BaseModel]) -> dict[str, Any]:
    """What OpenAPI says of a body that may be JSON or a form."""
    schema = {"schema": model.model_json_schema(ref_template="#/components/schemas/{model}")}
    return {"requestBody": {"required": True, "content": {"application/json": schema, _FORMS[0]: schema}}}


async def read(request: Request, model: type[Asked]) -> Asked:
    """A body that is JSON or a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", *_FORMS):
        raise Refusal(400, "Invalid request: send JSON or a form, and say so in Content-Type")
    values: Any
    if kind in _FORMS:
        form = await request.form()
        values = {name: form.getlist(name) for name in form}
        values = {name: value[0] if len(value) == 1 else value for name, value in values.items()}
    else:
        try:
            values = json.loads(await request.body())
        except (ValueError, RecursionError):
            raise Refusal(400, "Invalid request: the body is not JSON") from None
    if not isinstance(values, Mapping):
        raise Refusal(400, "Invalid request: the body is not a JSON object")
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise invalid(error) from None


@router.post("/translate", response_model=TranslateAnswer, openapi_extra=_body_of(TranslateRequest))
async def translate(request: Request, service: Service, gate: Entrance) -> JSONResponse:
    """Translate one text or several."""
    asked = await read(request, TranslateRequest)
    gate.admit(request, asked.api_key)
    texts = [asked.q] if isinstance(asked.q, str) else asked.q
    gate.check_size(texts)
    settings = {"num_hypotheses": asked.alternatives + 1} if asked.alternatives else {}
    of = Document.of_html if asked.format == "html" else Document.of_text
    translated = await translate_texts(service, texts, asked.source, asked.target, settings, of)
    answers = [_answer(one, asked.alternatives) for one in translated]
    if isinstance(asked.q, str):
        return JSONResponse(answers[0])
    names = answers[0] if answers else {"translatedText": None}
    return JSONResponse({name: [answer[name] for answer in answers] for name in names})


def _answer(translated: TranslatedText, alternatives: int) -> dict[str, Any]:
    answer: dict[str, Any] = {"translatedText": translated.text}
    if translated.opened.detected is not None:
        answer["detectedLanguage"] = detected_answer(translated.opened.detected)
    if alternatives:
        answer["alternatives"] = translated.alternatives(alternatives)
    return answer


@router.post("/detect", response_model=list[DetectedLanguage], openapi_extra=_body_of(DetectRequest))
async def detect(request: Request, service: Service, gate: Entrance) -> JSONResponse:
    """Say which of the served languages a text is in, the likeliest first."""
    asked = await read(request, DetectRequest)
    gate.admit(request, asked.api_key)
    gate.check_size([asked.q])
    return JSONResponse([detected_answer(found) for found in service.languages.detect(asked.q)])


@router.get("/languages", response_model=list[LanguageAnswer])
async def languages(service: Service) -> JSONResponse:
    """List the languages, and into which each can be translated."""
    return JSONResponse(
        [{"code": one.code, "name": one.name, "targets": list(one.targets)} for one in service.languages.all]
    )


@router.get("/frontend/settings", response_model=SettingsAnswer)
async def settings(service: Service, gate: Entrance) -> JSONResponse:
    """Say what a page must know of this server."""
    first = next(language for language in service.languages.all if language.targets)
    named = {language.code: {"code": language.code, "name": language.name} for language in service.languages.all}
    return JSONResponse(
        {
            "apiKeys": gate.asks_for_keys,
            "charLimit": service.config.char_limit,
            "filesTranslation": True,
            "frontendTimeout": 500,
            "keyRequired": gate.asks_for_keys,
            "language": {"source": named[first.code], "target": named[first.targets[0]]},
            "suggestions": False,
            "supportedFilesFormat": [".txt"],
            "speeds": list(PRESETS),
        }
    )
