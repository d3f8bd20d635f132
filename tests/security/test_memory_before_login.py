"""What somebody takes of a broker's memory who has not shown who it is: looked at from outside, in the real process."""

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tidegate import testing

CONNECTIONS = 64
MOST_BYTES = 1024 * 1024
"""Of each connection."""
API_VERSIONS, HANDSHAKE, AUTHENTICATE, METADATA = 18, 17, 36, 3
ALLOWED_FRAME = 512 * 1024


@pytest.fixture(scope="module")
def broker() -> Iterator[testing.RunningBroker]:
    settings = {
        "listeners": "IN://127.0.0.1:0",
        "listener.security.protocol.map": "IN:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "max.connections.unauthenticated": "1000",
        "grpc.port": "-1",
        "grpc.token": "secret",
        "text.port": "-1",
        "text.token": "secret",
        "http.token": "secret",
        "registry.port": "-1",
        "registry.token": "secret",
    }
    with testing.broker(settings, timeout_s=60) as running:
        yield running


def resident_bytes(broker: testing.RunningBroker) -> int:
    assert broker._process is not None
    status = Path(f"/proc/{broker._process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


def header(key: int, version: int, *, flexible: bool = False) -> bytes:
    return struct.pack(">hhih", key, version, 1, -1) + (b"\x00" if flexible else b"")


def framed(data: bytes, size: int | None = None) -> bytes:
    return struct.pack(">i", len(data) if size is None else size) + data


SHAKEN = framed(header(HANDSHAKE, 1) + struct.pack(">h", 13) + b"SCRAM-SHA-256")
FULL = header(AUTHENTICATE, 1) + struct.pack(">i", ALLOWED_FRAME - 100) + bytes(ALLOWED_FRAME - 200)
TAGS = b"\xe0\xa7\x12" + b"".join(bytes((0x80 | n & 0x7F, n >> 7, 0)) for n in range(1, 16_000))
SENT = {
    "a frame that does not end": SHAKEN + framed(FULL, ALLOWED_FRAME),
    "one that is announced as the largest there is": framed(header(AUTHENTICATE, 2), 2**31 - 1),
    "a thousand tags": framed(header(API_VERSIONS, 3, flexible=True) + b"\x02a\x021" + TAGS),
    "a large request of those who are known": framed(header(METADATA, 1) + struct.pack(">i", 100_000) + bytes(200_000)),
    "names that are not ended": SHAKEN + framed(header(AUTHENTICATE, 1) + struct.pack(">i", 2**31 - 1)),
}


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT.keys())
def test_a_stranger_takes_a_mebibyte_at_most(broker: testing.RunningBroker, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", broker.port), 10) as first:
        _send(first, sent)  # what is loaded with the first of a kind is nobody's
    before = resident_bytes(broker)
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            each = stack.enter_context(socket.create_connection(("127.0.0.1", broker.port), 10))
            _send(each, sent)
        # All of them are served what they may be when one more has its answer.
        with socket.create_connection(("127.0.0.1", broker.port), 30) as last:
            last.sendall(framed(header(API_VERSIONS, 0)))
            assert last.recv(4)
        grown = resident_bytes(broker) - before
    assert grown <= CONNECTIONS * MOST_BYTES


def http2(kind: int, flags: int, stream: int, payload: bytes = b"", announced: int | None = None) -> bytes:
    size = len(payload) if announced is None else announced
    return struct.pack(">I", size)[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def call(path: str, stream: int) -> bytes:
    """The frames of a call with an empty message, by a client that packs nothing."""
    fields = (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "b"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    )
    plain = b"".join(b"\x00%c%b%c%b" % (len(a), a.encode(), len(b), b.encode()) for a, b in fields)
    return http2(HEADERS, END_HEADERS, stream, plain) + http2(DATA, 0, stream, bytes(5))


DATA, HEADERS, SETTINGS, CONTINUATION, END_HEADERS = 0, 1, 4, 9, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2(SETTINGS, 0, 0)
PIECE = http2(CONTINUATION, 0, 1, b"x" * 200_000)
GRPC = {
    "headers that do not end": PREFACE + http2(HEADERS, 0, 1, b"\x00" + b"x" * 10_000) + PIECE * 20,
    "a frame that does not end": PREFACE + http2(DATA, 0, 1, b"x" * 200_000, 256 * 1024),
    "watches": PREFACE + b"".join(call("/grpc.health.v1.Health/Watch", 2 * number + 1) for number in range(100)),
    "calls of what it may not": PREFACE + b"".join(call("/tidegate.v1.Produce/Send", 2 * n + 1) for n in range(500)),
}
TEXT = {"a line that does not end": b"PUB " + b"x" * 200_000, "a payload": b"PUB t 900000\r\n" + bytes(800_000)}
POST = b"POST /subjects/s/versions HTTP/1.1\r\nHost: localhost\r\n"
HTTP = {
    "a body": POST + b"Content-Length: 1000000\r\n\r\n" + bytes(900_000),
    "one in chunks": POST + b"Transfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + bytes(0x10000) + b"\r\n") * 14,
}
DOORS = {"grpc_address": GRPC, "text_address": TEXT, "http_url": HTTP, "registry_url": HTTP}
OTHERS = [pytest.param(door, each, id=f"{door}: {name}") for door in DOORS for name, each in DOORS[door].items()]


@pytest.mark.parametrize(("door", "sent"), OTHERS)
def test_nor_does_one_at_another_door(broker: testing.RunningBroker, door: str, sent: bytes) -> None:
    host, _, port = getattr(broker, door).removeprefix("http://").rpartition(":")
    address = host, int(port)
    for _ in range(2):
        with socket.create_connection(address, 10) as first:
            _send(first, sent)
            _take_something(first)
    before = resident_bytes(broker)
    with ExitStack() as stack:
        all_of_them = [stack.enter_context(socket.create_connection(address, 10)) for _ in range(CONNECTIONS)]
        for each in all_of_them:
            _send(each, sent)
            _take_something(each, 0.02)
        _take_something(all_of_them[-1])
        grown = resident_bytes(broker) - before
    assert grown <= CONNECTIONS * MOST_BYTES // 2


def _take_something(connection: socket.socket, wait_s: float = 0.2) -> None:
    """What is told at once; so what was sent before is taken in."""
    connection.settimeout(wait_s)
    with suppress(OSError):
        while connection.recv(65_536):
            pass


def _send(connection: socket.socket, data: bytes) -> None:
    with suppress(ConnectionError):  # it may be refused before its end
        connection.sendall(data)
