"""The registry in the OpenAPI document: at its own port by itself, below the operations door among that one's paths."""

from functools import cache
from http import HTTPStatus
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from wire.http.openapi import REFERENCE, Described, about, whole
from wire.http.routing import NoParameters, Route, Routes
from wire.registry.media import GIVEN, TAKEN
from wire.registry.refusals import ErrorDocument

MOUNTED = "/schemas"
"""Where the operations door has it; what begins with the same word by itself is not named twice there."""
NAMED_APART = "Registry"
REFUSED = {"$ref": f"{REFERENCE}{NAMED_APART}{ErrorDocument.__name__}"}
CONTEXTS = "Each path may begin with `/contexts/{context}`, which then holds for subjects and ids that name no other."
REFUSALS = (
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_ACCEPTABLE,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
OF_BODIES = (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)


def registry_routes() -> Routes:
    """The routes of every file in `routes/`."""
    import wire.registry.routes as package

    modules = [import_module(f"{package.__name__}.{found.name}") for found in iter_modules(package.__path__)]
    return Routes(route for module in modules for route in module.ROUTES)


@cache
def registry_document(version: str, needs_token: bool) -> bytes:
    """The document of the registry's own port."""
    paths, schemas = described("", needs_token=needs_token)
    info = {"title": "Tidegate's schema registry", "version": version, "summary": CONTEXTS}
    return whole(info, paths, schemas, needs_token=needs_token)


def described(mount: str, *, needs_token: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Paths, below the mount, and components."""
    routes = list(registry_routes())
    types = [each for route in routes for each in (route.answer, route.body, route.query) if each is not None]
    known = Described([ErrorDocument, *types], NAMED_APART)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        operation = _operation(route, known, needs_token=needs_token)
        paths.setdefault(_mounted(route.path, mount), {})[route.method.lower()] = operation
    return paths, known.components


def _mounted(path: str, mount: str) -> str:
    return path if mount and path.startswith(mount) else mount + path


def _operation(route: Route, known: Described, *, needs_token: bool) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"registry_{route.handle.__name__}",
        "tags": ["registry"],
        "parameters": list(known.parameters(route)),
        "responses": _responses(route, known, needs_token=needs_token),
    }
    if route.body is not None:
        schema = known.schema(route.body)
        operation["requestBody"] = {"required": True, "content": {kind: {"schema": schema} for kind in TAKEN}}
    return operation | about(route, needs_token=needs_token)


def _responses(route: Route, known: Described, *, needs_token: bool) -> dict[str, Any]:
    answered = {} if route.answer is None else known.schema(route.answer)
    found = {str(route.status): _response(route.status, answered)}
    statuses = {*REFUSALS, *route.problems, *(OF_BODIES if route.body is not None else ())}
    if route.place is not NoParameters:
        # The path may be no UTF-8, or what it names may be missing.
        statuses |= {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND}
    if needs_token:
        statuses.add(HTTPStatus.UNAUTHORIZED)
    found |= {str(int(status)): _response(status, REFUSED) for status in sorted(statuses)}
    return found | {"default": {**_response(500, REFUSED), "description": "What went wrong"}}


def _response(status: int, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": HTTPStatus(status).phrase, "content": {kind: {"schema": schema} for kind in GIVEN}}
