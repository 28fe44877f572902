"""NeMo Curator's form of `POST /translate`: its translation backend `nmt` works with this server's address."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from maskpredict.serve.http.access import AccessControl
from maskpredict.serve.http.schemas import ApiKey, Text
from maskpredict.serve.queue.languages import base_code
from maskpredict.serve.queue.service import TranslationService
from maskpredict.serve.queue.texts import translate_texts


class TextsRequest(BaseModel):
    """Texts to translate, as NeMo Curator sends them."""

    texts: list[Text]
    src_lang: Annotated[str, Field(description="Language code, such as en or en-us, or auto for detection.")]
    tgt_lang: Annotated[str, Field(description="Language code.")]
    api_key: ApiKey = ""


class TextsResponse(BaseModel):
    """Translations in the order of the texts."""

    translations: list[str]


async def translate_all(
    request: Request, service: TranslationService, access: AccessControl, body: TextsRequest
) -> JSONResponse:
    """Translate the texts of a request."""
    access.authorize(request, body.api_key)
    access.check_size(body.texts)
    translated = await translate_texts(service, body.texts, base_code(body.src_lang), base_code(body.tgt_lang), {})
    return JSONResponse({"translations": [one.text for one in translated]})
