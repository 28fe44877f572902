"""LibreTranslate's routes for files: upload a text file, download its translation."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import FileResponse, JSONResponse

from maskpredict.serve.http.addresses import public_url
from maskpredict.serve.http.errors import ApiError
from maskpredict.serve.http.routers.dependencies import ERRORS, Access, Downloads, Service
from maskpredict.serve.http.schemas import ApiKey, Code, ErrorResponse, SourceCode, TranslateFileResponse
from maskpredict.serve.queue.texts import translate_texts

router = APIRouter(tags=["LibreTranslate"])

TIMEOUT_FACTOR = 10.0
"""Timeout of a file, relative to that of other requests."""


@router.post("/translate_file", response_model=TranslateFileResponse, responses=ERRORS)
async def translate_file(
    request: Request,
    service: Service,
    access: Access,
    downloads: Downloads,
    file: Annotated[UploadFile, File(description="A .txt file in UTF-8.")],
    source: Annotated[SourceCode, Form()],
    target: Annotated[Code, Form()],
    api_key: Annotated[ApiKey, Form()] = "",
) -> JSONResponse:
    """Translate a text file, keeping its lines and paragraphs."""
    access.authorize(request, api_key)
    if not (file.filename or "").lower().endswith(".txt"):
        raise ApiError(400, "Invalid request: file format not supported; send a .txt file")
    text = _decode(await file.read(), service.config.file_limit)
    (translated,) = await translate_texts(service, [text], source, target, {}, timeout_factor=TIMEOUT_FACTOR)
    path = request.app.url_path_for("download_file", name=downloads.add(translated.text))
    return JSONResponse({"translatedFileUrl": public_url(request, service.config.public_url) + path})


@router.get(
    "/download_file/{name}",
    response_class=FileResponse,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The translation"},
        404: {"model": ErrorResponse, "description": "The file does not exist or has expired"},
    },
)
async def download_file(name: str, downloads: Downloads) -> FileResponse:
    """Download a translated file."""
    path = downloads.find(name)
    if path is None:
        raise ApiError(404, "The file does not exist or has expired.")
    headers = {"Cache-Control": "private, no-store"}
    return FileResponse(path, media_type="text/plain; charset=utf-8", filename="translation.txt", headers=headers)


def _decode(content: bytes, max_bytes: int) -> str:
    if len(content) > max_bytes:
        raise ApiError(413, f"The file is larger than {max_bytes} bytes.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ApiError(400, "Invalid request: the file is not UTF-8 text") from None
    if "\0" in text:
        raise ApiError(400, "Invalid request: the file holds NUL characters, so it is not text")
    return text
