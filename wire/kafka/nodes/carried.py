"""Requests that another node carries here for its doors' callers: carried out as if those had come themselves.

Only nodes that have shown who they are may do so, for what they say of a caller is believed. Each request is a task of
its own, and is answered when it is done, whichever came before: one that waits for records keeps nobody.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
import trio
from attrs import define, field

from coordinators.access.callers import Caller, Principal
from coordinators.background import Background
from engine.errors import BrokerError, InvalidRequest, PolicyViolation, ThrottlingQuotaExceeded
from wire.kafka.calls import Calls, Guest
from wire.kafka.codec import WireError, decode_request_header, response_start
from wire.kafka.errors import error_code
from wire.kafka.messages.envelope import EnvelopeRequest, EnvelopeResponse
from wire.kafka.nodes.carrying import LENGTH_BYTES, CarriedFor
from wire.kafka.nodes.trust import NodeTrust, only_nodes
from wire.kafka.request import Context, Peer

logger = logging.getLogger("tidegate.kafka")

MOST_AT_ONCE = 2_000
"""Requests of one link that are under way; a node sends fewer."""
MOST_GUESTS = 10_000
"""That stay, of one link."""


AnswersCalls = Callable[[Caller, bytes], Awaitable[bytes]]


@define(eq=False)
class _Sender:
    """A link by which a node carries requests here."""

    under_way: set[trio.CancelScope] = field(factory=set)
    guests: dict[int, Guest] = field(factory=dict)


@define(eq=False)
class CarriedRequests:
    """See the module."""

    calls: Calls
    trust: NodeTrust
    background: Background
    answers: "AnswersCalls | None" = field(default=None, init=False)
    """Carries out calls of a door as they came there; None while this node has no such door."""
    _senders: dict[int, _Sender] = field(factory=dict, init=False)
    """By the ids of their connections."""

    def take(self, request: EnvelopeRequest, context: Context) -> EnvelopeResponse | None:
        """Begin with it; what is not begun is answered at once."""
        link = context.peer.link
        try:
            if link is None:
                raise only_nodes()
            if self.trust.is_replaced(link):
                raise WireError(f"node {link.node_id} asks over a connection that it has replaced")
            return self._begin(request, context.peer)
        except BrokerError as error:
            return EnvelopeResponse(error_code=error_code(error))

    def _begin(self, request: EnvelopeRequest, peer: Peer) -> EnvelopeResponse | None:
        carried_for, caller = _read_caller(request)
        sender = self._sender(peer)
        if not request.request_data:
            self._leave(sender, carried_for.guest)
            return EnvelopeResponse()
        if len(sender.under_way) >= MOST_AT_ONCE or len(sender.guests) >= MOST_GUESTS:
            raise ThrottlingQuotaExceeded("the node carries too much at a time")
        data = bytes(request.request_data)
        header = decode_request_header(memoryview(data), 0)
        if carried_for.call:
            self._begin_call(sender, peer, caller, data[header[4] :], header[2])
            return None
        guest = self._guest(sender, carried_for, caller, header[3])
        scope = trio.CancelScope()
        sender.under_way.add(scope)
        self.background.start_soon(self._carry_out, sender, scope, peer, guest, data, header, carried_for.chosen)
        return None

    # -- who asks

    def _sender(self, peer: Peer) -> _Sender:
        sender = self._senders.get(peer.connection_id)
        if sender is None:
            sender = self._senders[peer.connection_id] = _Sender()
            peer.when_gone(self._gone)
        return sender

    def _gone(self, peer: Peer) -> None:
        sender = self._senders.pop(peer.connection_id, None)
        if sender is not None:
            for scope in sender.under_way:
                scope.cancel()
            for number in tuple(sender.guests):
                self._leave(sender, number)

    def _guest(self, sender: _Sender, carried_for: CarriedFor, caller: Caller, client_id: str | None) -> Guest:
        guest = sender.guests.get(carried_for.guest) if carried_for.guest else None
        if guest is None:
            guest = self.calls.welcome(caller, carried_for.door, client_id, stays=bool(carried_for.guest))
            if guest.stays:
                sender.guests[carried_for.guest] = guest
        elif guest.caller != caller:
            raise InvalidRequest("a guest that stays is one caller from its first request to its last")
        return guest

    def _leave(self, sender: _Sender, number: int) -> None:
        guest = sender.guests.pop(number, None)
        if guest is not None:
            self.calls.leave(guest)

    # -- carrying out

    def _begin_call(self, sender: _Sender, peer: Peer, caller: Caller, data: bytes, correlation_id: int) -> None:
        if self.answers is None:
            raise PolicyViolation("this node has no operations door")
        scope = trio.CancelScope()
        sender.under_way.add(scope)
        answered = partial(self.answers, caller, data)
        self.background.start_soon(self._carry_out_call, sender, scope, peer, answered, correlation_id)

    async def _carry_out_call(
        self,
        sender: _Sender,
        scope: trio.CancelScope,
        peer: Peer,
        answered: Callable[[], Awaitable[bytes]],
        correlation_id: int,
    ) -> None:
        answer = EnvelopeResponse()
        try:
            with scope:
                answer.response_data = await answered()
        except BrokerError as error:
            answer.error_code = error_code(error)
        except Exception:
            logger.exception("a call that node %s carries has failed", peer.node_id)
            answer.error_code = error_code(BrokerError("a bug of the broker"))
        finally:
            sender.under_way.discard(scope)
        if peer.answer is not None:
            peer.answer(EnvelopeRequest.API_KEY, 0, correlation_id, answer)

    async def _carry_out(
        self,
        sender: _Sender,
        scope: trio.CancelScope,
        peer: Peer,
        guest: Guest,
        data: bytes,
        header: tuple[int, int, int, str | None, int],
        chosen: bool,
    ) -> None:
        key, version, correlation_id, _, position = header
        answer = EnvelopeResponse()
        try:
            with scope:
                body = await self.calls.call_written(guest, key, version, data, position, chosen=chosen)
                if body is not None:
                    answer.response_data = _written(key, version, correlation_id, body)
        except BrokerError as error:
            answer.error_code = error_code(error)
        except WireError as error:
            logger.info("a request that node %s carries is refused: %s", peer.node_id, error)
            answer.error_code = error_code(InvalidRequest(str(error)))
        except Exception:
            logger.exception("a request that node %s carries has failed", peer.node_id)
            answer.error_code = error_code(BrokerError("a bug of the broker"))
        finally:
            sender.under_way.discard(scope)
            if not guest.stays:
                self.calls.leave(guest)
        if peer.answer is not None:
            peer.answer(EnvelopeRequest.API_KEY, 0, correlation_id, answer)


def _read_caller(request: EnvelopeRequest) -> tuple[CarriedFor, Caller]:
    try:
        carried_for = msgspec.json.decode(request.request_principal or b"", type=CarriedFor)
        host = bytes(request.client_host_address).decode()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"an Envelope does not say in whose name it is: {error}") from None
    return carried_for, Caller(Principal(carried_for.name, carried_for.kind), host, tenant=carried_for.tenant)


def _written(key: int, version: int, correlation_id: int, body: bytes) -> bytes:
    return response_start(key, version).pack(len(body), correlation_id)[LENGTH_BYTES:] + body
