"""The OpenAPI document, made of the routes' declarations: what is served cannot differ from what is described."""

from collections.abc import Iterable, Iterator
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from wire.http.problems import MEDIA_TYPE, ProblemDocument
from wire.http.routing import Route, load_routes

REFERENCE = "#/components/schemas/"
TOKEN = "token"
CHANGING_HEADER = "X-Tidegate"


class Described:
    """Types as components of a document; with a prefix they are named apart from another door's."""

    def __init__(self, types: Iterable[Any], prefix: str = "") -> None:
        self._prefix = prefix
        self.components = {prefix + name: schema for name, schema in self._of(types)[1].items()}

    def _of(self, types: Iterable[Any]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
        return msgspec.json.schema_components(types, ref_template=f"{REFERENCE}{self._prefix}{{name}}")

    def schema(self, declared: Any) -> dict[str, Any]:
        """A type by reference, if it has a name."""
        return self._of([declared])[0][0]

    def parameters(self, route: Route) -> Iterator[dict[str, Any]]:
        """What the path and the query of a route take."""
        for where, declared in (("path", route.place), ("query", route.query)):
            schema = self._of([declared])[1][declared.__name__]
            for name, property_schema in schema["properties"].items():
                described = dict(property_schema)
                parameter = {"name": name, "in": where, "required": where == "path" or name in schema["required"]}
                if "description" in described:
                    parameter["description"] = described.pop("description")
                yield {**parameter, "schema": described}


@cache
def document(version: str, needs_token: bool) -> bytes:
    """The document as JSON."""
    from wire.registry.openapi import MOUNTED, described

    routes = list(load_routes())
    types = [each for route in routes for each in (route.answer, route.body, route.query) if each]
    types += [route.refusals[1] for route in routes if route.refusals is not None]
    known = Described([ProblemDocument, *types])
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, known, needs_token=needs_token)
    of_registry, components = described(MOUNTED, needs_token=needs_token)
    info = {"title": "Tidegate", "version": version, "summary": "The operations door of a Tidegate broker"}
    return whole(info, paths | of_registry, known.components | components, needs_token=needs_token)


def whole(info: dict[str, Any], paths: dict[str, Any], schemas: dict[str, Any], *, needs_token: bool) -> bytes:
    """A document of these parts."""
    components: dict[str, Any] = {"schemas": schemas}
    if needs_token:
        components["securitySchemes"] = {TOKEN: {"type": "http", "scheme": "bearer"}}
    return msgspec.json.encode({"openapi": "3.1.0", "info": info, "paths": paths, "components": components})


def about(route: Route, *, needs_token: bool) -> dict[str, Any]:
    """What an operation is, and what callers must show."""
    told: dict[str, Any] = {"summary": route.summary, "description": (route.handle.__doc__ or "").strip()}
    if needs_token and route.needs_token:
        told["security"] = [{TOKEN: []}]
    return told


def _operation(route: Route, known: Described, *, needs_token: bool) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.handle.__name__,
        "tags": [route.segments[0]],
        "parameters": [*known.parameters(route), *_changing_header(route)],
        "responses": dict(_responses(route, known, needs_token=needs_token)),
    }
    if route.body is not None:
        content: dict[str, Any] = {kind: {"schema": known.schema(route.body)} for kind in route.takes}
        content |= {kind: {"schema": {"type": "string"}} for kind in route.piecewise}
        operation["requestBody"] = {"required": route.needs_body, "content": content}
    return operation | about(route, needs_token=needs_token)


def _changing_header(route: Route) -> Iterator[dict[str, Any]]:
    if route.changes and route.body is None:
        yield {
            "name": CHANGING_HEADER,
            "in": "header",
            "required": False,
            "description": "Says that no web page elsewhere sends this; a browser must send it where there is no body.",
            "schema": {"type": "string"},
        }


def _responses(route: Route, known: Described, *, needs_token: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for status in (route.status, *route.other_answers):
        answer: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        if route.answer is not None:
            schema = known.schema(route.answer)
            answer["content"] = {route.media_type: {"schema": schema}}
            # The same document under another name, or a form of its own.
            other = {kind: schema if kind.endswith("+json") else {"type": "string"} for kind in route.other_media_types}
            answer["content"] |= {kind: {"schema": each} for kind, each in other.items()}
        elif status != HTTPStatus.NO_CONTENT:
            schema = {"type": "object"} if route.media_type == "application/json" else {"type": "string"}
            answer["content"] = {route.media_type: {"schema": schema}}
        yield str(status), answer
    content = {MEDIA_TYPE: {"schema": known.schema(ProblemDocument)}}
    own = content
    if route.refusals is not None:
        own = content | {route.refusals[0]: {"schema": known.schema(route.refusals[1])}}
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
