"""`maskpredict serve`: a web page and an HTTP API for translation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskpredict.cli import options
from maskpredict.extras import require

_LIMITS = "Limits"


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="[NAME=]MODEL to serve; repeatable. By default the shipped models."),
    ] = None,
    load_only: Annotated[
        list[str] | None, typer.Option(help="Load only the model of this name, such as de-en; repeatable.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all interfaces.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free port.", min=0, max=65_535)] = 8000,
    workers: Annotated[
        int, typer.Option(help="Number of processes; each loads all models.", rich_help_panel="Computing")
    ] = 1,
    device: options.Device = "auto",
    compute_type: options.ComputeType = "auto",
    engine: options.Engine = "auto",
    threads: options.Threads = None,
    batch_tokens: options.BatchTokens = None,
    batch_milliseconds: Annotated[
        float,
        typer.Option(help="Milliseconds a sentence waits for others to share its batch.", rich_help_panel="Computing"),
    ] = 3.0,
    max_queue: Annotated[
        int, typer.Option(help="Sentences in the queue; further requests get status 503.", rich_help_panel=_LIMITS)
    ] = 1_024,
    work_limit: Annotated[
        int,
        typer.Option(
            help="Positions to compute per request: passes x length candidates x subwords.", rich_help_panel=_LIMITS
        ),
    ] = 240_000,
    timeout: Annotated[
        float, typer.Option(help="Seconds after which a request gets status 503.", rich_help_panel=_LIMITS)
    ] = 30.0,
    char_limit: Annotated[int, typer.Option(help="Characters per request.", rich_help_panel=_LIMITS)] = 5_000,
    batch_limit: Annotated[int, typer.Option(help="Texts per request.", rich_help_panel=_LIMITS)] = 100,
    rate_limit: Annotated[
        int, typer.Option(help="Requests per minute from one address; 0 for no limit.", rich_help_panel=_LIMITS)
    ] = 0,
    api_keys_file: Annotated[
        Path | None,
        typer.Option(help="File with one API key per line; translating then requires a key.", rich_help_panel=_LIMITS),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(help="Origin whose pages may use the API, or *; repeatable.", rich_help_panel=_LIMITS),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="Address or network of a proxy whose X-Forwarded-For is believed; repeatable.", rich_help_panel=_LIMITS
        ),
    ] = None,
    suggestions: Annotated[
        Path | None, typer.Option(help="File for better translations that clients suggest, as lines of JSON.")
    ] = None,
    log_format: Annotated[str, typer.Option(help="text, or json for one object a line.")] = "text",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error; debug has every batch.")] = "info",
    traces: Annotated[
        bool,
        typer.Option("--traces", help="Send OpenTelemetry traces to the collector at $OTEL_EXPORTER_OTLP_ENDPOINT."),
    ] = False,
    public_url: Annotated[
        str | None, typer.Option(help="Address of the service as clients know it; needed behind a proxy.")
    ] = None,
) -> None:
    """Serve a page and an HTTP API that LibreTranslate's clients understand."""
    require("serve", "`maskpredict serve`")
    if traces:
        require("otel", "`maskpredict serve --traces`")
    from maskpredict.serve.config import ServiceConfig
    from maskpredict.serve.run import serve as run

    config = ServiceConfig(
        models=tuple(model or ()),
        load_only=tuple(load_only or ()),
        device=device,
        compute_type=compute_type,
        engine=engine,
        threads=threads,
        workers=workers,
        max_queue=max_queue,
        work_limit=work_limit,
        batch_milliseconds=batch_milliseconds,
        batch_tokens=batch_tokens,
        timeout=timeout,
        char_limit=char_limit,
        batch_limit=batch_limit,
        rate_limit=rate_limit,
        api_keys_file=api_keys_file,
        cors_origins=tuple(cors_origin or ()),
        trusted_proxies=tuple(trusted_proxy or ()),
        public_url=public_url,
        suggestions=suggestions,
        log_format=log_format,
        log_level=log_level,
        traces=traces,
    )
    run(config, host, port)
