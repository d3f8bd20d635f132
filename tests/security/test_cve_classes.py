"""Classes of vulnerabilities that brokers had, each with the test that would have caught it. Those of logins, TLS and
tokens are tested where they belong (tests/wire/kafka/sasl, tests/wire/tls), those of missing rights by the table of
every API (tests/wire/kafka/rights_table.py)."""

import gc
import gzip
import importlib
import struct
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cramjam
import pytest
import trio
from trio.testing import trio_test

from engine.config.topic import TOPIC_KEYS
from engine.metrics import Histogram
from tests.wire.http.door import open_http_door
from tests.wire.kafka.door import Client, Closed, config, open_door, until
from tests.wire.kafka.requests import client_of_topic
from tidegate.broker import Broker
from tidegate.config_keys import BROKER_KEYS
from tidegate.listening import CannotListen
from wire.kafka.apis import Api, registered
from wire.kafka.codec import WireError, request_decoder, request_decoder_in_steps, request_encoder
from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.bounds import ALLOCATED_TOGETHER
from wire.kafka.codec.decoding import message_class
from wire.kafka.codec.schema import FieldSchema, StructSchema, load_schema
from wire.kafka.config import Limits
from wire.kafka.connection import FrameBuffer
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest
from wire.kafka.messages.delete_topics import DeleteTopicsRequest
from wire.kafka.messages.describe_groups import DescribeGroupsRequest
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from wire.kafka.request_bounds import BOUNDS
from wire.kafka.served_apis import ServedApi
from wire.kafka.steps import Work

GROWTH, FLOOR_BYTES = 20, 512 * 1024
"""A request takes at most so many times its size (`socket.request.max.expansion`), and what every one may."""
ELEMENTS = 8_000
"""Of three bytes each these would take more, were they taken."""
KEPT = frozenset((None, *range(-5, 257)))
"""Objects that the interpreter has once."""
MEBIBYTE = 1024 * 1024
LONGEST = 2**31 - 1
NUMBERS: dict[str, Any] = {"string": "", "bytes": b"", "bool": False, "float64": 0.0, "uuid": bytes(16)}


def apis() -> Iterator[Any]:
    for _, api in sorted(registered().items()):
        yield pytest.param(api, id=api.name)


def array_paths(struct: StructSchema, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every array that a message has, by the fields that lead to it."""
    for member in struct.fields:
        path = (*before, member.name)
        if member.is_array:
            yield path
        if member.struct is not None:
            yield from array_paths(member.struct, path)


def densest(struct: StructSchema, messages: ModuleType, path: tuple[str, ...], count: int) -> Any:
    """A message with so many elements in that array, each of as few bytes as can be."""
    values: dict[str, Any] = {}
    for member in struct.fields:
        if path and member.name == path[0]:
            values[member.name] = _filled(member, messages, path[1:], count)
    return message_class(messages, struct.name, "request")(**values)


def _filled(member: FieldSchema, messages: ModuleType, rest: tuple[str, ...], count: int) -> Any:
    if not member.is_array:
        assert member.struct is not None
        return densest(member.struct, messages, rest, count)
    if member.struct is None:
        return [NUMBERS.get(member.type, 1)] * count
    return [densest(member.struct, messages, rest, count) for _ in range(1 if rest else count)]


def _frames(api: Api) -> Iterator[tuple[int, str, bytes]]:
    """Of the first and the newest version that is served, the densest request for each of its arrays."""
    messages = importlib.import_module(f"wire.kafka.messages.{API_TABLE[api.key].module}")
    seen: set[bytes] = set()
    for version in sorted({api.first_version, api.last_version}):
        schema = load_schema(api.key, version, "request")
        for path in array_paths(schema):
            message = densest(schema, messages, path, ELEMENTS)
            data = b"".join(bytes(part) for part in request_encoder(api.key, version)(message))  # type: ignore[arg-type]
            if data not in seen:
                seen.add(data)
                yield version, ".".join(path), data


@pytest.mark.parametrize("api", list(apis()))
def test_memory_amplification_of_every_api(api: Api) -> None:
    """CVE-2026-111108, CVE-2026-111115: a few bytes for each element of an array become objects of hundreds."""
    for version, path, data in _frames(api):
        held = _decoded_bytes(api, version, data)
        assert held <= GROWTH * len(data) + FLOOR_BYTES, f"version {version}, {path}: {len(data)} bytes take {held}"


def _decoded_bytes(api: Api, version: int, data: bytes) -> int:
    """What a request comes to, decoded as the server does it; nothing where it is refused."""
    served = ServedApi(api, version, Histogram(), BOUNDS)
    try:
        if len(data) <= served.whole_bytes:
            return _held_bytes(served.decode(memoryview(data), 0), {})
        read = Work(served.decode_in_steps(data, 0), lambda: 0.0)
        read.advance()
        return _held_bytes(read.result, {})
    except WireError:
        return 0


def _held_bytes(value: Any, seen: dict[int, Any]) -> int:
    """An object with all that it alone holds."""
    if id(value) in seen or ((value is None or isinstance(value, int)) and value in KEPT):
        return 0
    seen[id(value)] = value
    size = -(-sys.getsizeof(value) // ALLOCATED_TOGETHER) * ALLOCATED_TOGETHER
    if isinstance(value, list):
        return size + sum(_held_bytes(each, seen) for each in value)
    names = getattr(value, "__struct_fields__", ())
    return size + sum(_held_bytes(getattr(value, name), seen) for name in names)


@pytest.mark.parametrize("count", [2_000, 6_000])
def test_honest_requests_are_not_too_light(count: int) -> None:
    """Names of a few letters, a partition each: nobody is refused for being brief."""
    names = [f"t{number}" for number in range(count)]
    messages = (
        (9, MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])),
        (5, DeleteTopicsRequest(topic_names=names)),
        (5, DescribeGroupsRequest(groups=names)),
        (7, OffsetFetchRequest(topics=[OffsetFetchRequestTopic(name, [0]) for name in names])),
        (5, CreateTopicsRequest(topics=[CreatableTopic(name, 1, 1) for name in names])),
    )
    for version, message in messages:
        data = b"".join(bytes(part) for part in request_encoder(message.API_KEY, version)(message))  # type: ignore[arg-type]
        read = Work(request_decoder_in_steps(message.API_KEY, version)(data, 0), lambda: 0.0)
        assert read.advance()
        assert read.result == message


def test_tagged_fields_do_not_amplify() -> None:
    """CVE-2026-111115: tags that nobody knows, by the thousand."""
    body = b"\x01\x01" + _uvarint(60_000) + b"".join(_uvarint(tag) + b"\x00" for tag in range(60_000))
    with pytest.raises(WireError):
        request_decoder(ApiVersionsRequest.API_KEY, 3)(memoryview(body), 0)


def _uvarint(number: int) -> bytes:
    data = b""
    while number > 0x7F:
        data, number = data + bytes([number & 0x7F | 0x80]), number >> 7
    return data + bytes([number])


@pytest.mark.parametrize("length", [LONGEST, 100 * MEBIBYTE, 8 * MEBIBYTE + 1])
def test_an_announced_length_allocates_nothing(length: int) -> None:
    """CVE-2022-34917: who says that a frame is long has not sent it yet."""
    frames = FrameBuffer(100 * MEBIBYTE, 8 * MEBIBYTE)
    tracemalloc.start()
    try:
        head = struct.pack(">ihh", length, 3, 1)
        space = frames.space(memoryview(bytearray(head)))
        list(frames.received(space, len(head)))
    except WireError:
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 128 * 1024


@trio_test
async def test_frames_that_never_end_by_the_hundred_take_what_was_sent(tmp_path: Path) -> None:
    """CVE-2022-34917: each announces the largest Produce there may be, sends a little of it, and waits."""
    async with open_door(tmp_path, {"socket.request.progress.timeout.ms": 300}) as door:
        begun = struct.pack(">ihhih", 100 * MEBIBYTE, 0, 9, 1, -1) + bytes(1000)
        clients = [await door.connect() for _ in range(200)]
        for client in clients:
            await client.send_bytes(begun)
        server = door.broker.server
        await until(lambda: server.under_way()[2] > 0)
        assert server.under_way()[2] <= len(clients) * 64 * 1024, "each has announced 100 MiB"
        other = await door.connect()
        await other.ask(ApiVersionsRequest())
        await until(lambda: len(server.connections) <= 1, patience_s=20)


@trio_test
async def test_half_open_connections_by_the_thousand_take_little_and_stop_nobody(tmp_path: Path) -> None:
    """CVE-2022-34917: connections that say nothing, or half of a length."""
    async with open_door(tmp_path) as door:
        host, port = door.broker.kafka_address.rsplit(":", 1)
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        streams = []
        for number in range(1_000):
            stream = await trio.open_tcp_stream(host, int(port))
            if number % 2:
                await stream.send_all(b"\0\0")
            streams.append(stream)
        await until(lambda: len(door.broker.server.connections) == len(streams), patience_s=30)
        taken = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert taken < 32 * 1024 * len(streams), "of both sides, for the clients are in this process"
        await (await door.connect()).ask(ApiVersionsRequest())
        for stream in streams:
            await stream.aclose()


BOMB = bytes(64 * MEBIBYTE)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [("gzip", gzip.compress(BOMB, 9)), ("zstd", bytes(cramjam.zstd.compress(BOMB))), ("deflate", b"x")],
)
@trio_test
async def test_compressed_http_bodies_are_not_opened(tmp_path: Path, content_type: str, body: bytes) -> None:
    """CVE-2026-111073, CVE-2023-34455: what is small on the wire and large once it is opened. Records are tested in
    tests/coordinators/records/test_opening.py, codec by codec; telemetry is not taken at all."""
    async with open_http_door(tmp_path) as door:
        headers = {"content-encoding": content_type, "content-type": "application/json"}
        tracemalloc.start()
        answer = await door.ask("POST", "/topics/t/delayed/1/cancel", headers, body)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 400 <= answer.status < 500
        assert peak < 16 * MEBIBYTE


CLIENT_TELEMETRY = (71, 72)


def test_telemetry_is_not_taken() -> None:
    """CVE-2026-111073: pushed telemetry is compressed; nobody asked for it here."""
    assert not registered().keys() & set(CLIENT_TELEMETRY)


CODE_WORDS = ("class", "jaas", "plugin", "command", "script", "url", "endpoint")
NOT_CODE = {
    "file.delete.delay.ms": "a time",
    "replica.selector.class": "one of two names, which are not loaded",
    "group.coordinator.rebalance.protocols": "names of protocols",
    "http.advertised.url": "what clients are told; nothing is asked there by the broker",
}


def test_no_key_that_can_be_altered_over_the_wire_names_code_urls_or_files() -> None:
    """CVE-2023-25194, CVE-2025-27817 to 27819, CVE-2024-31141, RocketMQ CVE-2023-33246: a setting that loads code."""
    altered = [key for key in (*BROKER_KEYS.values(), *TOPIC_KEYS.values()) if not key.read_only]
    suspicious = [
        key.name
        for key in altered
        if any(word in key.name.split(".") for word in (*CODE_WORDS, "path", "file", "location", "directory"))
    ]
    assert [name for name in suspicious if name not in NOT_CODE] == []


@pytest.mark.parametrize("value", ["${file:/etc/passwd:root}", "${env:HOME}", "ldap://127.0.0.1/x", "$(id)", "../../x"])
@trio_test
async def test_values_from_the_wire_are_not_expanded(tmp_path: Path, value: str) -> None:
    """CVE-2024-31141: `${file:...}` in a value reads a file of the broker."""
    async with client_of_topic(tmp_path) as (client, _):
        entries = [AlterableConfig("dead.letter.topic", 0, value), AlterableConfig("retention.ms", 0, value)]
        for entry in entries:
            request = IncrementalAlterConfigsRequest([AlterConfigsResource(2, "t", [entry])])
            answer = await client.ask(request)
            assert answer.responses[0].error_code != 0, "no value of that kind is taken"
            assert "root:" not in (answer.responses[0].error_message or "")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
@trio_test
async def test_the_operations_door_beyond_loopback_without_a_secret_does_not_start(tmp_path: Path, host: str) -> None:
    """RocketMQ CVE-2023-33246, CVE-2023-37582, Redpanda CVE-2026-82266, Connect CVE-2026-123270: an open admin port."""
    with pytest.raises(CannotListen, match=r"http\.token"):
        async with Broker(config(tmp_path, {"http.host": host, "http.port": -1})):
            pass


@trio_test
async def test_no_authorization_is_not_let_in_on_any_route(tmp_path: Path) -> None:
    """Karapace CVE-2025-61673: a header that is missing skipped the check."""
    async with open_http_door(tmp_path, {"http.token": "a-secret-of-some-length"}) as door:
        for path in ("/topics", "/config", "/quotas", "/quotas/use", "/groups", "/cluster", "/nothing-there"):
            answer = await door.ask("GET", path, {})
            assert answer.status in (401, 404), path
            if answer.status == 404:
                assert path == "/nothing-there"


@trio_test
async def test_a_request_is_whole_although_the_buffer_is_shared(tmp_path: Path) -> None:
    """CVE-2026-35554: a pooled buffer that is used again before what it holds was sent."""
    async with open_door(tmp_path) as door:
        clients: list[Client] = [await door.connect() for _ in range(20)]
        async with trio.open_nursery() as nursery:
            for number, client in enumerate(clients):
                nursery.start_soon(_asks_for_itself, client, f"client-{number}")


async def _asks_for_itself(client: Client, name: str) -> None:
    for _ in range(5):
        head, rest = (whole := client.prepare(ApiVersionsRequest(name, "1"), 3))[:9], whole[9:]
        await client.send_bytes(head)
        await trio.lowlevel.checkpoint()
        await client.send_bytes(rest)
        try:
            answer = await client.receive()
        except Closed as error:
            raise AssertionError(f"{name} was cut off") from error
        assert answer.error_code == 0


def test_the_largest_request_before_a_login_is_small() -> None:
    """CVE-2022-34917: what an unknown client may have us keep."""
    assert BROKER_KEYS["sasl.server.max.receive.size"].default == 512 * 1024
    assert Limits().max_control_frame_bytes <= 8 * MEBIBYTE
