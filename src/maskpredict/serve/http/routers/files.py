"""Whole files, as LibreTranslate takes them: a text file in, the address of its translation out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import FileResponse, JSONResponse

from maskpredict.serve.http.errors import Refusal
from maskpredict.serve.http.routers.dependencies import ERRORS, Entrance, Files, Service
from maskpredict.serve.http.schemas import ApiKey, Code, ErrorAnswer, SourceCode, TranslateFileAnswer
from maskpredict.serve.queue.texts import translate_texts

router = APIRouter(tags=["LibreTranslate"])

PATIENCE = 10.0
"""A file may take as many times as long as another request."""


@router.post("/translate_file", response_model=TranslateFileAnswer, responses=ERRORS)
async def translate_file(
    request: Request,
    service: Service,
    gate: Entrance,
    files: Files,
    file: Annotated[UploadFile, File(description="A .txt file in UTF-8.")],
    source: Annotated[SourceCode, Form()],
    target: Annotated[Code, Form()],
    api_key: Annotated[ApiKey, Form()] = "",
) -> JSONResponse:
    """Translate a text file; its lines and paragraphs stay."""
    gate.admit(request, api_key)
    if not (file.filename or "").lower().endswith(".txt"):
        raise Refusal(400, "Invalid request: file format not supported; send a .txt file")
    text = _decoded(await file.read(), service.config.file_limit)
    (translated,) = await translate_texts(service, [text], source, target, {}, patience=PATIENCE)
    address = request.url_for("download_file", name=files.add(translated.text))
    return JSONResponse({"translatedFileUrl": str(address)})


@router.get(
    "/download_file/{name}",
    response_class=FileResponse,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The translation"},
        404: {"model": ErrorAnswer, "description": "There is no such file, or not any more"},
    },
)
async def download_file(name: str, files: Files) -> FileResponse:
    """Fetch a translated file."""
    path = files.find(name)
    if path is None:
        raise Refusal(404, "There is no such file, or not any more.")
    headers = {"Cache-Control": "private, no-store"}
    return FileResponse(path, media_type="text/plain; charset=utf-8", filename="translation.txt", headers=headers)


def _decoded(content: bytes, most: int) -> str:
    if len(content) > most:
        raise Refusal(413, f"The file is larger than {most} bytes.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(400, "Invalid request: the file is not UTF-8 text") from None
    if "\0" in text:
        raise Refusal(400, "Invalid request: the file holds NUL characters, so it is not text")
    return text
