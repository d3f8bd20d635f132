"""What a node sends to another for the callers of its doors."""

from typing import Any

import msgspec
import pytest
from attrs import define, field
from trio.testing import trio_test

from coordinators.access.callers import Caller, Principal
from coordinators.replication.ports import LinkBroken
from engine.errors import PolicyViolation
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.envelope import EnvelopeRequest, EnvelopeResponse
from wire.kafka.nodes.carrying import CALL, CarriedFor, Carrying, _header

CALLER = Caller(Principal("alice"), "10.0.0.9", tenant="acme")


@define(eq=False)
class Links:
    """One that answers what it is told to, and keeps what it is asked."""

    answer: EnvelopeResponse
    asked: list[tuple[int, EnvelopeRequest]] = field(factory=list)

    async def ask(self, node_id: int, message: EnvelopeRequest, _: Any, __: float) -> EnvelopeResponse:
        self.asked.append((node_id, message))
        return self.answer


@trio_test
async def test_a_call_says_who_calls_and_from_where() -> None:
    links = Links(EnvelopeResponse(b"the answer"))
    assert await Carrying(links).call(2, CALLER, "http", b"what?", 1.0) == b"the answer"  # type: ignore[arg-type]
    ((node_id, envelope),) = links.asked
    assert node_id == 2
    assert bytes(envelope.request_data) == _header.pack(CALL, 0, 0, 0) + b"what?"
    assert bytes(envelope.client_host_address) == b"10.0.0.9"
    told = msgspec.json.decode(envelope.request_principal or b"", type=CarriedFor)
    assert told == CarriedFor("User", "alice", "http", "acme", call=True)


@trio_test
async def test_what_the_node_refuses_is_raised() -> None:
    links = Links(EnvelopeResponse(error_code=ErrorCode.POLICY_VIOLATION))
    with pytest.raises(PolicyViolation):
        await Carrying(links).call(2, CALLER, "http", b"what?", 1.0)  # type: ignore[arg-type]


@trio_test
async def test_a_node_by_itself_has_nobody_to_ask() -> None:
    with pytest.raises(LinkBroken):
        await Carrying().call(2, CALLER, "http", b"what?", 1.0)
