"""A client of the other doors, as a process of its own:
`python -m tools.bench.door_client LOAD ADDRESS TOPIC RECORDS SIZE`.

Requests are made beforehand, as far as they can be, and of the answers only what has to be is looked at: what is
measured is the door. What it found it prints as JSON.
"""

import json
import selectors
import socket
import sys
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from urllib.parse import quote, urlsplit

import grpc

from tidegate.client.messages.consume_pb2 import ReadRequest
from tidegate.client.messages.produce_pb2 import SendRequest, SendResponse
from tidegate.client.messages.records_pb2 import PartitionRecords

CALLERS = 8
"""Connections over HTTP, each with one request on its way."""
BATCH = 100
PIPELINED = 500
READERS = 1_000
PAGE, FETCHED = 1_000, 10_000
PATIENCE_S = 120.0
RECEIVED_BYTES = 256 * 1024

Load = Callable[[str, str, int, int], int]
"""Of an address, a topic, how many records, of which size: how many were written or read."""


def connected(address: str) -> socket.socket:
    """A connection to `HOST:PORT`, or to a URL."""
    host, port = urlsplit(address if "//" in address else f"//{address}").netloc.rsplit(":", 1)
    made = socket.create_connection((host, int(port)), PATIENCE_S)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


# -- HTTP


def posted(topic: str, document: object) -> bytes:
    """A request that writes."""
    body = json.dumps(document).encode()
    head = f"POST /topics/{topic}/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


def http_single(address: str, topic: str, records: int, size: int) -> int:
    """A record in each request."""
    return _posts(address, posted(topic, {"value": "x" * size}), records)


def http_batch(address: str, topic: str, records: int, size: int) -> int:
    """A hundred in each."""
    requests = -(-records // BATCH)
    return BATCH * _posts(address, posted(topic, [{"value": "x" * size}] * BATCH), requests)


def _posts(address: str, request: bytes, count: int) -> int:
    callers = [connected(address) for _ in range(CALLERS)]
    for begun in range(0, count, CALLERS):
        asked = callers[: min(CALLERS, count - begun)]
        for caller in asked:
            caller.sendall(request)
        for caller in asked:
            _answer(caller)
    return count


def _answer(caller: socket.socket) -> bytes:
    """The body of a whole answer, which must be a good one."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _some(caller)
    head, _, body = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"the door answers {head.splitlines()[0]!r}")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    pieces, missing = [body], length - len(body)
    while missing > 0:
        pieces.append(_some(caller))
        missing -= len(pieces[-1])
    return b"".join(pieces)


def _some(caller: socket.socket) -> bytes:
    piece = caller.recv(RECEIVED_BYTES)
    if not piece:
        raise SystemExit("the door ended the connection")
    return piece


def http_read(address: str, topic: str, records: int, _: int) -> int:
    """Page by page."""
    caller, place, found = connected(address), "earliest", 0
    while found < records:
        target = f"/topics/{topic}/messages?limit={PAGE}&offset={quote(place)}"
        caller.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        page = json.loads(_answer(caller))
        if not page["messages"]:
            break
        found, place = found + len(page["messages"]), page["next"]
    return found


def sse(address: str, topic: str, records: int, size: int) -> int:
    """A thousand readers follow, and records are written one by one; how many were delivered, in all."""
    readers = [_follows(address, topic) for _ in range(READERS)]
    writer, request = connected(address), posted(topic, {"value": "x" * size})
    counts = dict.fromkeys(readers, 0)
    rests = dict.fromkeys(readers, b"")
    with selectors.DefaultSelector() as ready:
        for reader in readers:
            reader.setblocking(False)
            ready.register(reader, selectors.EVENT_READ)
        for number in range(1, records + 1):
            writer.sendall(request)
            _answer(writer)
            _until(ready, counts, rests, number)
    return sum(counts.values())


def _follows(address: str, topic: str) -> socket.socket:
    reader = connected(address)
    head = f"GET /topics/{topic}/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"
    reader.sendall(head.encode())
    received = b""
    while b"id: " not in received:
        received += _some(reader)
    return reader


def _until(
    ready: selectors.BaseSelector, counts: dict[socket.socket, int], rests: dict[socket.socket, bytes], wanted: int
) -> None:
    """Every reader has so many events."""
    missing = sum(wanted - count for count in counts.values())
    while missing > 0:
        events = ready.select(PATIENCE_S)
        if not events:
            raise SystemExit(f"{missing} events did not come")
        for key, _ in events:
            reader = key.fileobj
            assert isinstance(reader, socket.socket), "nothing else is registered"
            *blocks, rests[reader] = (rests[reader] + _some(reader)).split(b"\n\n")
            came = sum(b"data: " in block for block in blocks)
            counts[reader] += came
            missing -= came


# -- gRPC


def grpc_stream(address: str, topic: str, records: int, size: int) -> int:
    """Batches of a hundred on one stream."""
    request = SendRequest(topic=topic)
    for _ in range(BATCH):
        request.records.add(value=b"x" * size)
    with grpc.insecure_channel(address) as channel:
        send = channel.stream_stream(
            "/tidegate.v1.Produce/SendStream",
            request_serializer=SendRequest.SerializeToString,
            response_deserializer=SendResponse.FromString,
        )
        answers: Iterator[SendResponse] = send(repeat(request, -(-records // BATCH)))
        return sum(len(answer.offsets) for answer in answers)


def grpc_read(address: str, topic: str, _: int, __: int) -> int:
    """All there is."""
    with grpc.insecure_channel(address) as channel:
        read = channel.unary_stream(
            "/tidegate.v1.Consume/Read",
            request_serializer=ReadRequest.SerializeToString,
            response_deserializer=PartitionRecords.FromString,
        )
        answers: Iterator[PartitionRecords] = read(ReadRequest(topic=topic, until_end=True))
        return sum(len(answer.records) for answer in answers)


# -- lines


def text_publish(address: str, topic: str, records: int, size: int) -> int:
    """Five hundred on their way at a time."""
    return _lines(connected(address), f"PUB {topic} {size}\r\n".encode() + b"x" * size + b"\r\n", records, b"OK ")


def nats_publish(address: str, topic: str, records: int, size: int) -> int:
    """The same, as NATS has it; each is acknowledged (`verbose`), and none kept."""
    made = connected(address)
    made.sendall(b'CONNECT {"verbose":true,"pedantic":false}\r\n')
    if not _some(made).startswith(b"INFO "):
        raise SystemExit("no NATS server")
    return _lines(made, f"PUB {topic} {size}\r\n".encode() + b"x" * size + b"\r\n", records, b"+OK", before=1)


def _lines(made: socket.socket, command: bytes, records: int, good: bytes, before: int = 0) -> int:
    answers, rest, written = -before, b"", 0
    while written < records:
        count = min(PIPELINED, records - written)
        made.sendall(command * count)
        written += count
        while answers < written:
            *lines, rest = (rest + _some(made)).split(b"\r\n")
            if not all(line.startswith(good) for line in lines):
                raise SystemExit(f"not all of these are good: {lines[:3]}")
            answers += len(lines)
    return answers


def text_fetch(address: str, topic: str, records: int, _: int) -> int:
    """Up to ten thousand for each command."""
    made, found, place = connected(address), 0, 0
    while found < records:
        made.sendall(f"FETCH {topic} {place} count={FETCHED}\r\n".encode())
        came, place = _fetched(made)
        if not came:
            break
        found += came
    return found


def _fetched(made: socket.socket) -> tuple[int, int]:
    """How many an answer has, and where the next goes on."""
    count, place, rest, line = 0, 0, b"", b""
    while not line.startswith(b"END ") and not (count == FETCHED and not line.startswith(b"MSG ")):
        *lines, rest = (rest + _some(made)).split(b"\r\n")
        messages = [each for each in lines if each.startswith(b"MSG ")]
        count, line = count + len(messages), lines[-1] if lines else line
        place = int(messages[-1].split()[1]) + 1 if messages else place
    return count, place


LOADS: dict[str, Load] = {
    "http-single": http_single,
    "http-batch": http_batch,
    "http-read": http_read,
    "sse": sse,
    "grpc-stream": grpc_stream,
    "grpc-read": grpc_read,
    "text-publish": text_publish,
    "text-fetch": text_fetch,
    "nats-publish": nats_publish,
}


def main() -> None:
    """One load to its end."""
    load, address, topic, records, size = sys.argv[1:]
    began = time.monotonic()
    done = LOADS[load](address, topic, int(records), int(size))
    seconds = time.monotonic() - began
    print(json.dumps({"records": done, "seconds": seconds, "records_per_s": done / seconds}))


if __name__ == "__main__":
    main()
