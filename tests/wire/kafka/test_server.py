"""The door itself: order, limits, hostile and unlucky clients, and that one connection's trouble stays its own."""

import logging
import socket
import struct
import time
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from tests.wire.kafka.door import Client, Closed, Door, frame, open_door, until
from tests.wire.kafka.requests import BY_NAME, batch, create_topic, fetch, fetched, produce, produced
from wire import socket_options
from wire.kafka.fetch_sessions import FetchSessions
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest
from wire.kafka.messages.fetch import FetchTopic
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.metadata import MetadataRequest
from wire.kafka.server import KafkaServer

UNSUPPORTED_VERSION = 35
ALL_TOPICS = MetadataRequest(topics=None)

LONGEST_WAIT_MS = 2**31 - 1


def server_of(door: Door) -> KafkaServer:
    return door.broker.server


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def lives(client: Client) -> bool:
    answer = await client.ask(ALL_TOPICS)
    return answer.controller_id == 1


# -- connections


@trio_test
async def test_a_connection_within_the_machine_begins_unpaced(tmp_path: Path, monkeypatch) -> None:
    # Whatever the machine's own congestion control is, it is taken for one that paces.
    monkeypatch.setattr(socket_options, "PACING", b"")
    async with open_door(tmp_path) as door:
        assert await lives(await door.connect())
        (connection,) = server_of(door).connections.values()
        chosen = connection._transport._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        assert chosen.rstrip(b"\0") == socket_options.LOCAL_CONGESTION_CONTROL


# -- order


@trio_test
async def test_pipelined_requests_are_answered_in_order_although_the_first_waits(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        requests = [
            client.prepare(fetch("t", max_wait_ms=100), BY_NAME),
            client.prepare(ALL_TOPICS),
            client.prepare(ApiVersionsRequest(client_software_name="t", client_software_version="1")),
        ]
        await client.send_bytes(b"".join(requests))
        assert (await client.receive()).responses[0].partitions[0].error_code == 0
        assert [topic.name for topic in (await client.receive()).topics] == ["t"]
        assert (await client.receive()).error_code == 0


@trio_test
async def test_requests_behind_one_that_needs_a_thread_are_answered_after_it(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        create = CreateTopicsRequest(topics=[CreatableTopic("t", 1, 1)])
        pieces = [client.prepare(create), *(client.prepare(ALL_TOPICS) for _ in range(5))]
        await client.send_bytes(b"".join(pieces))
        assert (await client.receive()).topics[0].error_code == 0
        for _ in range(5):
            assert [topic.name for topic in (await client.receive()).topics] == ["t"]


@trio_test
async def test_a_connection_is_served_on_after_its_socket_was_full(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect(receive_buffer_bytes=4096)
        await create_topic(client, "t")
        for _ in range(12):
            await produced(client, "t", batch([bytes(900_000)]))
        await client.send(fetch("t"), BY_NAME)
        (connection,) = server_of(door).connections.values()
        await until(lambda: connection.statistics()["unsent_parts"])
        assert len((await client.receive()).responses[0].partitions[0].records) > 10_000_000
        assert await lives(client)


@trio_test
async def test_a_connection_that_is_muted_while_its_answers_pile_up_is_read_from_again(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"connection.max.inflight.requests": 2}) as door:
        client = await door.connect()
        await create_topic(client, "t")
        (connection,) = server_of(door).connections.values()
        pieces = [client.prepare(fetch("t", max_wait_ms=200), BY_NAME) for _ in range(2)]
        await client.send_bytes(b"".join([*pieces, client.prepare(ALL_TOPICS)]))
        await until(lambda: connection._resume is not None)
        muted_at = trio.current_time()
        connection.mute(0.5)
        with trio.fail_after(5):
            for _ in range(2):
                assert (await client.receive()).responses[0].partitions[0].error_code == 0
            assert [topic.name for topic in (await client.receive()).topics] == ["t"]
            assert trio.current_time() - muted_at >= 0.45
            assert await lives(client)


# -- malformed


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        pytest.param(struct.pack(">i", -1), "negative length", id="negative-length"),
        pytest.param(struct.pack(">i", 2**31 - 1), "socket.request.max.bytes", id="length-beyond-the-limit"),
        pytest.param(struct.pack(">i", 0), "ends too early", id="empty"),
        pytest.param(struct.pack(">i", 3) + b"abc", "ends too early", id="shorter-than-a-header"),
        pytest.param(struct.pack(">ihhih", 10, 3, 1, 1, 500), "client id", id="client-id-beyond-the-frame"),
        pytest.param(struct.pack(">ihhihi", 14, 3, 1, 5, -1, 2**31 - 1), "Metadata", id="count-beyond-the-frame"),
        pytest.param(struct.pack(">ihhihi", 14, 9999, 0, 5, -1, 0), "API key 9999", id="unknown-key"),
        pytest.param(struct.pack(">ihhihi", 14, 3, 99, 5, -1, 0), "API key 3 version 99", id="unknown-version"),
        pytest.param(struct.pack(">ihhihi", 14, 3, -1, 5, -1, 0), "API key 3 version -1", id="negative-version"),
        pytest.param(struct.pack(">ihhihi", 14, 0, 2, 5, -1, 0), "API key 0 version 2", id="advertised-not-served"),
    ],
)
@trio_test
async def test_a_malformed_frame_ends_its_connection_and_says_why_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data: bytes, complaint: str
) -> None:
    async with open_door(tmp_path) as door:
        bystander, client = await door.connect(), await door.connect()
        await client.send_bytes(data)
        await client.wait_closed()
        assert await lives(bystander)
        (line,) = warnings(caplog)
        assert complaint in line
        assert caplog.records[-1].__dict__["address"] == "127.0.0.1"


@trio_test
async def test_a_request_above_the_limit_is_refused_before_it_arrives(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_door(tmp_path, {"socket.request.max.bytes": 1000}) as door:
        client = await door.connect()
        await client.send_bytes(struct.pack(">i", 1001))
        await client.wait_closed()
        assert "larger than socket.request.max.bytes=1000" in warnings(caplog)[0]


@trio_test
async def test_only_produce_may_use_the_whole_limit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings: dict[str, object] = {"socket.control.request.max.bytes": 10_000}
    async with open_door(tmp_path, settings) as door:
        client = await door.connect()
        await create_topic(client, "t")
        assert (await produced(client, "t", batch([bytes(20_000)]))).error_code == 0
        await client.send_bytes(struct.pack(">ihh", 20_000, 3, 1))
        await client.wait_closed()
        assert "API key 3 is larger than socket.control.request.max.bytes=10000" in warnings(caplog)[0]


@trio_test
async def test_what_came_before_a_malformed_frame_is_done_and_answered(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await client.send_bytes(client.prepare(ALL_TOPICS) + struct.pack(">i", -1))
        assert (await client.receive()).topics == []
        await client.wait_closed()


@trio_test
async def test_a_change_of_topics_before_a_malformed_frame_is_carried_out(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, other = await door.connect(), await door.connect()
        create = CreateTopicsRequest(topics=[CreatableTopic("t", 1, 1)])
        await client.send_bytes(client.prepare(create) + struct.pack(">i", -1))
        assert (await client.receive()).topics[0].error_code == 0
        await client.wait_closed()
        assert [topic.name for topic in (await other.ask(ALL_TOPICS)).topics] == ["t"]


@trio_test
async def test_api_versions_of_an_unknown_version_is_answered_in_version_0(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await client.send_bytes(struct.pack(">ihhih", 11, 18, 99, 7, -1) + b"\0")
        answer = await client.receive_frame()
        correlation_id, error_code, count, *entry = struct.unpack(">ihi3h", answer)
        assert (correlation_id, error_code, count, entry) == (7, UNSUPPORTED_VERSION, 1, [18, 0, 4])
        assert await lives(client)


# -- idle and gone


@pytest.mark.parametrize("data", [b"", b"\0\0", struct.pack(">i", 100) + b"abc"], ids=["nothing", "length", "frame"])
@trio_test
async def test_a_client_that_stops_in_the_middle_is_closed_for_being_idle(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    caplog.set_level(logging.INFO)
    async with open_door(tmp_path, {"connections.max.idle.ms": 100}) as door:
        client = await door.connect()
        if data:
            await client.send_bytes(data)
        await client.wait_closed()
        assert "idle for connections.max.idle.ms=100" in caplog.text


@trio_test
async def test_a_client_that_does_something_is_not_idle(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"connections.max.idle.ms": 150}) as door:
        client = await door.connect()
        deadline = trio.current_time() + 0.5
        while trio.current_time() < deadline:
            assert await lives(client)
            await trio.sleep(0.02)


@trio_test
async def test_a_client_that_leaves_during_a_long_poll_leaves_nothing_behind(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, other = await door.connect(), await door.connect()
        topic = await create_topic(client, "t")
        timers = door.broker.node.timers
        before = timers.statistics()["waiting"]
        await client.send(fetch("t", max_wait_ms=600_000), BY_NAME)
        partition = door.broker.node.partitions.get(topic.topic_id, 0)
        assert partition is not None
        await until(lambda: partition.statistics()["watchers"] == 1)
        await client.stream.aclose()
        await until(lambda: partition.statistics()["watchers"] == 0)
        assert timers.statistics()["waiting"] == before
        assert (await produced(other, "t", batch())).error_code == 0
        await until(lambda: len(server_of(door).connections) == 1)


@trio_test
async def test_the_broker_stops_at_once_although_clients_wait(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await client.send(fetch("t", max_wait_ms=600_000), BY_NAME)
        await until(lambda: server_of(door).requests[1] == 1)
        began = trio.current_time()
    assert trio.current_time() - began < 2


# -- limits of connections


@pytest.mark.parametrize("key", ["max.connections", "max.connections.per.ip"])
@trio_test
async def test_connections_above_the_limit_are_refused_until_one_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    async with open_door(tmp_path, {key: 2}) as door:
        first, second = await door.connect(), await door.connect()
        assert await lives(first)
        assert await lives(second)
        third = await door.connect()
        await third.wait_closed()
        assert f"{key}=2 is reached" in warnings(caplog)[0]
        assert server_of(door).statistics()["refused"] == 1
        await first.stream.aclose()
        await until(lambda: len(server_of(door).connections) == 1)
        assert await lives(await door.connect())


# -- memory


@trio_test
async def test_a_client_that_does_not_read_costs_little_and_gets_all_in_the_end(tmp_path: Path) -> None:
    count, in_flight = 1500, 50
    async with open_door(tmp_path, {"connection.max.inflight.requests": in_flight}) as door:
        slow, other = await door.connect(receive_buffer_bytes=4096), await door.connect()
        await create_topic(other, "t")
        await produced(other, "t", batch([bytes(60_000)]))
        (connection, _) = server_of(door).connections.values()

        async def flood() -> None:
            await slow.stream.send_all(b"".join(slow.prepare(fetch("t"), BY_NAME) for _ in range(count)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(flood)
            await until(lambda: connection.statistics()["unsent_parts"])
            for _ in range(20):
                assert (await fetched(other, "t")).error_code == 0
                assert connection.statistics()["unanswered"] <= in_flight
                assert connection.statistics()["unsent_parts"] <= 3 * in_flight
            for _ in range(count):
                answer = await slow.receive()
                assert len(answer.responses[0].partitions[0].records) > 60_000


@trio_test
async def test_more_requests_than_the_limit_wait_to_be_read(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"connection.max.inflight.requests": 3}) as door:
        client, other = await door.connect(), await door.connect()
        await create_topic(other, "t")
        waiting = [client.prepare(fetch("t", max_wait_ms=600_000), BY_NAME) for _ in range(10)]
        await client.send_bytes(b"".join(waiting))
        connection = next(iter(server_of(door).connections.values()))
        await until(lambda: connection.statistics()["unanswered"] == 3)
        await produced(other, "t", batch())
        for _ in range(10):
            assert (await client.receive()).responses[0].partitions[0].records


@trio_test
async def test_large_requests_wait_for_memory_and_are_all_served(tmp_path: Path) -> None:
    settings: dict[str, object] = {"queued.max.request.bytes": 300_000, "message.max.bytes": 2_000_000}
    async with open_door(tmp_path, settings) as door:
        clients = [await door.connect() for _ in range(4)]
        await create_topic(clients[0], "t")
        large = server_of(door).large_requests
        requests = [client.prepare(produce("t", batch([bytes(1_000_000)])), BY_NAME) for client in clients]
        for client, request in zip(clients, requests, strict=True):
            await client.send_bytes(request[:200_000])
        await until(lambda: large.statistics()["waiting"] > 0)
        assert await lives(await door.connect())
        async with trio.open_nursery() as nursery:
            for client, request in zip(clients, requests, strict=True):
                nursery.start_soon(client.send_bytes, request[200_000:])
            for client in clients:
                answer = await client.receive()
                assert answer.responses[0].partition_responses[0].error_code == 0
        await until(lambda: large.statistics() == {"held_bytes": 0, "holders": 0, "waiting": 0})


@trio_test
async def test_a_large_request_that_never_ends_gives_way_to_those_who_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings: dict[str, object] = {"queued.max.request.bytes": 100_000, "connections.max.idle.ms": 400}
    async with open_door(tmp_path, settings) as door:
        hoarder, client = await door.connect(), await door.connect()
        await create_topic(client, "t")

        async def drip() -> None:
            await hoarder.send_bytes(struct.pack(">ihh", 50_000_000, 0, 9) + bytes(300_000))
            try:
                while True:
                    await hoarder.stream.send_all(b"x")
                    await trio.sleep(0.05)
            except trio.BrokenResourceError:
                pass

        async with trio.open_nursery() as nursery:
            nursery.start_soon(drip)
            await until(lambda: server_of(door).large_requests.held_bytes > 100_000)
            assert (await produced(client, "t", batch([bytes(900_000)]))).error_code == 0
        assert "has not arrived whole" in caplog.text


@trio_test
async def test_waiting_requests_count_by_their_bytes(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"connection.max.inflight.bytes": 300_000}) as door:
        client, other = await door.connect(), await door.connect()
        await create_topic(other, "t")
        name = "n" * 249
        waiting = fetch("t", max_wait_ms=600_000)
        waiting.topics += [FetchTopic(topic=f"{name[:-3]}{number:03}", partitions=[]) for number in range(50)]
        data = b"".join(client.prepare(waiting, BY_NAME) for _ in range(20))
        connection = next(iter(server_of(door).connections.values()))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.stream.send_all, data)
            # Each takes some 12.5 KB, which counts ten times.
            await until(lambda: connection.statistics()["unanswered"] == 3)
            assert await lives(other)
            assert connection.statistics()["unanswered"] == 3
            await produced(other, "t", batch())
            for _ in range(20):
                assert (await client.receive()).responses[0].partitions[0].records


@trio_test
async def test_a_request_that_has_begun_and_does_not_go_on_gives_way(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings: dict[str, object] = {"queued.max.request.bytes": 400_000, "socket.request.progress.timeout.ms": 300}
    async with open_door(tmp_path, settings) as door:
        hoarders, client = [await door.connect() for _ in range(3)], await door.connect()
        await create_topic(client, "t")
        for hoarder in hoarders:
            await hoarder.send_bytes(struct.pack(">ihh", 50_000_000, 0, 9) + bytes(200_000))
        await until(lambda: server_of(door).large_requests.held_bytes > 300_000)
        assert (await produced(client, "t", batch([bytes(900_000)]))).error_code == 0
        for hoarder in hoarders:
            await hoarder.wait_closed()
        assert "socket.request.progress.timeout.ms" in caplog.text


@trio_test
async def test_a_request_that_goes_on_slowly_is_waited_for(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"socket.request.progress.timeout.ms": 400}) as door:
        client = await door.connect()
        await create_topic(client, "t")
        data = client.prepare(produce("t", batch([bytes(300_000)])), BY_NAME)
        for start in range(0, len(data), 40_000):
            await client.send_bytes(data[start : start + 40_000])
            await trio.sleep(0.1)
        assert (await client.receive()).responses[0].partition_responses[0].error_code == 0


@trio_test
async def test_an_answer_that_would_be_too_large_is_not_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with open_door(tmp_path, {"socket.response.max.bytes": 20_000}) as door:
        client, other = await door.connect(), await door.connect()
        await client.send(FindCoordinatorRequest(coordinator_keys=[f"group-{number}" for number in range(2000)]))
        await client.wait_closed()
        assert await lives(other)
    assert "larger than socket.response.max.bytes=20000" in caplog.text
    assert server_of(door).ended["failed"] == 0


# -- fairness


class Turns(trio.abc.Instrument):
    """The longest time that a connection's task had the loop, by the processor's clock."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.count = 0
        self._began = time.thread_time()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if "KafkaServer._run" in task.name:
            self.count += 1
            self.longest_s = max(self.longest_s, time.thread_time() - self._began)


@trio_test
async def test_a_connection_that_pipelines_very_much_takes_turns_with_the_others(tmp_path: Path) -> None:
    count = 3000
    async with open_door(tmp_path) as door:
        client = await door.connect()
        request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
        data = b"".join(client.prepare(request) for _ in range(count))
        turns = Turns()
        trio.lowlevel.add_instrument(turns)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.stream.send_all, data)
            for _ in range(count):
                assert (await client.receive()).error_code == 0
        trio.lowlevel.remove_instrument(turns)
    # Without turns one read of 256 KiB, all of it, is a single step of some 100 ms.
    assert turns.longest_s < 0.04


# -- bugs and failures


@trio_test
async def test_a_failed_produce_without_acks_ends_the_connection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_door(tmp_path) as door:
        client, other = await door.connect(), await door.connect()
        await client.send(produce("missing", batch(), acks=0), BY_NAME, answered=False)
        await client.wait_closed()
        assert "acks=0 failed" in warnings(caplog)[0]
        assert await lives(other)


@trio_test
async def test_a_bug_in_a_handler_ends_its_connection_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("planted")

    async with open_door(tmp_path) as door:
        client, other = await door.connect(), await door.connect()
        monkeypatch.setattr(FetchSessions, "begin", broken)
        await client.send(fetch("t"), BY_NAME)
        with pytest.raises(Closed):
            await client.receive()
        assert await lives(other)
        assert "planted" in caplog.text


@trio_test
async def test_a_bug_in_a_handler_that_needs_a_thread_ends_its_connection_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("planted")

    async with open_door(tmp_path) as door:
        client, other = await door.connect(), await door.connect()
        monkeypatch.setattr(door.broker.node.controller.__class__, "create_topics", broken)
        await client.send(CreateTopicsRequest(topics=[CreatableTopic("t", 1, 1)]))
        with pytest.raises(Closed):
            await client.receive()
        assert await lives(other)
        assert "planted" in caplog.text


@pytest.mark.parametrize("max_wait_ms", [50, 600_000], ids=["by-its-timer", "by-new-records"])
@trio_test
async def test_a_bug_in_an_answer_that_comes_later_ends_its_connection_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, max_wait_ms: int
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("planted")

    async with open_door(tmp_path) as door:
        client, other = await door.connect(), await door.connect()
        await create_topic(other, "t")
        await client.send(fetch("t", max_wait_ms=max_wait_ms), BY_NAME)
        await until(lambda: server_of(door).requests[1] == 1)
        partition = next(iter(door.broker.node.partitions))
        monkeypatch.setattr(partition.__class__, "read", broken)
        if max_wait_ms > 50:
            assert (await produced(other, "t", batch())).error_code == 0
        with pytest.raises(Closed):
            await client.receive()
        assert await lives(other)
        assert "planted" in caplog.text


@trio_test
async def test_frames_may_arrive_byte_by_byte(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        for byte in client.prepare(ALL_TOPICS):
            await client.send_bytes(bytes([byte]))
        assert (await client.receive()).controller_id == 1


def test_a_frame_is_what_clients_send() -> None:
    assert frame(MetadataRequest(topics=None), 1, 7, "ab") == struct.pack(">ihhih2si", 16, 3, 1, 7, 2, b"ab", -1)
