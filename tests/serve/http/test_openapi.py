"""The server matches its OpenAPI description, as tested by schemathesis."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

THOROUGH = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])


def test_every_answer_is_as_described(server_url: str) -> None:
    routes = schemathesis.openapi.from_url(f"{server_url}/openapi.json").get_all_operations()
    known = [route.ok() for route in routes if isinstance(route, Ok)]
    assert len(known) > 10
    for route in known:
        THOROUGH(given(route.as_strategy(generation_mode=GenerationMode.POSITIVE))(_is_as_described))()
        with suppress(Unsatisfiable):  # a route that takes nothing cannot be asked wrongly
            THOROUGH(given(route.as_strategy(generation_mode=GenerationMode.NEGATIVE))(_is_as_described))()


def _is_as_described(case: schemathesis.Case[Any]) -> None:
    # A request can be of the right form and still be refused: a template with a token that no vocabulary has.
    case.call_and_validate(excluded_checks=[positive_data_acceptance])


def test_the_languages_that_are_served_are_named(client: httpx.Client) -> None:
    fields = client.get("/openapi.json").json()["components"]["schemas"]["V1TranslateRequest"]["properties"]
    assert fields["source"]["enum"] == ["xx", "yy", "auto"]
    assert fields["target"]["enum"] == ["xx", "yy"]
