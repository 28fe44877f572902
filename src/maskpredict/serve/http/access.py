"""Who may come in, how often, and with how much."""

from __future__ import annotations

import hmac
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from fastapi import Request

from maskpredict.errors import UserError
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.http.errors import Refusal

MOST_ADDRESSES = 10_000
"""Addresses whose requests are counted; beyond that the one that was quiet for longest is forgotten."""


class Gate:
    """Checks requests against API keys and limits."""

    def __init__(self, config: ServiceConfig) -> None:
        self.config = config
        self._keys = None if config.api_keys_file is None else read_keys(config.api_keys_file)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    @property
    def asks_for_keys(self) -> bool:
        """True when nobody without a key may translate."""
        return self._keys is not None

    def admit(self, request: Request, key: str) -> None:
        """Let the request pass, or say why not."""
        self._count(request.client.host if request.client else "")
        if self._keys is None:
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        given = (key or (token if scheme.lower() == "bearer" else "")).encode("utf-8", "replace")
        # Every key is compared, in constant time: how long it takes tells nothing about them.
        known = [hmac.compare_digest(given, own) for own in self._keys]
        if not any(known):
            raise Refusal(403, "Invalid API key" if given else "This server asks for an API key")

    def check_size(self, texts: Sequence[str]) -> None:
        """Refuse too many texts, or too long ones."""
        if len(texts) > self.config.batch_limit:
            limit = self.config.batch_limit
            raise Refusal(400, f"Invalid request: request ({len(texts)}) exceeds batch limit ({limit})")
        characters = sum(map(len, texts))
        if characters > self.config.char_limit:
            limit = self.config.char_limit
            raise Refusal(400, f"Invalid request: request ({characters}) exceeds text limit ({limit})")

    def _count(self, address: str) -> None:
        """A bucket of tokens for each address that fills up again at the permitted rate."""
        most = self.config.rate_limit
        if not most:
            return
        now = time.monotonic()
        left, since = self._buckets.pop(address, (float(most), now))
        left = min(most, left + (now - since) * most / 60)
        self._buckets[address] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = int((1 - left) * 60 / most) + 1
            raise Refusal(429, f"Slowdown: at most {most} requests a minute", wait)


def read_keys(path: Path) -> tuple[bytes, ...]:
    """The keys of a file, one in each line; empty lines and those that begin with # do not count."""
    try:
        lines = [line.strip() for line in path.read_bytes().splitlines()]
    except OSError as error:
        raise UserError(f"the API keys in {path} cannot be read ({error.strerror}).") from error
    keys = tuple(line for line in lines if line and not line.startswith(b"#"))
    if not keys:
        raise UserError(f"{path} has no API key; write one into each line.")
    return keys
