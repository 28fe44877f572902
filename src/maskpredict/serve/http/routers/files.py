"""LibreTranslate's routes for files: upload a document, download its translation."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import FileResponse, JSONResponse

from maskpredict.documents.formats import read_document
from maskpredict.documents.names import FORMATS, name_ending
from maskpredict.serve.config import PACKED_FACTOR
from maskpredict.serve.http.addresses import public_url
from maskpredict.serve.http.errors import ApiError
from maskpredict.serve.http.routers.dependencies import ERRORS, Access, Downloads, OpenDocuments, Service
from maskpredict.serve.http.schemas import ApiKey, Code, ErrorResponse, SourceCode, TranslateFileResponse
from maskpredict.serve.queue.texts import translate_document

router = APIRouter(tags=["LibreTranslate"])

TIMEOUT_FACTOR = 10.0
"""Timeout of a file, relative to that of other requests."""


@router.post("/translate_file", response_model=TranslateFileResponse, responses=ERRORS)
async def translate_file(
    request: Request,
    service: Service,
    access: Access,
    downloads: Downloads,
    documents: OpenDocuments,
    file: Annotated[UploadFile, File(description="A document; /frontend/settings lists the formats.")],
    source: Annotated[SourceCode, Form()],
    target: Annotated[Code, Form()],
    api_key: Annotated[ApiKey, Form()] = "",
) -> JSONResponse:
    """Translate a document, keeping its structure and formats."""
    access.authorize(request, api_key)
    name, limit = file.filename or "", service.config.file_limit
    if name_ending(name) not in FORMATS:
        raise ApiError(400, f"Invalid request: file format not supported; send one of {', '.join(FORMATS)}")
    if (file.size or 0) > PACKED_FACTOR * limit:
        raise ApiError(413, f"The file is larger than {PACKED_FACTOR * limit} bytes.")
    async with documents:
        document = await asyncio.to_thread(read_document, name, await file.read())
        if sum(len(item.text) for block in document.blocks for item in block) > limit:
            raise ApiError(413, f"The text of the file is longer than {limit} characters.")
        content = await translate_document(service, document, source, target, TIMEOUT_FACTOR)
    path = request.app.url_path_for("download_file", name=downloads.add(content, name_ending(name)))
    return JSONResponse({"translatedFileUrl": public_url(request, service.config.public_url) + path})


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
)
async def download_file(name: str, downloads: Downloads) -> FileResponse:
    """Download a translated file."""
    path = downloads.find(name)
    if path is None:
        raise ApiError(404, "The file does not exist or has expired.")
    headers = {"Cache-Control": "private, no-store"}
    kind = "text/plain; charset=utf-8" if path.suffix == ".txt" else "application/octet-stream"
    return FileResponse(path, media_type=kind, filename=f"translation{path.suffix}", headers=headers)
