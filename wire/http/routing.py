"""Routes as data: each file in `routes/` declares some, and both requests and the OpenAPI document go by them."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import msgspec
from attrs import evolve, field, frozen

from wire.http.messages import Response
from wire.http.rights import RouteRights
from wire.services import Services

CHANGING = ("POST", "PUT", "PATCH", "DELETE")

Handle = Callable[..., Awaitable[Any]]
JSON = ("application/json",)
GIVEN = 1
"""A handler's own parameter, the call; those behind it are services."""


class NoParameters(msgspec.Struct, forbid_unknown_fields=True):
    """A route that takes none."""


@frozen
class Route:
    """One method of one path.

    `answer` is the type of what the handler returns, as JSON; None if it returns a `Response`. `place`, `query` and
    `body` are the types of what it takes. `problems` are the statuses that its own errors have.
    """

    method: str
    path: str
    handle: Handle
    summary: str
    answer: Any = None
    place: type[msgspec.Struct] = NoParameters
    query: type[msgspec.Struct] = NoParameters
    body: Any = None
    status: int = 200
    media_type: str = "application/json"
    problems: tuple[int, ...] = ()
    needs_token: bool = True
    needs_readiness: bool = True
    rights: RouteRights | None = None
    """What it asks of its callers; a route that does not say is an error when they are loaded."""
    takes: tuple[str, ...] = JSON
    """Content types of its body. Where it takes others than JSON, its handler reads the body itself."""
    needs_body: bool = True
    """Whether there must be a body, where it takes one."""
    refusals: tuple[str, Any] | None = None
    """Content type and document of what its handler refuses, where that is no problem document."""
    other_answers: tuple[int, ...] = ()
    """Further statuses that carry the same `answer`."""
    other_media_types: tuple[str, ...] = ()
    """In which it answers too, if the caller says so by Accept."""
    piecewise: tuple[str, ...] = ()
    """The content types of bodies that it takes piece by piece (`Request.pieces`); others are taken whole."""
    for_tenants: bool = False
    """Whether callers that belong to a tenant may call: it asks for what it does as they would by Kafka, or minds what
    their names mean (`Call.names`)."""
    takes_away: bool = False
    """Whether a GET gives what is not given again, and so changes something, too."""
    segments: tuple[str, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "segments", tuple(self.path.split("/")[1:]))

    @property
    def changes(self) -> bool:
        """Whether it does something."""
        return self.takes_away or self.method in CHANGING

    def takes_type(self, content_type: str) -> bool:
        """Whether it says that it takes bodies of that type."""
        return self.body is not None and content_type in (*self.takes, *self.piecewise)

    def match(self, segments: tuple[str, ...]) -> dict[str, str] | None:
        """The parameters of a path, or None if it is not this route's."""
        if len(segments) != len(self.segments):
            return None
        found: dict[str, str] = {}
        for wanted, given in zip(self.segments, segments, strict=True):
            if wanted.startswith("{"):
                found[wanted[1:-1]] = given
            elif wanted != given:
                return None
        return found

    def answered(self, result: Any) -> Response:
        """What the handler returned, as it goes out."""
        if isinstance(result, Response):
            return result
        return Response(self.status, b"" if result is None else msgspec.json.encode(result), self.media_type)


class Routes:
    """All routes; two for one method and path are an error."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = tuple(sorted(routes, key=_specific_first))
        seen: set[tuple[str, str]] = set()
        for route in self._routes:
            assert (route.method, route.path) not in seen, f"{route.method} {route.path} is declared twice"
            seen.add((route.method, route.path))
        # By how many segments a path has and with which it begins: few are left to look at.
        self._by_start: dict[tuple[int, str], list[Route]] = {}
        for route in self._routes:
            assert not route.segments[0].startswith("{"), f"{route.path} begins with a parameter"
            self._by_start.setdefault((len(route.segments), route.segments[0]), []).append(route)

    def bound(self, services: Services) -> "Routes":
        """The same with each handler given the services that it names."""
        return Routes(evolve(route, handle=services.bound(route.handle, GIVEN)) for route in self._routes)

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes)

    def find(self, segments: tuple[str, ...], content_type: str = "") -> dict[str, tuple[Route, dict[str, str]]]:
        """By method, the route for a path and its parameters. A path without parameters goes first, unless the body is
        of a type that only one with parameters takes."""
        found: dict[str, tuple[Route, dict[str, str]]] = {}
        for route in self._by_start.get((len(segments), segments[0]), ()):
            place = route.match(segments)
            if place is None:
                continue
            before = found.get(route.method)
            if before is None or (route.takes_type(content_type) and not before[0].takes_type(content_type)):
                found[route.method] = route, place
        return found


def _specific_first(route: Route) -> tuple[int, str, str]:
    return (route.path.count("{"), route.path, route.method)


def load_routes() -> Routes:
    """The routes of every file in `routes/`."""
    import wire.http.routes as package

    modules = [import_module(f"{package.__name__}.{found.name}") for found in iter_modules(package.__path__)]
    found = [route for module in modules for route in module.ROUTES]
    for route in found:
        assert route.rights is not None, f"{route.method} {route.path} does not say what rights it asks for"
    return Routes(found)
