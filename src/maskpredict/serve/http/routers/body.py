"""Bodies of requests that may be JSON or a form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import models_json_schema

from maskpredict.serve.http.errors import ApiError, invalid_request

Model = TypeVar("Model", bound=BaseModel)
_JSON, _FORMS = "application/json", ("application/x-www-form-urlencoded", "multipart/form-data")
_SCHEMAS = "#/components/schemas/"


@dataclass(frozen=True)
class Body:
    """Named values of a request."""

    values: Mapping[str, Any]
    is_form: bool

    def validated(self, model: type[Model]) -> Model:
        """Return the values as a model, or raise an `ApiError`."""
        try:
            return model.model_validate(self.values, strict=not self.is_form)
        except ValidationError as error:
            raise invalid_request(error) from None


async def read_body(request: Request) -> Body:
    """Parse a body that is JSON or a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (_JSON, *_FORMS):
        raise ApiError(400, "Invalid request: send JSON or a form with a matching Content-Type")
    if kind in _FORMS:
        form = await request.form()
        fields = {name: form.getlist(name) for name in form}
        return Body({name: value[0] if len(value) == 1 else value for name, value in fields.items()}, is_form=True)
    try:
        values = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise ApiError(400, "Invalid request: the body is not JSON") from None
    if not isinstance(values, Mapping):
        raise ApiError(400, "Invalid request: the body is not a JSON object")
    return Body(values, is_form=False)


def body_schema(*models: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI description of a body that is one of the models."""
    _, definitions = models_json_schema(
        [(model, "validation") for model in models], ref_template=f"{_SCHEMAS}{{model}}"
    )
    schemas = [{"$ref": f"{_SCHEMAS}{model.__name__}"} for model in models]
    schema = {**(schemas[0] if len(schemas) == 1 else {"anyOf": schemas}), **definitions}
    # Generators of clients take a second kind of content for a second way to send the same body, and do both at once.
    description = "JSON; a form with the same fields works, too."
    return {"requestBody": {"description": description, "required": True, "content": {_JSON: {"schema": schema}}}}


def share_definitions(openapi: dict[str, Any]) -> None:
    """Move the definitions of bodies to where the schemas of an OpenAPI description refer to them."""
    for operation in [operation for path in openapi["paths"].values() for operation in path.values()]:
        for content in operation.get("requestBody", {}).get("content", {}).values():
            openapi["components"]["schemas"].update(content["schema"].pop("$defs", {}))
