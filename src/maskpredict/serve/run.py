"""Starts the server: one process, or several workers that share a socket.

The application is imported inside functions: a worker must answer its supervisor's health check before the imports are
done, or the supervisor would restart it.
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
from maskpredict.serve.http.protocol import HeaderTimeoutProtocol
from maskpredict.serve.logs import logging_config

if TYPE_CHECKING:
    from fastapi import FastAPI

logger = logging.getLogger(__name__)


def serve(config: ServiceConfig, host: str, port: int) -> None:
    """Serve until a signal arrives; requests that were accepted before it are finished."""
    from maskpredict.serve.http.access import AccessControl
    from maskpredict.serve.http.app import create_app
    from maskpredict.serve.metrics import MULTIPROCESS_VARIABLE
    from maskpredict.serve.queue.models import choose_models

    names = ", ".join(choice.name for choice in choose_models(config))
    AccessControl(config)  # reports a wrong keys file before models are loaded
    listener = _listen(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
    if config.workers == 1:
        server = uvicorn.Server(uvicorn_config(create_app(config), config))
        logger.info("serving %s at %s", names, address)
        server.run(sockets=[listener])
        return
    with TemporaryDirectory(prefix="maskpredict-", ignore_cleanup_errors=True) as shared:
        os.environ[MULTIPROCESS_VARIABLE] = shared
        make_app = partial(_worker_app, replace(config, files_folder=Path(shared)))
        supervisor = Multiprocess(uvicorn_config(make_app, config), sockets=[listener])
        logger.info("serving %s at %s with %d workers", names, address, config.workers)
        supervisor.run()
        if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
            raise SystemExit(STARTUP_FAILURE)


def _worker_app(config: ServiceConfig) -> FastAPI:
    from maskpredict.serve.http.app import create_app

    try:
        return create_app(config)
    except UserError as error:
        logger.error("%s", error)
        sys.exit(STARTUP_FAILURE)  # tells the supervisor not to start the worker again


def uvicorn_config(app: Any, config: ServiceConfig) -> uvicorn.Config:
    """Return uvicorn's config for an application, or for a `partial` that makes one in each worker."""
    return uvicorn.Config(
        app,
        factory=isinstance(app, partial),
        workers=config.workers,
        http=HeaderTimeoutProtocol,
        ws="none",
        access_log=False,
        log_config=logging_config(config.log_format, config.log_level),
        server_header=False,
        proxy_headers=bool(config.trusted_proxies),
        forwarded_allow_ips=list(config.trusted_proxies),
        timeout_keep_alive=round(config.read_timeout),
        timeout_graceful_shutdown=round(config.timeout) + 5,
        timeout_worker_healthcheck=10,
    )


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        reason = error.strerror or "unknown"
        raise UserError(f"cannot listen at {host}, port {port} ({reason}); choose another host or port.") from error
    listener.set_inheritable(True)
    return listener
