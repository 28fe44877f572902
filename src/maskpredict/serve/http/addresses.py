"""The address of the service, for links in its responses."""

from __future__ import annotations

from fastapi import Request

_OWN_MACHINE = ("localhost", "127.0.0.1", "::1")


def public_url(request: Request, configured: str | None) -> str:
    """Return the address of the service as its clients know it, without a slash at the end.

    Without a configured one it is the address that the request arrived at. The header Host is not believed, since a
    client, or a page that makes a browser send a request, can name any host there; except that a client may well reach
    the server as its own machine, through a forwarded port.
    """
    if configured is not None:
        return configured.rstrip("/")
    if request.url.hostname in _OWN_MACHINE:
        return str(request.base_url).rstrip("/")
    host, port = request.scope["server"]
    return f"{request.url.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
