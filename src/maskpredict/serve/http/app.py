"""The application: routers, middleware and error handlers around one `TranslationService`."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

import maskpredict
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.http.access import AccessControl
from maskpredict.serve.http.downloads import DownloadStore
from maskpredict.serve.http.errors import add_exception_handlers
from maskpredict.serve.http.glossary_store import GlossaryStore
from maskpredict.serve.http.middleware import HeadAsGet, RequestObserver, RequestReader, SecurityHeaders
from maskpredict.serve.http.routers import (
    deepl,
    deepl_glossaries,
    deepl_multilingual,
    files,
    glossaries,
    health,
    libretranslate,
    page,
    reference,
    stream,
    suggestions,
    v1,
)
from maskpredict.serve.http.routers.body import share_definitions
from maskpredict.serve.http.schemas import LANGUAGE_MARK
from maskpredict.serve.http.suggestion_file import SuggestionFile
from maskpredict.serve.queue.languages import AUTO
from maskpredict.serve.queue.service import TranslationService
from maskpredict.serve.tracing import Tracing, otlp_tracing

MAX_OPEN_DOCUMENTS = 2
"""Documents that are translated at a time, since one may need much memory; others wait."""
logger = logging.getLogger(__name__)


def create_app(config: ServiceConfig, tracing: Tracing | None = None) -> FastAPI:
    """Load the models and return the application; `tracing` replaces what `config.traces` makes."""
    service = TranslationService(config)
    if tracing is None and config.traces:
        tracing = otlp_tracing()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with TemporaryDirectory(prefix="maskpredict-", ignore_cleanup_errors=True) as folder:
            app.state.open_documents = asyncio.Semaphore(MAX_OPEN_DOCUMENTS)
            app.state.downloads = DownloadStore(config.files_folder or Path(folder))
            app.state.glossaries = GlossaryStore((config.files_folder or Path(folder)) / "glossaries")
            service.start()
            logger.info("process %d is ready", os.getpid())
            yield
            await service.stop()
            if tracing is not None:
                await asyncio.to_thread(tracing.close)

    app = FastAPI(
        title="maskpredict",
        version=maskpredict.__version__,
        summary="Machine translation in a constant number of parallel steps",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service, app.state.access = service, AccessControl(config)
    app.state.suggestions = None if config.suggestions is None else SuggestionFile(config.suggestions)
    translating = (libretranslate, files, suggestions, v1, stream, glossaries)
    for routes in (*translating, deepl, deepl_glossaries, deepl_multilingual, health, reference, page):
        app.include_router(routes.router)
    description = app.openapi()
    share_definitions(description)
    app.openapi_schema = _with_languages(description, [language.code for language in service.languages.all])
    add_exception_handlers(app)
    # The middleware that is added last sees a request first.
    app.add_middleware(HeadAsGet)
    app.add_middleware(RequestReader, config=config)
    app.add_middleware(RequestObserver, metrics=service.metrics, tracing=tracing)
    app.add_middleware(SecurityHeaders)
    if config.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=config.cors_origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["Retry-After", "X-Request-ID"],
        )
    return app


def _with_languages(schema: Any, codes: list[str]) -> Any:
    """Return the OpenAPI schema, or a part of it, with the served languages instead of `LANGUAGE_MARK`."""
    if isinstance(schema, list):
        return [_with_languages(part, codes) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: _with_languages(part, codes) for key, part in schema.items() if key != LANGUAGE_MARK}
    if LANGUAGE_MARK in schema:
        result["enum"] = codes if schema[LANGUAGE_MARK] == "code" else [*codes, AUTO]
    return result
