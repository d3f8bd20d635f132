"""Requests that a node carries here for the callers of its doors."""

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from attrs import define, field
from trio.testing import trio_test

from coordinators.access.callers import ANONYMOUS, Caller, Principal
from engine.errors import InvalidRequest
from tests.wire.inner.house import House
from tests.wire.kafka.door import open_door, until
from tests.wire.kafka.guarded import Guarded
from tests.wire.kafka.requests import batch as records
from tests.wire.kafka.requests import create_topic, fetch, produce
from wire.kafka.calls import Guest
from wire.kafka.codec import WireError, response_decoder, response_start
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.envelope import EnvelopeRequest, EnvelopeResponse
from wire.kafka.messages.metadata import MetadataRequest
from wire.kafka.nodes.carried import CarriedRequests
from wire.kafka.nodes.carrying import CALL, CarriedFor, _principal, _request
from wire.kafka.nodes.trust import LinkKind, NodeLink, NodeName
from wire.kafka.request import Context, Endpoint, Peer

SETTINGS: dict[str, object] = {"authorizer.enable": "true", "super.users": "User:root"}
ROOT = Caller(Principal("root"), "10.0.0.9")
LENGTH = 4
CALL_HEADER = struct.pack(">hhih", CALL, 0, 7, 0)
"""With its correlation id, which the link writes there."""


@define(eq=False)
class Sender:
    """A node that has shown who it is, as a connection sees it."""

    carried: CarriedRequests
    peer: Peer
    answers: dict[int, EnvelopeResponse] = field(factory=dict)

    def send(self, message: Any, caller: Caller = ROOT, *, version: int = 12, stays: bool = False) -> Any:
        peer = Peer(caller.host, 0, Endpoint("", 0), -5)
        peer.shows(caller)
        guest = Guest(peer, "http", "http", stays)
        data = b"" if message is None else _request(message, version, "http")
        envelope = EnvelopeRequest(data, _principal(guest, chosen=False), caller.host.encode())
        return self.carried.take(envelope, Context(self.peer, 0, None))

    async def ask(self, message: Any, caller: Caller = ROOT, *, version: int = 12) -> Any:
        self.answers.clear()
        assert self.send(message, caller, version=version) is None
        await until(lambda: self.answers)
        (answer,) = self.answers.values()
        if answer.error_code:
            return answer.error_code
        start = response_start(message.API_KEY, version).size - LENGTH
        assert answer.response_data is not None
        return response_decoder(message.API_KEY, version)(memoryview(answer.response_data), start)


@asynccontextmanager
async def sender(data_dir: Path) -> AsyncIterator[Sender]:
    async with open_door(data_dir, SETTINGS) as door:
        await create_topic(await Guarded(door).client("root"), "t")
        peer = Peer("10.0.0.2", 9, Endpoint("", 0), 77)
        opened = Sender(House(door).service(CarriedRequests), peer)
        peer.served_by(lambda _: None, lambda _: None, lambda *told: opened.answers.update({told[2]: told[3]}))
        peer.link = NodeLink(NodeName(2, 1), LinkKind.CARRIED, 1)
        peer.node_id = 2
        yield opened
        peer.leave()


@trio_test
async def test_it_is_carried_out_in_the_callers_name(tmp_path: Path) -> None:
    async with sender(tmp_path) as node:
        written = await node.ask(produce("t", records([b"v"])))
        assert written.responses[0].partition_responses[0].error_code == 0
        stranger = Caller(Principal("eve"), "10.0.0.9")
        denied = await node.ask(produce("t", records([b"v"])), stranger)
        assert denied.responses[0].partition_responses[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@trio_test
async def test_the_records_of_a_fetch_are_in_the_answer(tmp_path: Path) -> None:
    async with sender(tmp_path) as node:
        await node.ask(produce("t", records([b"the value"])))
        read = await node.ask(fetch("t"))
        assert b"the value" in bytes(read.responses[0].partitions[0].records)


@trio_test
async def test_one_that_waits_keeps_nobody(tmp_path: Path) -> None:
    async with sender(tmp_path) as node:
        assert node.send(fetch("t", max_wait_ms=60_000)) is None
        told = await node.ask(MetadataRequest(None))
        assert [topic.name for topic in told.topics] == ["t"]


@trio_test
async def test_who_has_not_shown_to_be_a_node_is_refused(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        answer = await client.ask(EnvelopeRequest(b"x", b"{}", b"10.0.0.1"), 0)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@trio_test
async def test_an_envelope_within_an_envelope_is_refused(tmp_path: Path) -> None:
    async with sender(tmp_path) as node:
        inner = EnvelopeRequest(b"x", msgspec.json.encode({}), b"10.0.0.1")
        answer = await node.ask(inner, version=0)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@trio_test
async def test_one_that_does_not_say_in_whose_name_is_refused(tmp_path: Path) -> None:
    async with sender(tmp_path) as node:
        for principal in (None, b"", b"[]", b'{"kind":"User"}'):
            answer = node.carried.take(EnvelopeRequest(b"abc", principal, b"h"), Context(node.peer, 0, None))
            assert answer is not None
            assert answer.error_code == ErrorCode.INVALID_REQUEST


@trio_test
async def test_a_request_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    async with sender(tmp_path) as node:
        principal = _principal(Guest(node.peer, "http", "http"), chosen=False)
        with pytest.raises(WireError):
            node.carried.take(EnvelopeRequest(b"\0\3", principal, b"h"), Context(node.peer, 0, None))


@trio_test
async def test_a_guest_that_stays_is_one_until_it_leaves_or_its_node_does(tmp_path: Path) -> None:
    async with sender(tmp_path) as node:
        anybody = Caller(ANONYMOUS, "10.0.0.9")
        for _ in range(2):
            node.answers.clear()
            node.send(MetadataRequest([]), anybody, stays=True)
            await until(lambda: node.answers)
        (known,) = node.carried._senders.values()
        assert len(known.guests) == 1
        (guest,) = known.guests.values()
        node.send(None, anybody, stays=True)
        assert guest.peer.gone
        node.send(MetadataRequest([]), anybody, stays=True)
        (guest,) = known.guests.values()
        node.peer.leave()
        assert guest.peer.gone


def call_of(node: Sender, caller: Caller, data: bytes) -> EnvelopeResponse | None:
    principal = CarriedFor(caller.principal.kind, caller.principal.name, "http", call=True)
    envelope = EnvelopeRequest(CALL_HEADER + data, msgspec.json.encode(principal), caller.host.encode())
    return node.carried.take(envelope, Context(node.peer, 0, None))


@trio_test
async def test_a_call_of_a_door_is_answered_in_the_callers_name(tmp_path: Path) -> None:
    async with sender(tmp_path) as node:

        async def answers(caller: Caller, data: bytes) -> bytes:
            if data == b"bad":
                raise InvalidRequest("it is")
            return f"{caller.principal} of {caller.host}: ".encode() + data

        node.carried.answers = answers
        for data in (b"what?", b"bad"):
            assert call_of(node, ROOT, data) is None
            await until(lambda: node.answers)
            answer = node.answers.pop(7)
            if data == b"bad":
                assert answer.error_code == ErrorCode.INVALID_REQUEST
            else:
                assert answer.response_data == b"User:root of 10.0.0.9: what?"


@trio_test
async def test_a_call_for_a_door_that_is_not_there_is_refused(tmp_path: Path) -> None:
    async with sender(tmp_path) as node:
        node.carried.answers = None
        answer = call_of(node, ROOT, b"what?")
        assert answer is not None
        assert answer.error_code == ErrorCode.POLICY_VIOLATION
