"""Requests of this node's doors that are another node's to carry out: sent to it inside Envelopes, in the name of
whoever asks. `carried.py` is the other end."""

import struct
from typing import TYPE_CHECKING, Any

import msgspec
import trio
from attrs import define, field

from coordinators.access.callers import Caller
from coordinators.replication.ports import LinkBroken
from wire.kafka.calls import Guest, written
from wire.kafka.codec import is_flexible, response_decoder, response_start
from wire.kafka.errors import broker_error
from wire.kafka.messages.envelope import EnvelopeRequest

if TYPE_CHECKING:
    from wire.kafka.nodes.links import SharedLinks

VERSIONS = (0, 0)
MOST_AT_ONCE = 512
"""Of requests that are carried at a time, to all nodes; a further one waits for its turn."""
LEAVE_S = 5.0
CALL = -1
"""The key in the header of what is no request of Kafka's."""
LENGTH_BYTES = 4
_header = struct.Struct(">hhih")


class CarriedFor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """In whose name a request is carried, besides the address."""

    kind: str
    name: str
    door: str
    tenant: str | None = None
    guest: int = 0
    """Which of the sender's guests it is, if it stays; else 0."""
    chosen: bool = False
    """Whether the door has chosen the partitions."""
    call: bool = False
    """Whether it is a call of that door as it came, for what lives on the other node, and no request of Kafka's."""


@define(eq=False)
class Carrying:
    """See the module. A node by itself has nobody to carry anything to."""

    links: "SharedLinks | None" = None
    _places: trio.CapacityLimiter = field(factory=lambda: trio.CapacityLimiter(MOST_AT_ONCE), init=False)
    _calls: trio.CapacityLimiter = field(factory=lambda: trio.CapacityLimiter(MOST_AT_ONCE), init=False)
    """Calls may wait for records for long, and keep no requests."""

    async def ask(
        self, node_id: int, guest: Guest, message: Any, version: int, timeout_s: float, *, chosen: bool = False
    ) -> Any:
        """The node's answer; None if the request has none. `LinkBroken` where it is not known what became of it."""
        if self.links is None:
            raise LinkBroken(f"node {node_id} is not known here")
        if guest.stays:
            guest.nodes.add(node_id)
        envelope = EnvelopeRequest(
            _request(message, version, guest.client_id), _principal(guest, chosen=chosen), guest.caller.host.encode()
        )
        async with self._places:
            answer = await self.links.ask(node_id, envelope, VERSIONS, timeout_s)
        if answer.error_code:
            raise broker_error(answer.error_code)
        if answer.response_data is None:
            return None
        start = response_start(message.API_KEY, version).size - LENGTH_BYTES
        return response_decoder(message.API_KEY, version)(memoryview(answer.response_data), start)

    async def call(self, node_id: int, caller: Caller, door: str, data: bytes, timeout_s: float) -> bytes:
        """What that door of the node answers to a call of this one. `LinkBroken` where it is not known what became of
        it."""
        if self.links is None:
            raise LinkBroken(f"node {node_id} is not known here")
        principal = CarriedFor(caller.principal.kind, caller.principal.name, door, caller.tenant, call=True)
        envelope = EnvelopeRequest(
            _header.pack(CALL, 0, 0, 0) + data, msgspec.json.encode(principal), caller.host.encode()
        )
        async with self._calls:
            answer = await self.links.ask(node_id, envelope, VERSIONS, timeout_s)
        if answer.error_code:
            raise broker_error(answer.error_code)
        return bytes(answer.response_data or b"")

    async def leave(self, node_id: int, guest: Guest) -> None:
        """Tell a node that a guest asks no more; if it cannot be told, it finds out by the link's end."""
        if self.links is not None:
            envelope = EnvelopeRequest(b"", _principal(guest, chosen=False), guest.caller.host.encode())
            try:
                await self.links.ask(node_id, envelope, VERSIONS, LEAVE_S)
            except LinkBroken:
                return


def _request(message: Any, version: int, client_id: str) -> bytes:
    """With its header; the link fills in the correlation id."""
    name = client_id.encode()[: 2**15 - 1]
    tags = b"\0" if is_flexible(message.API_KEY, version) else b""
    return _header.pack(message.API_KEY, version, 0, len(name)) + name + tags + written(message, version)


def _principal(guest: Guest, *, chosen: bool) -> bytes:
    caller = guest.caller
    number = guest.number if guest.stays else 0
    principal = caller.principal
    return msgspec.json.encode(CarriedFor(principal.kind, principal.name, guest.door, caller.tenant, number, chosen))
