"""A server under many clients of different kinds for a long time."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from typing import Any

import httpx

from tests.soak.process_sizes import Sample, sample, watched

PATIENCE = 120.0
POOL = 40 + min(32, (os.cpu_count() or 1) + 4)
"""Most threads of anyio's pool and of asyncio's: they are made when they are needed, and may stay afterwards."""


class Crowd:
    """Clients that translate lines, pages, templates and glossaries, leave early, or send what nobody understands."""

    def __init__(self, url: str, seed: int = 1) -> None:
        self.url, self.chance, self.statuses = url, random.Random(seed), Counter[str]()
        (source, *_) = [one for one in httpx.get(f"{url}/languages").json() if one["targets"]]
        self.pair = {"source": source["code"], "target": source["targets"][0]}

    def soak(self, process: int, clients: int, seconds: float) -> dict[str, Any]:
        """Send requests for some time; the figures of it."""
        before, idle = self.answers(), self.idle(process)
        with watched(process, max(0.1, seconds / 400)) as sizes:
            asyncio.run(self._all(clients, time.monotonic() + seconds))
        after = self._settled(process, idle)
        return {
            "seconds": round(seconds),
            "clients": clients,
            "requests": self.statuses.total(),
            "statuses": dict(sorted(self.statuses.items())),
            "errors_of_the_server": sum(
                count for status, count in self.statuses.items() if status[0] == "5" and status != "503"
            ),
            "same_answers": self.answers() == before,
            "idle_handles": {"before": idle.handles, "after": after.handles},
            "idle_threads": {"before": idle.threads, "after": after.threads, "pool": POOL},
            **sizes.summary(),
        }

    def answers(self) -> list[str]:
        """Translations of some sentences, which must not change."""
        with httpx.Client(base_url=self.url, timeout=PATIENCE) as server:
            answers = (server.post("/v1/translate", json={**self.pair, "q": text}) for text in SENTENCES)
            return [answer.json()["translatedText"] for answer in answers]

    def idle(self, process: int) -> Sample:
        """The sizes of the server after one more sentence, when nothing is left to compute."""
        self.answers()
        return sample(process)

    def _settled(self, process: int, before: Sample) -> Sample:
        """The sizes of the server when connections are closed and threads have ended, at the latest after a while."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            now = self.idle(process)
            if now.handles <= before.handles and now.threads <= before.threads + POOL:
                break
            time.sleep(0.5)
        return now

    async def _all(self, clients: int, end: float) -> None:
        kinds = [self._lines, self._page, self._template, self._glossary, self._leaver, self._stranger, self._watcher]
        await asyncio.gather(*(self._client(kinds[number % len(kinds)], end) for number in range(clients)))

    async def _client(self, kind: Any, end: float) -> None:
        while time.monotonic() < end:
            try:
                # A new connection for some requests: an old one would hide handles that are not closed.
                async with httpx.AsyncClient(base_url=self.url, timeout=PATIENCE) as server:
                    for _ in range(self.chance.randint(1, 20)):
                        answer = await kind(server)
                        if answer is not None:
                            self.statuses[str(answer.status_code)] += 1
                            if answer.status_code == 503:
                                await asyncio.sleep(min(5.0, float(answer.headers.get("Retry-After", 1))))
                        if time.monotonic() > end:
                            break
            except httpx.TransportError as error:
                self.statuses[type(error).__name__] += 1

    def _text(self, most: int = 4) -> str:
        return " ".join(self.chance.choices(SENTENCES, k=self.chance.randint(1, most)))

    async def _lines(self, server: httpx.AsyncClient) -> httpx.Response:
        return await server.post("/v1/translate", json={**self.pair, "q": self._text()})

    async def _page(self, server: httpx.AsyncClient) -> httpx.Response:
        html = "".join(f"<p>{self._text(1)} <b>{self._text(1)}</b></p>" for _ in range(3))
        return await server.post("/translate", json={**self.pair, "q": html, "format": "html"})

    async def _template(self, server: httpx.AsyncClient) -> httpx.Response:
        body = {"source_text": self._text(1), "template": {"text": "___."}, **self.pair}
        return await server.post("/v1/fill", json=body)

    async def _glossary(self, server: httpx.AsyncClient) -> httpx.Response:
        made = await server.post("/v1/glossaries", json={**self.pair, "terms": [{"source": "Hund", "target": "Tier"}]})
        if made.status_code != 201:
            return made
        name = made.json()["id"]
        await server.post("/v1/translate", json={**self.pair, "q": "Der Hund schläft.", "glossary_id": name})
        return await server.delete(f"/v1/glossaries/{name}")

    async def _leaver(self, server: httpx.AsyncClient) -> None:
        """Sends a long text and does not wait for the answer."""
        try:
            await server.post("/v1/translate", json={**self.pair, "q": self._text(12)}, timeout=0.3)
        except httpx.TimeoutException:
            self.statuses["left"] += 1

    async def _stranger(self, server: httpx.AsyncClient) -> httpx.Response:
        await asyncio.sleep(0.2)
        return await server.post("/v1/translate", content=self.chance.randbytes(200))

    async def _watcher(self, server: httpx.AsyncClient) -> httpx.Response:
        await asyncio.sleep(0.2)
        return await server.get(self.chance.choice(["/metrics", "/health", "/languages", "/"]))


SENTENCES = [
    "Guten Morgen!",
    "Der Hund schläft unter dem Tisch.",
    "Wann fährt der nächste Zug nach Bremen?",
    "Sie hat das Buch gestern in einem kleinen Laden am Hafen gekauft.",
    "Wenn es morgen regnet, bleiben wir zu Hause und kochen eine Suppe, die lange auf dem Herd stehen darf.",
]
