"""Requests in, answers out, as at the operations door; errors and kinds of content are those of Confluent's API."""

import logging
from collections import Counter
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec

from coordinators.access.access import AccessControl
from coordinators.access.callers import Caller
from coordinators.schemas.names import DEFAULT_CONTEXT, checked_context
from coordinators.schemas.registry import Registry
from engine.errors import BrokerError, PolicyViolation
from wire.http.callers import LOCAL, Reception, Visitor
from wire.http.config import HttpLimits
from wire.http.connection import HttpConnection
from wire.http.guard import READ_ONLY, check_host
from wire.http.life import Life, Phase
from wire.http.messages import Request, Response
from wire.http.problems import Problem
from wire.http.routing import Route, Routes
from wire.http.streams import Streams
from wire.inner.namespaces import Namespaces
from wire.registry.calls import RegistryCall, home_of, told_at, with_booleans
from wire.registry.changing import with_changes
from wire.registry.media import DEFAULT, check_content_type, chosen
from wire.registry.openapi import registry_routes
from wire.registry.refusals import of_error, of_problem, refusal
from wire.services import Services
from wire.transport import Transport, TransportStream

logger = logging.getLogger("tidegate.registry")

MOUNT = "schemas"
"""Under which the operations door has it."""
LOOK_UP, COMPATIBILITY = "/subjects/{subject}", "/compatibility/"
MAX_QUERY_FIELDS = 64
UNKNOWN_PATH = "other"
Found = dict[str, tuple[Route, dict[str, str]]]
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")


class RegistryApplication:
    """The registry behind its socket, or behind the operations door's."""

    def __init__(
        self,
        routes: Routes,
        life: Life,
        reception: Reception,
        rules: AccessControl,
        namespaces: Namespaces,
        registry: Registry,
        *,
        mounted: bool = False,
    ) -> None:
        self._namespaces = namespaces
        self._registry = registry
        self._routes = routes
        self._life = life
        self._reception = reception
        self._rules = rules
        self._mounted = mounted
        self.answered: Counter[tuple[str, str, int]] = Counter()

    def connection(self, transport: Transport, limits: HttpLimits, visitor: Visitor, _: Streams) -> HttpConnection:
        """One connection, to be run; nothing here is sent as a stream."""
        respond, turns_away = partial(self.respond, visitor=visitor), partial(self.turns_away, visitor=visitor)
        return HttpConnection(TransportStream(transport), limits, respond, turns_away=turns_away)

    async def carried(self, _: Caller, __: bytes) -> bytes:
        """Nothing here lives on one node."""
        raise PolicyViolation("the registry's calls are not carried")

    async def turns_away(self, request: Request, visitor: Visitor = LOCAL) -> Response | None:
        """What is answered to who sends a large body and has not shown who it is, where that is asked."""
        try:
            check_host(request, self._reception.access)
            await self._reception.caller(request, visitor)
        except Problem as problem:
            method = request.method if request.method in METHODS else UNKNOWN_PATH
            self.answered[method, UNKNOWN_PATH, problem.status.value] += 1
            return of_problem(problem, DEFAULT)
        return None

    async def respond(self, request: Request, visitor: Visitor = LOCAL) -> Response:
        """The answer to a request; whatever happens there is one."""
        path, _, query = request.target.partition("?")
        label, media_type, home = UNKNOWN_PATH, DEFAULT, DEFAULT_CONTEXT
        try:
            check_host(request, self._reception.access)
            context, found = self._find(path)
            method = "GET" if request.method == "HEAD" else request.method
            if method in found:
                label = found[method][0].path
            caller = await self._reception.caller(request, visitor)
            names = self._namespaces.of(caller)
            home = home_of(names)
            await self._namespaces.charge(names)
            route, place = _chosen(found, method, path)
            media_type = chosen(request)
            self._check_ready()
            if self._reception.access.read_only and _changes(route):
                raise Problem(HTTPStatus.FORBIDDEN, READ_ONLY)
            fields = _converted(place, route.place), _queried(query, route), _body(request, route)
            call = RegistryCall(
                *fields, request, caller, names, context=context, home=home, resolve=self._registry.resolved
            )
            call.stay_home()
            if route.rights is not None:
                route.rights.require(call, self._rules, f"{route.method} {route.path}")
            response = _with_media_type(route.answered(await route.handle(call)), media_type)
        except Problem as problem:
            response = of_problem(problem, media_type)
        except BrokerError as error:
            response = of_error(told_at(home, error), media_type)
        except Exception:
            logger.exception("answering %s %s failed", request.method, path)
            response = refusal(500, "a bug of the broker; its log tells more", media_type)
        self.answered[request.method if request.method in METHODS else UNKNOWN_PATH, label, response.status] += 1
        return response

    def _find(self, path: str) -> tuple[str, Found]:
        """The context that a path names, and the routes of the rest of it."""
        segments = _segments(path)
        if not self._mounted:
            return self._within(segments)
        assert segments[0] == MOUNT
        # The registry's own paths may begin with the same word: `/schemas/ids/1` is meant here and below.
        inner = segments[1:] or (("",) if path.endswith("/") else segments)
        context, found = self._within(inner)
        return (context, found) if found else self._within(segments)

    def _within(self, segments: tuple[str, ...]) -> tuple[str, Found]:
        if len(segments) > 1 and segments[0] == "contexts" and segments[1]:
            return checked_context(segments[1]), self._routes.find(segments[2:] or ("",))
        return DEFAULT_CONTEXT, self._routes.find(segments)

    def _check_ready(self) -> None:
        if self._life.phase is not Phase.READY:
            headers = {"Retry-After": "1"}
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"the broker is {self._life.phase.value}", headers=headers)


def _changes(route: Route) -> bool:
    """Whether it does more than tell: some questions are sent by POST."""
    is_question = route.method == "POST" and (route.path == LOOK_UP or route.path.startswith(COMPATIBILITY))
    return route.changes and not is_question


def _segments(path: str) -> tuple[str, ...]:
    """The parts of the raw path, each decoded by itself: an encoded slash is part of a name. One at the end is none."""
    if not path.startswith("/"):
        raise Problem(HTTPStatus.BAD_REQUEST, "the request's target must be a path")
    try:
        found = tuple(unquote(segment, errors="strict") for segment in path.split("/")[1:])
    except UnicodeDecodeError:
        raise Problem(HTTPStatus.BAD_REQUEST, "the path is not UTF-8") from None
    return found[:-1] if len(found) > 1 and not found[-1] else found


def _chosen(found: Found, method: str, path: str) -> tuple[Route, dict[str, str]]:
    if not found:
        raise Problem(HTTPStatus.NOT_FOUND, f"HTTP 404 Not Found: there is nothing at {path}")
    if method not in found:
        allowed = ", ".join(sorted(found))
        raise Problem(
            HTTPStatus.METHOD_NOT_ALLOWED, f"HTTP 405 Method Not Allowed: {allowed}", headers={"Allow": allowed}
        )
    return found[method]


def _queried(query: str, route: Route) -> Any:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS)
    except ValueError as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"the query cannot be read: {error}") from None
    return _converted(with_booleans(dict(pairs), route.query), route.query)


def _converted(fields: dict[str, Any], wanted: type[msgspec.Struct]) -> Any:
    try:
        return msgspec.convert(fields, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None


def _body(request: Request, route: Route) -> Any:
    if route.body is None:
        return None
    check_content_type(request)
    try:
        return _decoder(route.body).decode(request.body)
    except msgspec.ValidationError as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None
    except RecursionError:
        raise Problem(HTTPStatus.BAD_REQUEST, "the body is nested too deeply") from None


@lru_cache(maxsize=64)
def _decoder(body: type[msgspec.Struct]) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(body)


def _with_media_type(response: Response, media_type: str) -> Response:
    return Response(response.status, response.body, media_type, response.headers)


def load_registry(services: Services, *, mounted: bool = False) -> RegistryApplication:
    """[thread] The application with every route, each given the services that it names."""
    routes = registry_routes().bound(with_changes(services))
    known = services[Life], services[Reception], services[AccessControl], services[Namespaces], services[Registry]
    return RegistryApplication(routes, *known, mounted=mounted)
