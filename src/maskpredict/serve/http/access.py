"""API keys, rate limits and size limits of requests."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path

from fastapi import Request

from maskpredict.errors import UserError
from maskpredict.serve.caller import caller
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.http.errors import ApiError

MAX_ADDRESSES = 10_000
"""Number of addresses with a counter; beyond it, the least recently seen address is dropped."""

IPV6_CLIENT_BITS = 64
"""Bits of an IPv6 address that tell clients apart: a client may choose the others at will."""


class AccessControl:
    """Checks requests against API keys and limits."""

    def __init__(self, config: ServiceConfig) -> None:
        self.config = config
        self._keys = None if config.api_keys_file is None else read_api_keys(config.api_keys_file)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    @property
    def requires_key(self) -> bool:
        """True if translating requires an API key."""
        return self._keys is not None

    def authorize(self, request: Request, key: str) -> None:
        """Raise an `ApiError` if the client sends too many requests or has no valid key."""
        present = caller()
        self._check_rate(present.client)
        if self._keys is None:
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        # Headers are bytes, which Starlette decodes as Latin-1, but keys are UTF-8.
        bearer = token.encode("latin-1") if scheme.lower() == "bearer" else b""
        given = key.encode("utf-8", "replace") or bearer
        # Comparing every key in constant time keeps the response time independent of the keys.
        matches = [hmac.compare_digest(given, valid) for valid in self._keys]
        if not any(matches):
            raise ApiError(403, "Invalid API key" if given else "This server asks for an API key")
        present.client = f"key {hashlib.sha256(given).hexdigest()[:16]}"  # its users share one turn, wherever they are

    def check_size(self, texts: Sequence[str]) -> None:
        """Raise an `ApiError` for too many texts or too many characters."""
        if len(texts) > self.config.batch_limit:
            limit = self.config.batch_limit
            raise ApiError(400, f"Invalid request: request ({len(texts)}) exceeds batch limit ({limit})")
        characters = sum(map(len, texts))
        if characters > self.config.char_limit:
            limit = self.config.char_limit
            raise ApiError(400, f"Invalid request: request ({characters}) exceeds text limit ({limit})")

    def _check_rate(self, address: str) -> None:
        """Token bucket: each address has `rate_limit` tokens, which refill within a minute."""
        limit = self.config.rate_limit
        if not limit:
            return
        now = time.monotonic()
        tokens, updated = self._buckets.pop(address, (float(limit), now))
        tokens = min(limit, tokens + (now - updated) * limit / 60)
        self._buckets[address] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > MAX_ADDRESSES:
            self._buckets.popitem(last=False)
        if tokens < 1:
            wait = int((1 - tokens) * 60 / limit) + 1
            raise ApiError(429, f"Slowdown: at most {limit} requests a minute", wait)


def client_of_address(address: str) -> str:
    """Return an address, or the network that one IPv6 client has to itself."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    mapped = parsed.ipv4_mapped
    return str(mapped or ip_network((parsed, IPV6_CLIENT_BITS), strict=False))


def read_api_keys(path: Path) -> tuple[bytes, ...]:
    """Read API keys from a file, one per line; empty lines and lines that begin with # are ignored."""
    try:
        lines = [line.strip() for line in path.read_bytes().splitlines()]
    except OSError as error:
        raise UserError(f"the API keys in {path} cannot be read ({error.strerror}); check the path.") from error
    keys = tuple(line for line in lines if line and not line.startswith(b"#"))
    if not keys:
        raise UserError(f"{path} has no API key; write one key per line.")
    return keys
