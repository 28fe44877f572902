"""DeepL's route for texts: its clients work with this server's address instead of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from maskpredict.serve.http.errors import ApiError
from maskpredict.serve.http.glossary_store import StoredGlossary
from maskpredict.serve.http.routers.body import body_schema, read_body
from maskpredict.serve.http.routers.dependencies import ERRORS, NO_GLOSSARY, Access, Service
from maskpredict.serve.http.routers.glossaries import Glossaries, authorized_key
from maskpredict.serve.http.schemas import Text
from maskpredict.serve.queue.languages import AUTO, base_code
from maskpredict.serve.queue.service import TranslationService
from maskpredict.serve.queue.texts import TranslatedText, as_html, as_text, prepare_text

router = APIRouter(tags=["DeepL"], responses=ERRORS | NO_GLOSSARY)


class DeepLTranslateRequest(BaseModel):
    """Texts to translate, as in DeepL's API; its other options are accepted and have no effect."""

    text: Annotated[Text | list[Text], Field(description="A text or a list of texts.")]
    target_lang: Annotated[str, Field(description="Language code, such as DE or EN-US.")]
    source_lang: Annotated[str | None, Field(description="Language code; by default it is detected.")] = None
    glossary_id: str | None = None
    tag_handling: Literal["html", "xml"] | None = None


class DeepLTranslation(BaseModel):
    """A translated text."""

    detected_source_language: str
    text: str
    billed_characters: int


class DeepLTranslateResponse(BaseModel):
    """Translations in the order of the texts."""

    translations: list[DeepLTranslation]


@router.post("/v2/translate", response_model=DeepLTranslateResponse, openapi_extra=body_schema(DeepLTranslateRequest))
async def translate(request: Request, service: Service, access: Access, store: Glossaries) -> JSONResponse:
    """Translate texts, with a glossary if one is named."""
    body = (await read_body(request)).validated(DeepLTranslateRequest)
    key = authorized_key(request, access)
    texts = [body.text] if isinstance(body.text, str) else body.text
    access.check_size(texts)
    if body.glossary_id and not body.source_lang:
        raise ApiError(400, "Invalid request: a glossary needs source_lang")
    glossary = store.find(key, body.glossary_id) if body.glossary_id else None
    source = base_code(body.source_lang) if body.source_lang else AUTO
    translated = await _translated(service, texts, source, base_code(body.target_lang), body.tag_handling, glossary)
    translations = [_response(one, source, len(text)) for text, one in zip(texts, translated, strict=True)]
    return JSONResponse({"translations": translations})


def _response(translated: TranslatedText, source: str, characters: int) -> dict[str, str | int]:
    detected = translated.prepared.detected
    language = source if detected is None else detected.language
    return {
        "detected_source_language": language.upper(),
        "text": translated.text,
        "billed_characters": characters,
    }


async def _translated(
    service: TranslationService,
    texts: Sequence[str],
    source: str,
    target: str,
    tag_handling: str | None,
    glossary: StoredGlossary | None,
) -> list[TranslatedText]:
    segmenter = as_html if tag_handling else as_text
    if source != AUTO:
        service.languages.check(source)
    service.languages.check(target)
    terms = None if glossary is None else glossary.direction(source, target)
    prepared = [await prepare_text(service, text, source, target, segmenter) for text in texts]
    lines = [(model, replace(line, glossary=terms)) for one in prepared for model, line in one.lines]
    translations = iter(await service.translate(lines, {}))
    return [TranslatedText(one, list(islice(translations, len(one.lines)))) for one in prepared]
