"""The application: routers, middleware and error handlers around one `TranslationService`."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

import maskpredict
from maskpredict.errors import UserError
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.http.access import Gate
from maskpredict.serve.http.downloads import FileStore
from maskpredict.serve.http.errors import Refusal, on_http_error, on_invalid, on_refusal, on_user_error
from maskpredict.serve.http.middleware import Intake, Observer, SecurityHeaders
from maskpredict.serve.http.routers import files, health, libretranslate, page, reference, stream, v1
from maskpredict.serve.http.schemas import LANGUAGE_MARK
from maskpredict.serve.queue.languages import AUTO
from maskpredict.serve.queue.service import TranslationService

logger = logging.getLogger(__name__)


def create_app(config: ServiceConfig) -> FastAPI:
    """Load the models and build the application."""
    service = TranslationService(config)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with TemporaryDirectory(prefix="maskpredict-") as folder:
            app.state.files = FileStore(config.files_folder or Path(folder))
            service.start()
            logger.info("process %d is ready", os.getpid())
            yield
            await service.finish()

    app = FastAPI(
        title="maskpredict",
        version=maskpredict.__version__,
        summary="Machine translation in a constant number of parallel steps",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service, app.state.gate = service, Gate(config)
    for routes in (libretranslate, files, v1, stream, health, reference, page):
        app.include_router(routes.router)
    app.openapi_schema = _with_languages(app.openapi(), [language.code for language in service.languages.all])
    app.add_exception_handler(Refusal, on_refusal)
    app.add_exception_handler(UserError, on_user_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http_error)
    # The last one added is the first to see a request.
    app.add_middleware(Intake, config=config)
    app.add_middleware(Observer, metrics=service.metrics)
    app.add_middleware(SecurityHeaders)
    if config.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=config.cors_origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["Retry-After"],
        )
    return app


def _with_languages(description: Any, codes: list[str]) -> Any:
    """The OpenAPI description, or a part of it, with the languages that there are."""
    if isinstance(description, list):
        return [_with_languages(part, codes) for part in description]
    if not isinstance(description, dict):
        return description
    named = {key: _with_languages(part, codes) for key, part in description.items() if key != LANGUAGE_MARK}
    if LANGUAGE_MARK in description:
        named["enum"] = codes if description[LANGUAGE_MARK] == "code" else [*codes, AUTO]
    return named
