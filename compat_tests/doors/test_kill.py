"""kill -9 of a broker while records are on their way through a door: what was acknowledged is there, in order."""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import IO

import pytest

from compat_tests.brokers import target
from compat_tests.doors.faces import PATIENCE_S, READERS
from tidegate import testing
from tidegate.testing import RunningBroker

pytestmark = pytest.mark.skipif(target() != "tidegate", reason="Kafka has no other doors")

KILLED_AFTER = 100
"""Records that are acknowledged when the broker is killed; what comes until it is gone counts, too."""
BROKEN = (OSError, http.client.HTTPException, EOFError)


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with testing.broker({"text.port": "-1"}, timeout_s=60) as running:
        yield running


def _connected(address: str) -> socket.socket:
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), PATIENCE_S)


def single_calls(broker: RunningBroker, topic: str) -> Iterator[int]:
    """A call for each record, on one connection."""
    calls = http.client.HTTPConnection(broker.http_url.removeprefix("http://"), timeout=PATIENCE_S)
    for number in range(1_000_000):
        body = json.dumps({"value": str(number)})
        calls.request("POST", f"/topics/{topic}/messages", body, {"Content-Type": "application/json"})
        (told,) = json.loads(calls.getresponse().read())["messages"]
        yield told["offset"]


def stream_of_lines(broker: RunningBroker, topic: str) -> Iterator[int]:
    """One request that does not end, with a record in each line of it, sent as fast as the broker takes them."""
    address = broker.http_url.removeprefix("http://")
    with _connected(address) as sock:
        head = f"POST /topics/{topic}/messages HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-ndjson\r\n"
        sock.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        _sending(sock, lambda number: _chunk(json.dumps({"value": str(number)}).encode() + b"\n"))
        answer = http.client.HTTPResponse(sock, method="POST")
        answer.begin()
        assert answer.status == HTTPStatus.OK, answer.read()
        for line in _lines(answer):
            yield json.loads(line)["offset"]


def pipelined_lines(broker: RunningBroker, topic: str) -> Iterator[int]:
    """The text door, without waiting for answers."""
    with _connected(broker.text_address) as sock:
        _sending(sock, lambda number: f"PUB {topic} {len(str(number))}\r\n{number}\r\n".encode())
        for line in _lines(sock.makefile("rb")):
            word, offset = line.split()
            assert word == b"OK", line
            yield int(offset)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _sending(sock: socket.socket, written: Callable[[int], bytes]) -> None:
    """Records from 0 on, by a thread of their own, until the connection breaks."""

    def send() -> None:
        number = 0
        try:
            while True:
                sock.sendall(b"".join(written(each) for each in range(number, number + 50)))
                number += 50
        except OSError:
            return

    threading.Thread(target=send, daemon=True).start()


def _lines(lines: IO[bytes]) -> Iterator[bytes]:
    """Whole ones, until the connection breaks."""
    while (line := lines.readline()).endswith(b"\n"):
        yield line
    raise EOFError


@pytest.mark.parametrize("way", [single_calls, stream_of_lines, pipelined_lines])
def test_nothing_that_was_acknowledged_is_lost(
    broker: RunningBroker, way: Callable[[RunningBroker, str], Iterator[int]]
) -> None:
    topic = way.__name__
    killer = threading.Thread(target=broker.kill)
    offsets: list[int] = []
    with suppress(*BROKEN):
        for offset in way(broker, topic):
            offsets.append(offset)
            if len(offsets) == KILLED_AFTER:
                killer.start()
    assert len(offsets) >= KILLED_AFTER
    killer.join()
    broker.start()
    assert offsets == list(range(len(offsets)))
    found = [item.value for item in READERS["kafka"].read(broker, topic, len(offsets))]
    assert found == [b"%d" % number for number in range(len(offsets))]
