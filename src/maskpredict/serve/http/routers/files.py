"""Routes for documents: LibreTranslate's, which answer when the translation is finished, and one with progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from pydantic import Field, TypeAdapter, ValidationError

from maskpredict.documents.formats import read_document
from maskpredict.documents.names import FORMATS, name_ending
from maskpredict.serve.caller import caller
from maskpredict.serve.config import PACKED_FACTOR
from maskpredict.serve.http.addresses import public_url
from maskpredict.serve.http.downloads import DownloadStore
from maskpredict.serve.http.errors import ApiError, invalid_request
from maskpredict.serve.http.events import event, event_stream, stream_description
from maskpredict.serve.http.routers.dependencies import ERRORS, NO_GLOSSARY, Access, Downloads, OpenDocuments, Service
from maskpredict.serve.http.routers.glossaries import Glossaries, GlossaryChoice, authorized_key
from maskpredict.serve.http.schemas import (
    MAX_TERMS,
    ApiKey,
    Code,
    ErrorResponse,
    SourceCode,
    TermBody,
    TranslateFileResponse,
)
from maskpredict.serve.queue.documents import DocumentTranslation
from maskpredict.serve.queue.service import TranslationService

router = APIRouter()

_TERMS = TypeAdapter(Annotated[list[TermBody], Field(max_length=MAX_TERMS)])
Upload = Annotated[UploadFile, File(description="A document; /frontend/settings lists the formats.")]


@router.post("/translate_file", response_model=TranslateFileResponse, responses=ERRORS, tags=["LibreTranslate"])
async def translate_file(
    request: Request,
    service: Service,
    access: Access,
    downloads: Downloads,
    documents: OpenDocuments,
    file: Upload,
    source: Annotated[SourceCode, Form()],
    target: Annotated[Code, Form()],
    api_key: Annotated[ApiKey, Form()] = "",
) -> JSONResponse:
    """Translate a document, keeping its structure and formats."""
    access.authorize(request, api_key)
    translation = await _opened(service, documents, file, source, target)
    async for _ in translation.translate(service, None):
        pass
    return JSONResponse(await _finished(request, service, downloads, file, translation))


@router.post(
    "/v1/documents",
    response_class=StreamingResponse,
    responses=ERRORS | NO_GLOSSARY | stream_description("progress", "done"),
    tags=["maskpredict"],
)
async def translate_with_progress(
    request: Request,
    service: Service,
    access: Access,
    downloads: Downloads,
    documents: OpenDocuments,
    store: Glossaries,
    file: Upload,
    source: Annotated[SourceCode, Form()],
    target: Annotated[Code, Form()],
    glossary_id: Annotated[str, Form(description="Glossary of POST /v1/glossaries.")] = "",
    terms: Annotated[str, Form(description="Terms as JSON, as in POST /v1/translate, in place of a glossary.")] = "",
    api_key: Annotated[ApiKey, Form()] = "",
) -> StreamingResponse:
    """Translate a document: sends an event `progress` whenever sentences are done, then `done` or `error`.

    The data of `progress` are the number of all sentences, of those that are done, and those translated since the last
    event. The data of `done` is the response of POST /translate_file.
    """
    key = authorized_key(request, access, api_key)
    choice = GlossaryChoice(store, key, glossary_id, _parsed_terms(terms))
    translation = await _opened(service, documents, file, source, target)
    model = translation.model
    glossary = None if model is None else await choice.glossary(service, model.source, model.target)

    async def events() -> AsyncIterator[str]:
        yield event("progress", _progress(translation, 0))
        async for before in translation.translate(service, glossary):
            yield event("progress", _progress(translation, before))
        yield event("done", await _finished(request, service, downloads, file, translation))

    return event_stream(events())


@router.get(
    "/download_file/{name}",
    response_class=FileResponse,
    responses={
        200: {
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            "description": "The translation",
        },
        404: {"model": ErrorResponse, "description": "The file does not exist or has expired"},
    },
    tags=["LibreTranslate"],
)
async def download_file(name: str, downloads: Downloads) -> FileResponse:
    """Download a translated file."""
    path = downloads.find(name)
    if path is None:
        raise ApiError(404, "The file does not exist or has expired.")
    headers = {"Cache-Control": "private, no-store"}
    kind = "text/plain; charset=utf-8" if path.suffix == ".txt" else "application/octet-stream"
    return FileResponse(path, media_type=kind, filename=f"translation{path.suffix}", headers=headers)


async def _opened(
    service: TranslationService, documents: asyncio.Semaphore, file: UploadFile, source: str, target: str
) -> DocumentTranslation:
    """Read a document, within limits; it counts as open until the request ends."""
    name, limit = file.filename or "", service.config.file_limit
    if name_ending(name) not in FORMATS:
        raise ApiError(400, f"Invalid request: file format not supported; send one of {', '.join(FORMATS)}")
    if (file.size or 0) > PACKED_FACTOR * limit:
        raise ApiError(413, f"The file is larger than {PACKED_FACTOR * limit} bytes.")
    service.languages.check(target)
    await documents.acquire()
    caller().ended.callback(documents.release)
    document = await asyncio.to_thread(read_document, name, await file.read())
    if sum(len(item.text) for block in document.blocks for item in block) > limit:
        raise ApiError(413, f"The text of the file is longer than {limit} characters.")
    return await DocumentTranslation.begin(service, document, source, target)


async def _finished(
    request: Request,
    service: TranslationService,
    downloads: DownloadStore,
    file: UploadFile,
    translation: DocumentTranslation,
) -> dict[str, Any]:
    """Keep the translated file, and return its address."""
    stored = downloads.add(await translation.content(), name_ending(file.filename or ""))
    path = request.app.url_path_for("download_file", name=stored)
    return {"translatedFileUrl": public_url(request, service.config.public_url) + path}


def _progress(translation: DocumentTranslation, before: int) -> dict[str, Any]:
    done = len(translation.translations)
    pairs = zip(translation.sentences[before:done], translation.translations[before:], strict=True)
    return {
        "sentences": len(translation.sentences),
        "done": done,
        "translated": [{"source": sentence.text, "text": one.text} for sentence, one in pairs],
    }


def _parsed_terms(terms: str) -> list[TermBody]:
    try:
        return _TERMS.validate_json(terms) if terms else []
    except ValidationError as error:
        raise invalid_request(error) from None
