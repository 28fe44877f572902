"""/docs: the OpenAPI description as a static page. The usual viewers would load scripts from other hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

router = APIRouter(include_in_schema=False)

Schema = Mapping[str, Any]

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid color-mix(in srgb, currentcolor 25%, transparent); }
h3 code { font-size: 1.05em; }
.method { display: inline-block; min-width: 3.2rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.8rem 0.25rem 0; }
td { border-top: 1px solid color-mix(in srgb, currentcolor 12%, transparent); }
"""


@router.get("/docs")
async def reference(request: Request) -> HTMLResponse:
    """Return a page with all routes, their parameters and responses."""
    return HTMLResponse("".join(_page(request.app.openapi())))


@router.get("/docs/style.css")
async def style() -> Response:
    """Return the style sheet of the page."""
    return Response(_STYLE, media_type="text/css")


def _page(api: Schema) -> Iterator[str]:
    title = f"{api['info']['title']} {api['info']['version']}"
    yield '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    yield f'<title>{escape(title)}: API</title><link rel="stylesheet" href="docs/style.css"><h1>{escape(title)}</h1>'
    yield f"<p>{escape(api['info']['summary'])}."
    yield ' <a href="./">The page</a>, <a href="openapi.json">openapi.json</a>.</p>'
    routes = [(path, method, route) for path, methods in api["paths"].items() for method, route in methods.items()]
    for tag in dict.fromkeys(route["tags"][0] for _, _, route in routes):
        yield f"<h2>{escape(tag)}</h2>"
        for path, method, route in routes:
            if route["tags"][0] == tag:
                yield from _route(path, method, route)
    yield "<h2>Schemas</h2>"
    for name, schema in sorted(api["components"]["schemas"].items()):
        yield f'<h3 id="{escape(name)}"><code>{escape(name)}</code></h3><p>{escape(schema.get("description", ""))}</p>'
        yield from _fields(schema)


def _route(path: str, method: str, route: Schema) -> Iterator[str]:
    yield f'<h3><code><span class="method">{escape(method.upper())}</span> {escape(path)}</code></h3>'
    yield f"<p>{escape(route.get('description', ''))}</p>"
    parameters = route.get("parameters", [])
    if parameters:
        properties = {one["name"]: {**one["schema"], "description": one.get("description", "")} for one in parameters}
        required = [one["name"] for one in parameters if one["required"]]
        yield from _fields({"properties": properties, "required": required})
    body = route.get("requestBody", {}).get("content", {})
    if body:
        schema = next(iter(body.values()))["schema"]
        yield f"<p>Takes {escape(' or '.join(body))}{'' if 'properties' in schema else ': ' + _type(schema)}</p>"
        yield from _fields(schema)
    for status, response in route["responses"].items():
        if status == "200":
            kinds = ", ".join(
                f"{escape(kind)} {_type(content.get('schema', {}))}"
                for kind, content in response.get("content", {}).items()
            )
            yield f"<p>Returns {kinds}</p>"


def _fields(schema: Schema) -> Iterator[str]:
    properties = schema.get("properties", {})
    if not properties:
        return
    yield "<table><tr><th>name<th>type<th>meaning"
    for name, field in properties.items():
        required = name in schema.get("required", [])
        default = "" if required or field.get("default") in (None, "") else f" Default {field['default']}."
        yield f"<tr><td><code>{escape(name)}</code>{'' if required else ', optional'}<td>{_type(field)}"
        yield f"<td>{escape(field.get('description', '') + default)}"
    yield "</table>"


def _type(schema: Schema) -> str:
    """Describe a schema in a few words, as HTML."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " or ".join(escape(str(value)) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    bounds = [f"{sign} {schema[key]:g}" for key, sign in (("minimum", "from"), ("maximum", "to")) if key in schema]
    return escape(" ".join([str(schema.get("type", "")), *bounds]))
