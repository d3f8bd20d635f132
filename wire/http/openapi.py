"""The OpenAPI document, made of the routes' declarations: what is served cannot differ from what is described."""

from collections.abc import Iterator
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from wire.http.problems import MEDIA_TYPE, ProblemDocument
from wire.http.routing import Route, load_routes

REFERENCE = "#/components/schemas/{name}"
TOKEN = "token"
CHANGING_HEADER = "X-Tidegate"


@cache
def document(version: str, needs_token: bool) -> bytes:
    """The document as JSON."""
    routes = list(load_routes())
    types = [each for route in routes for each in (route.answer, route.body, route.query) if each]
    types += [route.refusals[1] for route in routes if route.refusals is not None]
    _, components = msgspec.json.schema_components([ProblemDocument, *types], ref_template=REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, needs_token=needs_token)
    whole: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Tidegate", "version": version, "summary": "The operations door of a Tidegate broker"},
        "paths": paths,
        "components": {"schemas": components},
    }
    if needs_token:
        whole["components"]["securitySchemes"] = {TOKEN: {"type": "http", "scheme": "bearer"}}
    return msgspec.json.encode(whole)


def _operation(route: Route, *, needs_token: bool) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.handle.__name__,
        "summary": route.summary,
        "description": (route.handle.__doc__ or "").strip(),
        "tags": [route.segments[0]],
        "parameters": list(_parameters(route)),
        "responses": dict(_responses(route, needs_token=needs_token)),
    }
    if route.body is not None:
        content: dict[str, Any] = {kind: {"schema": _schema(route.body)} for kind in route.takes}
        content |= {kind: {"schema": {"type": "string"}} for kind in route.piecewise}
        operation["requestBody"] = {"required": route.needs_body, "content": content}
    if needs_token and route.needs_token:
        operation["security"] = [{TOKEN: []}]
    return operation


def _parameters(route: Route) -> Iterator[dict[str, Any]]:
    for where, declared in (("path", route.place), ("query", route.query)):
        schema = _inlined(declared)
        for name, property_schema in schema["properties"].items():
            described = dict(property_schema)
            parameter = {"name": name, "in": where, "required": where == "path" or name in schema["required"]}
            if "description" in described:
                parameter["description"] = described.pop("description")
            yield {**parameter, "schema": described}
    if route.changes and route.body is None:
        yield {
            "name": CHANGING_HEADER,
            "in": "header",
            "required": False,
            "description": "Says that no web page elsewhere sends this; a browser must send it where there is no body.",
            "schema": {"type": "string"},
        }


def _responses(route: Route, *, needs_token: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for status in (route.status, *route.other_answers):
        answer: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        if route.answer is not None:
            schema = _schema(route.answer)
            answer["content"] = {route.media_type: {"schema": schema}}
            # The same document under another name, or a form of its own.
            other = {kind: schema if kind.endswith("+json") else {"type": "string"} for kind in route.other_media_types}
            answer["content"] |= {kind: {"schema": each} for kind, each in other.items()}
        elif status != HTTPStatus.NO_CONTENT:
            schema = {"type": "object"} if route.media_type == "application/json" else {"type": "string"}
            answer["content"] = {route.media_type: {"schema": schema}}
        yield str(status), answer
    content = {MEDIA_TYPE: {"schema": _schema(ProblemDocument)}}
    own = content if route.refusals is None else content | {route.refusals[0]: {"schema": _schema(route.refusals[1])}}
    for status in _problem_statuses(route, needs_token=needs_token):
        yield str(status), {"description": HTTPStatus(status).phrase, "content": own}
    yield "default", {"description": "What went wrong", "content": content}


def _problem_statuses(route: Route, *, needs_token: bool) -> list[int]:
    statuses = {
        *route.problems,
        *((403,) if route.rights is not None and route.rights.rights else ()),
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.MISDIRECTED_REQUEST,
    }
    if route.needs_readiness:
        statuses.add(HTTPStatus.SERVICE_UNAVAILABLE)
    if route.changes:
        statuses.add(HTTPStatus.FORBIDDEN)
    if route.body is not None:
        statuses |= {
            HTTPStatus.BAD_REQUEST,
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        }
    if needs_token and route.needs_token:
        statuses.add(HTTPStatus.UNAUTHORIZED)
    return sorted({int(status) for status in statuses} - set(route.other_answers))


def _schema(declared: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([declared], ref_template=REFERENCE)
    return schema


def _inlined(declared: type[msgspec.Struct]) -> dict[str, Any]:
    _, components = msgspec.json.schema_components([declared], ref_template=REFERENCE)
    found: dict[str, Any] = components[declared.__name__]
    return found
