"""Connections that are too many or come too fast: for a listener, an address, the broker, a principal."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import trio_test

from coordinators.access.callers import ANONYMOUS, NODE, Caller, Principal
from coordinators.access.quotas.quotas import Quotas
from engine.clock import ManualClock
from engine.errors import InvalidConfig
from tests.wire.kafka.door import Client, Closed, Door, config, open_door, until
from tests.wire.kafka.quotas import bind
from wire.kafka.connection_limits import ConnectionEntry, EntryLimits, ListenerLimits, TooMany
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.request import Endpoint, Peer

ALICE = Principal("alice")


@asynccontextmanager
async def from_address(door: Door, address: str, listener: int = 0) -> AsyncIterator[Client]:
    sock = trio.socket.socket()
    await sock.bind((address, 0))
    host, port = door.broker.listeners[listener].address.rsplit(":", 1)
    await sock.connect((host, int(port)))
    async with trio.SocketStream(sock) as stream:
        yield Client(stream)


async def is_served(client: Client) -> bool:
    try:
        await client.ask(ApiVersionsRequest())
    except (Closed, trio.BrokenResourceError):
        return False
    return True


@trio_test
async def test_a_listener_has_its_own_number(tmp_path: Path) -> None:
    settings: dict[str, object] = {
        "listeners": "FEW://127.0.0.1:0,MANY://127.0.0.1:0",
        "listener.security.protocol.map": "FEW:PLAINTEXT,MANY:PLAINTEXT",
        "listener.name.few.max.connections": 1,
    }
    async with open_door(tmp_path, settings) as door:
        async with from_address(door, "127.0.0.1") as first, from_address(door, "127.0.0.1") as second:
            assert await is_served(first)
            assert not await is_served(second)
            async with from_address(door, "127.0.0.1", 1) as third, from_address(door, "127.0.0.1", 1) as fourth:
                assert await is_served(third)
                assert await is_served(fourth)
        await until(lambda: not door.broker.server.connections)
        async with from_address(door, "127.0.0.1") as again:
            assert await is_served(again), "the place is free again"


@trio_test
async def test_an_address_may_have_another_number_than_most(tmp_path: Path) -> None:
    settings: dict[str, object] = {
        "max.connections.per.ip": 1,
        "max.connections.per.ip.overrides": "127.0.0.5:2,[::1]:9",
    }
    async with open_door(tmp_path, settings) as door:
        for address, most in (("127.0.0.4", 1), ("127.0.0.5", 2)):
            async with from_address(door, address) as one, from_address(door, address) as two:
                assert await is_served(one)
                assert await is_served(two) == (most == 2)


@pytest.mark.parametrize("value", ["127.0.0.5", "127.0.0.5:x", "host:5", ":5"])
def test_overrides_that_say_nothing_are_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(InvalidConfig, match=r"max\.connections\.per\.ip\.overrides"):
        config(tmp_path, {"max.connections.per.ip.overrides": value})


@trio_test
async def test_an_address_beyond_its_quota_is_closed_later_and_others_are_not(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"quota.window.num": 2}) as door:
        await bind(await door.connect(), {"ip": "127.0.0.9"}, connection_creation_rate=2)
        began = time.monotonic()
        served = []
        for _ in range(3):
            async with from_address(door, "127.0.0.9") as client:
                served.append(await is_served(client))
        assert served == [True, True, False]
        assert time.monotonic() - began >= 0.3, "it is not told at once, so it does not come back at once"
        async with from_address(door, "127.0.0.8") as client:
            assert await is_served(client)
        assert door.broker.server.quotas.connections.throttled == 1


@trio_test
async def test_what_is_too_fast_for_the_broker_waits_to_be_accepted(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"quota.window.num": 2, "max.connection.creation.rate": 4}) as door:
        began = time.monotonic()
        clients = [await door.connect() for _ in range(6)]
        for client in clients:
            assert await is_served(client), "none is refused"
        assert time.monotonic() - began >= 0.2


# -- without a broker


def entry(**limits: int) -> ConnectionEntry:
    return ConnectionEntry(EntryLimits(**limits), Quotas(ManualClock()), ManualClock())


def peer(principal: Principal) -> Peer:
    made = Peer("10.0.0.1", 1, Endpoint("h", 1), 1)
    made.caller = Caller(principal, "10.0.0.1")
    return made


class Arriving:
    """One that is let in when it is told to."""

    def __init__(self) -> None:
        self.ends = trio.Event()

    async def run(self) -> bool:
        await self.ends.wait()
        return True


@trio_test
async def test_a_principal_has_so_many_connections_and_gets_another_when_one_goes() -> None:
    limited = entry(per_principal=1)
    arrived = Arriving()
    arrived.ends.set()
    first = peer(ALICE)
    assert await limited.arrive(arrived, first)
    with pytest.raises(TooMany, match=r"max\.connections\.per\.principal=1 is reached for User:alice"):
        await limited.arrive(arrived, peer(ALICE))
    assert await limited.arrive(arrived, peer(Principal("bob")))
    first.leave()
    assert await limited.arrive(arrived, peer(ALICE))
    for _ in range(3):
        assert await limited.arrive(arrived, peer(ANONYMOUS)), "whoever was not asked is not counted"
    for _ in range(3):
        node = peer(NODE.principal)
        node.node_id = 7
        assert await limited.arrive(arrived, node), "nodes of the cluster are not"


@trio_test
async def test_those_who_have_not_shown_who_they_are_take_a_bounded_number_of_places() -> None:
    limited = entry(unauthenticated=2)
    gate = limited.listener(0)
    arriving = [Arriving(), Arriving()]
    async with trio.open_nursery() as nursery:
        for each in arriving:
            assert gate.refusal("10.0.0.1") is None
            nursery.start_soon(limited.arrive, each, peer(ALICE))
        await trio.testing.wait_all_tasks_blocked()
        refusal = gate.refusal("10.0.0.2")
        assert refusal is not None
        assert "max.connections.unauthenticated=2" in refusal.reason
        assert limited.listener(1, asks=False).refusal("10.0.0.2") is None, "a listener that asks nothing"
        arriving[0].ends.set()
        await trio.testing.wait_all_tasks_blocked()
        assert gate.refusal("10.0.0.2") is None
        arriving[1].ends.set()
    assert limited.arriving == 0


@trio_test
async def test_those_who_have_not_shown_who_they_are_keep_nobody_out_of_a_listener_that_does_not_ask(
    tmp_path: Path,
) -> None:
    settings: dict[str, object] = {
        "listeners": "IN://127.0.0.1:0,OPEN://127.0.0.1:0",
        "listener.security.protocol.map": "IN:SASL_PLAINTEXT,OPEN:PLAINTEXT",
        "max.connections.unauthenticated": 1,
    }
    async with open_door(tmp_path, settings) as door, from_address(door, "127.0.0.1"):
        await until(lambda: door.broker.server.entry.arriving == 1)
        async with from_address(door, "127.0.0.1") as second, from_address(door, "127.0.0.1", 1) as other:
            assert not await is_served(second)
            assert await is_served(other)


def test_a_listener_that_is_not_configured_has_no_limit() -> None:
    limits = EntryLimits(listeners=[ListenerLimits("A", most=1)])
    made = ConnectionEntry(limits, Quotas(ManualClock()), ManualClock())
    bounded, free = made.listener(0), made.listener(1)
    for each in (bounded, free):
        each.entered()
    assert bounded.refusal("10.0.0.1") is not None
    assert free.refusal("10.0.0.1") is None
    bounded.left()
    assert bounded.refusal("10.0.0.1") is None
