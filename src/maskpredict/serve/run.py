"""Starts the server: one process, or several behind one socket.

PyTorch and the application are imported when they are needed: a worker must answer its supervisor before it has loaded
them, or it would be taken for dead.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from maskpredict.errors import UserError
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.http.protocol import PunctualProtocol
from maskpredict.serve.logs import LOGGING

if TYPE_CHECKING:
    from fastapi import FastAPI

logger = logging.getLogger(__name__)


def serve(config: ServiceConfig, host: str, port: int) -> None:
    """Serve until told to stop; what has been accepted by then is finished."""
    from maskpredict.serve.http.access import Gate
    from maskpredict.serve.http.app import create_app
    from maskpredict.serve.metrics import MULTIPROCESS_VARIABLE
    from maskpredict.serve.queue.models import choose_models

    names = ", ".join(choice.name for choice in choose_models(config))
    Gate(config)  # notices mistakes before anything is loaded
    listening = _listen(host, port)
    place = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    if config.workers == 1:
        server = uvicorn.Server(uvicorn_config(create_app(config), config))
        logger.info("serving %s at %s", names, place)
        server.run(sockets=[listening])
        return
    with TemporaryDirectory(prefix="maskpredict-") as shared:
        os.environ[MULTIPROCESS_VARIABLE] = shared
        make_app = partial(_worker_app, replace(config, files_folder=Path(shared)))
        supervisor = Multiprocess(uvicorn_config(make_app, config), sockets=[listening])
        logger.info("serving %s at %s with %d workers", names, place, config.workers)
        supervisor.run()
        if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
            raise SystemExit(STARTUP_FAILURE)


def _worker_app(config: ServiceConfig) -> FastAPI:
    from maskpredict.serve.http.app import create_app

    try:
        return create_app(config)
    except UserError as error:
        logger.error("%s", error)
        sys.exit(STARTUP_FAILURE)  # tells the supervisor that to start it again is no use


def uvicorn_config(app: Any, config: ServiceConfig) -> uvicorn.Config:
    """How uvicorn runs an application, or a `partial` that makes one in each worker."""
    return uvicorn.Config(
        app,
        factory=isinstance(app, partial),
        workers=config.workers,
        http=PunctualProtocol,
        ws="none",
        access_log=False,
        log_config=LOGGING,
        server_header=False,
        timeout_keep_alive=round(config.read_timeout),
        timeout_graceful_shutdown=round(config.timeout) + 5,
        timeout_worker_healthcheck=10,
    )


def _listen(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        reason = error.strerror or "unknown"
        raise UserError(f"cannot listen at {host}, port {port} ({reason}); choose others.") from error
    listening.set_inheritable(True)
    return listening
