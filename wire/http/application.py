"""Requests in, answers out: finds the route, checks who calls and what is asked, and tells what went wrong."""

import logging
from collections import Counter
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec

from coordinators.access.access import AccessControl
from coordinators.access.callers import ANONYMOUS, Caller
from coordinators.cluster.nodes import Nodes
from coordinators.release.inspection import Inspection
from coordinators.release.releases import Releases
from engine.errors import BrokerError
from engine.workers import Workers
from wire.http.callers import LOCAL, Reception, Visitor
from wire.http.carried import read_call, written_answer
from wire.http.config import HttpLimits
from wire.http.connection import HttpConnection
from wire.http.decoding import Decoding
from wire.http.elsewhere import Doors
from wire.http.guard import check_changing, check_host, is_from_a_page, is_preflight, preflight, shared
from wire.http.life import Life, Phase
from wire.http.messages import Call, Request, Response
from wire.http.problems import Problem, of_broker_error
from wire.http.rest.by_schema import SchemaFormats
from wire.http.rest.consumers import Instances
from wire.http.routing import JSON, Route, Routes, load_routes
from wire.http.streams import Streams
from wire.http.topic_readers import TopicReaders
from wire.inner.asking import InnerClient
from wire.inner.namespaces import EVERYBODYS, Names, Namespaces
from wire.inner.reading import RecordReading
from wire.inner.residents import Residents
from wire.registry.known import KnownSchemas
from wire.registry.mounted import MountedRegistry
from wire.services import Services
from wire.transport import Transport, TransportStream

logger = logging.getLogger("tidegate.http")

MAX_QUERY_FIELDS = 32
UNKNOWN_PATH = "other"
FORM = "application/x-www-form-urlencoded"
"""What curl says of a body if it is told nothing else."""
Found = dict[str, tuple[Route, dict[str, str]]]
"""The routes of a path by method, with its parameters."""


class Application:
    """The operations door behind its socket."""

    def __init__(
        self,
        routes: Routes,
        life: Life,
        reception: Reception,
        rules: AccessControl | None = None,
        namespaces: Namespaces | None = None,
    ) -> None:
        self._routes = routes
        self._life = life
        self._reception = reception
        self._rules = rules
        self._namespaces = namespaces
        self.registry: MountedRegistry | None = None
        self.answered: Counter[tuple[str, str, int]] = Counter()

    def connection(
        self, transport: Transport, limits: HttpLimits, visitor: Visitor, streams: Streams
    ) -> HttpConnection:
        """One connection, to be run."""
        respond = partial(self.respond, visitor=visitor)
        seat = streams.seat(transport.has_ended)
        turns_away = partial(self.turns_away, visitor=visitor)
        return HttpConnection(TransportStream(transport), limits, respond, self.takes_pieces, seat, turns_away)

    def takes_pieces(self, request: Request) -> bool:
        """Whether the request's route takes its body as it arrives."""
        try:
            found = self._find(request).get(request.method)
        except Problem:
            return False
        return found is not None and request.content_type in found[0].piecewise

    async def turns_away(self, request: Request, visitor: Visitor = LOCAL) -> Response | None:
        """What is answered to who sends a large body and has not shown who it is, where that is asked; also by paths
        that are open, none of which takes such a body."""
        path = request.target.partition("?")[0]
        if self.registry is not None and self.registry.takes(path):
            return await self.registry.turns_away(request, visitor)
        try:
            check_host(request, self._reception.access)
            await self._reception.caller(request, visitor)
        except Problem as problem:
            self.answered[_known_method(request.method), UNKNOWN_PATH, problem.status.value] += 1
            return shared(problem.response(path), request, self._reception.access)
        return None

    async def respond(self, request: Request, visitor: Visitor = LOCAL) -> Response:
        """The answer to a request; whatever happens there is one."""
        path, _, query = request.target.partition("?")
        if self.registry is not None and self.registry.takes(path):
            return await self.registry.respond(request, visitor)
        label, names = UNKNOWN_PATH, EVERYBODYS
        try:
            check_host(request, self._reception.access)
            found = self._find(request)
            if is_preflight(request) and "OPTIONS" not in found:
                return preflight(request, self._reception.access)
            if (method := _method(request, found)) in found:
                label = found[method][0].path
            caller = await self._caller(found, request, visitor)
            names = self._names(found, request, caller)
            route, place = _chosen(found, request, path)
            response = await self._answer(route, place, request, query, caller, names)
        except Problem as problem:
            response = problem.told_in(names).response(path)
        except BrokerError as error:
            response = of_broker_error(error).told_in(names).response(path)
        except Exception:
            logger.exception("answering %s %s failed", request.method, path)
            detail = "a bug of the broker; its log tells more"
            response = Problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail).response(path)
        self.answered[_known_method(request.method), label, response.status] += 1
        return shared(response, request, self._reception.access)

    async def carried(self, caller: Caller, data: bytes) -> bytes:
        """The answer to a call that came to another node's door, which knows who calls and that it may."""
        request = read_call(data)
        path, _, query = request.target.partition("?")
        names = EVERYBODYS
        try:
            found = self._find(request)
            names = self._names(found, request, caller)
            route, place = _chosen(found, request, path)
            response = await self._answer(route, place, request, query, caller, names)
        except Problem as problem:
            response = problem.told_in(names).response(path)
        except BrokerError as error:
            response = of_broker_error(error).told_in(names).response(path)
        return written_answer(response)

    def _find(self, request: Request) -> Found:
        path = request.target.partition("?")[0]
        if not path.startswith("/"):
            raise Problem(HTTPStatus.BAD_REQUEST, "the request's target must be a path")
        try:
            segments = tuple(unquote(segment, errors="strict") for segment in path.split("/")[1:])
        except UnicodeDecodeError:
            raise Problem(HTTPStatus.BAD_REQUEST, "the path is not UTF-8") from None
        return self._routes.find(segments, request.content_type)

    async def _caller(self, found: Found, request: Request, visitor: Visitor) -> Caller:
        """Who calls. It is asked before anything is told, of what there is not too; but what is open is open."""
        if found and not any(route.needs_token for route, _ in found.values()):
            return Caller(ANONYMOUS, visitor.host)
        return await self._reception.caller(request, visitor)

    def _names(self, found: Found, request: Request, caller: Caller) -> Names:
        """What the caller's names mean; a tenant's is refused where all tenants would be told of."""
        if self._namespaces is None or (found and not any(route.needs_token for route, _ in found.values())):
            return EVERYBODYS
        names = self._namespaces.of(caller)
        route = found.get(_method(request, found))
        if names.tenant is not None and not (route is not None and route[0].for_tenants):
            raise Problem(HTTPStatus.FORBIDDEN, f"this is the operator's, not of the tenant {names.tenant}'s")
        return names

    async def _answer(
        self, route: Route, place: dict[str, str], request: Request, query: str, caller: Caller, names: Names
    ) -> Response:
        if route.changes:
            check_changing(request, self._reception.access)
        if route.needs_readiness and self._life.phase is not Phase.READY:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"the broker is {self._life.phase.value}",
                headers={"Retry-After": "1"},
            )
        call = Call(
            _converted(place, route.place, "the path"),
            _converted(_query_fields(query), route.query, "the query"),
            _body(request, route),
            request,
            caller,
            names,
        )
        if self._namespaces is not None:
            await self._namespaces.charge(names)
        if self._rules is not None and route.rights is not None:
            route.rights.require(call, self._rules, f"{route.method} {route.path}")
        return route.answered(await route.handle(call))


def _chosen(found: Found, request: Request, path: str) -> tuple[Route, dict[str, str]]:
    if not found:
        raise Problem(HTTPStatus.NOT_FOUND, f"there is nothing at {path}; /openapi.json lists what there is")
    method = _method(request, found)
    if method not in found:
        allowed = ", ".join(_allowed(found))
        raise Problem(
            HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes {allowed}, not {method}", headers={"Allow": allowed}
        )
    return found[method]


def _allowed(found: Found) -> list[str]:
    """The methods of a path; where it has one of its own, not those of one with parameters that fits it too."""
    least = min(route.path.count("{") for route, _ in found.values())
    methods = {method for method, (route, _) in found.items() if route.path.count("{") == least}
    return sorted({*methods, *(("HEAD",) if "GET" in methods else ())})


def _method(request: Request, found: Found) -> str:
    return "GET" if request.method == "HEAD" and "HEAD" not in found else request.method


def _known_method(method: str) -> str:
    """A caller's own invention must not become a label of its own."""
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "other"


def _query_fields(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS)
    except ValueError as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"the query cannot be read: {error}") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "the query names a parameter more than once")
    return fields


def _converted(fields: dict[str, str], wanted: type[msgspec.Struct], where: str) -> Any:
    try:
        return msgspec.convert(fields, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{where}: {error}") from None


def _body(request: Request, route: Route) -> Any:
    if route.body is None:
        if request.body and route.method != "GET":
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "this takes no body")
        return None
    if request.pieces is not None or route.takes != JSON:
        return None
    kind = request.content_type or JSON[0]
    if kind not in JSON and (kind != FORM or is_from_a_page(request)):
        raise Problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"a body of type {' or '.join((*JSON, *route.piecewise))} is taken, not {kind!r}: set the Content-Type",
        )
    try:
        return msgspec.json.decode(request.body, type=route.body)
    except msgspec.ValidationError as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"the body: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None
    except RecursionError:
        raise Problem(HTTPStatus.BAD_REQUEST, "the body is nested too deeply") from None


def load_application(services: Services) -> Application:
    """[thread] The application with every route, each given the services that it names."""
    inspection = Inspection(services[Releases], services[Workers])  # type: ignore[type-abstract]
    inner = services[InnerClient]
    doors = Doors(inner, services[Nodes], inner.topics.settings)
    instances = Instances.of(services[Residents], inner.topics.settings)
    readers = TopicReaders(inner, services[RecordReading])
    known = KnownSchemas(services)
    added: dict[type[Any], object] = {
        SchemaFormats: SchemaFormats(services, known),
        Decoding: Decoding(services, known),
        Inspection: inspection,
        Doors: doors,
        Instances: instances,
        TopicReaders: readers,
    }
    routes = load_routes().bound(services.extended(added))
    application = Application(
        routes, services[Life], services[Reception], services[AccessControl], services[Namespaces]
    )
    application.registry = MountedRegistry(services, application.answered)
    return application
