"""A connection to another node whose answers come in any order: what is carried over it may take long, and what comes
behind does not wait for that."""

import struct
from typing import Any

import msgspec
from attrs import define

from wire.kafka.codec import WireError
from wire.kafka.messages.envelope import EnvelopeRequest
from wire.kafka.nodes.link import Awaited, Link

_correlation = struct.Struct(">i")
CORRELATION_POSITION = 4
"""In the header of a request, behind its key and version."""


@define(eq=False)
class CarryingLink(Link):
    """See the module. A request inside an Envelope has the correlation id of its Envelope, by which it is answered."""

    def _frame(self, message: Any, version: int) -> bytes:
        if isinstance(message, EnvelopeRequest) and message.request_data:
            message = _numbered(message, self._count)
        return super()._frame(message, version)

    def _answered(self, correlation_id: int) -> Awaited:
        for awaited in self._awaited:
            if awaited.correlation_id == correlation_id:
                self._awaited.remove(awaited)
                return awaited
        raise WireError("an answer that nobody asked for")


def _numbered(message: EnvelopeRequest, correlation_id: int) -> EnvelopeRequest:
    data = bytearray(message.request_data)
    _correlation.pack_into(data, CORRELATION_POSITION, correlation_id)
    return msgspec.structs.replace(message, request_data=bytes(data))
