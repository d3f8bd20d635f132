"""Calls in, answers out: finds the method, asks who calls, keeps the deadline, and tells how it ended."""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any

import trio

from coordinators.access.callers import ANONYMOUS, Caller
from engine.errors import BrokerError
from engine.workers import Workers
from wire.grpc.callers import GrpcReception
from wire.grpc.calls import CallState, GrpcCall
from wire.grpc.connection import DoorFigures, GrpcConnection
from wire.grpc.headers import CallHead, NotGrpc, trailers, trailers_only
from wire.grpc.methods import GrpcMethod, load_methods
from wire.grpc.session import HeaderList
from wire.grpc.status import GrpcError, Status, of_broker_error
from wire.http.callers import Visitor
from wire.http.life import Life, Phase
from wire.services import Services
from wire.transport import Transport

logger = logging.getLogger("tidegate.grpc")

UNKNOWN_METHOD = "other"
MOST_OF_STRANGERS = 8
"""Calls that a connection may have under way by which nobody has called who has shown who it is."""
OTHER_FIELDS = 32
"""That a message may have besides its list."""


class GrpcDoor:
    """The door behind its socket."""

    def __init__(
        self,
        methods: Mapping[str, GrpcMethod],
        reception: GrpcReception,
        life: Life,
        figures: DoorFigures,
        workers: Workers,
    ) -> None:
        self._methods = methods
        self._reception = reception
        self._life = life
        self._figures = figures
        self._workers = workers
        self.ended: Counter[tuple[str, str]] = Counter()
        """Calls by method and status."""
        self.messages: Counter[tuple[str, str]] = Counter()
        """Messages by method and direction."""

    def connection(self, transport: Transport, visitor: Visitor) -> GrpcConnection:
        """One connection, to be run."""
        return GrpcConnection(transport, visitor, self._figures, self.serve)

    async def serve(self, state: CallState, headers: HeaderList, visitor: Visitor) -> None:
        """Answer a call; whatever happens it ends, unless its client gives it up."""
        label, status = UNKNOWN_METHOD, Status.CANCELLED
        try:
            try:
                head = CallHead.read(headers)
                if head.path in self._methods:
                    label = head.path.removeprefix("/")
                await self._answer(state, head, visitor, label)
                status = self._end(state, Status.OK)
            except GrpcError as error:
                status = self._end(state, error.status, error.message, error.error)
            except BrokerError as error:
                refusal = of_broker_error(error)
                status = self._end(state, refusal.status, refusal.message, refusal.error)
            except NotGrpc as error:
                status = _refuse(state, error)
            except Exception:
                logger.exception("answering a call of %s failed", label)
                status = self._end(state, Status.INTERNAL, "a bug of the broker; its log tells more")
        finally:
            self.ended[label, status.name] += 1

    async def _answer(self, state: CallState, head: CallHead, visitor: Visitor, label: str) -> None:
        timeout_s = float("inf") if head.timeout_s is None else head.timeout_s
        with trio.move_on_after(timeout_s) as deadline:
            method = self._methods.get(head.path)
            caller = await self._caller(method, head, visitor, state.connection)
            state.connection.is_known |= method is None or not method.is_open
            if method is None:
                raise GrpcError(Status.UNIMPLEMENTED, f"there is no method {head.path}; reflection lists what there is")
            self._check_phase(method)
            most = self._figures.limits.max_message_records + OTHER_FIELDS
            call = GrpcCall[Any](head, caller, self._figures.stopping, state, method.request, self._workers, most)
            try:
                await method.handle(call)
            finally:
                self.messages[label, "received"] += call.received
                self.messages[label, "sent"] += call.sent
        if deadline.cancelled_caught:
            raise GrpcError(Status.DEADLINE_EXCEEDED, "the call was not done by its deadline (grpc-timeout)")

    async def _caller(
        self, method: GrpcMethod | None, head: CallHead, visitor: Visitor, connection: GrpcConnection
    ) -> Caller:
        if method is not None and method.is_open:
            is_stranger = self._reception.reception.asks and not connection.is_known
            if is_stranger and connection.call_count > MOST_OF_STRANGERS:
                raise GrpcError(Status.RESOURCE_EXHAUSTED, f"who is not known has {MOST_OF_STRANGERS} calls at a time")
            return Caller(ANONYMOUS, visitor.host)
        return await self._reception.caller(head, visitor)

    def _check_phase(self, method: GrpcMethod) -> None:
        if method.needs_readiness and self._life.phase is not Phase.READY:
            raise GrpcError(Status.UNAVAILABLE, f"the broker is {self._life.phase.value}")

    def _end(self, state: CallState, status: Status, message: str = "", error: str = "") -> Status:
        session = state.connection.session
        if state.has_begun:
            session.finish(state.stream_id, trailers(status, message, error))
        else:
            session.send_headers(state.stream_id, trailers_only(status, message, error), ends=True)
        return status


def _refuse(state: CallState, error: NotGrpc) -> Status:
    """What is no call is answered as HTTP does it."""
    session, stream_id = state.connection.session, state.stream_id
    session.send_headers(stream_id, ((b":status", b"%d" % error.status), (b"content-type", b"text/plain")))
    session.send_data(stream_id, f"{error}\n".encode())
    session.finish(stream_id, ())
    return Status.UNKNOWN


def load_door(services: Services) -> GrpcDoor:
    """[thread] The door with every method, each given the services that it names."""
    methods = load_methods(services)
    return GrpcDoor(
        methods,
        services[GrpcReception],
        services[Life],
        services[DoorFigures],
        services[Workers],  # type: ignore[type-abstract]
    )
