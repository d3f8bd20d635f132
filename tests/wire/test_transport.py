"""A socket as connections see it, and a transport as a stream."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test, wait_all_tasks_blocked

from wire.transport import MORE, SocketTransport, TransportStream


@contextmanager
def connected() -> Iterator[tuple[SocketTransport, socket.socket]]:
    """A transport, and the client's end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        yield SocketTransport(ours, ("client", 7)), theirs


def test_bytes_parts_and_files_arrive_in_order(tmp_path: Path) -> None:
    with connected() as (transport, client), (tmp_path / "segment").open("w+b") as file:
        file.write(b"0123456789")
        file.flush()
        assert transport.send(b"ab", MORE) == 2
        assert transport.send_parts([b"c", memoryview(b"de")], MORE) == 3
        assert transport.send_file(file.fileno(), 3, 4) == 4
        assert client.recv(100) == b"abcde3456"
        assert transport.address == ("client", 7)


def test_nothing_waits_where_there_is_nothing_to_receive_or_no_room() -> None:
    with connected() as (transport, client):
        space = memoryview(bytearray(10))
        with pytest.raises(BlockingIOError):
            transport.receive_into(space)
        client.send(b"xyz")
        assert (transport.receive_into(space), bytes(space[:3])) == (3, b"xyz")
        with suppress(BlockingIOError):
            while True:
                transport.send(bytes(100_000), 0)
        with pytest.raises(BlockingIOError):
            transport.send(bytes(100_000), 0)


def test_the_end_is_told_by_receiving_nothing() -> None:
    with connected() as (transport, client):
        client.close()
        assert transport.receive_into(memoryview(bytearray(10))) == 0


@trio_test
async def test_a_stream_waits_until_all_is_sent_and_something_is_there() -> None:
    with connected() as (transport, client):
        stream, other, sent = TransportStream(transport), trio.socket.from_stdlib_socket(client), bytes(10_000_000)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stream.send_all, sent)
            await wait_all_tasks_blocked()
            arrived = 0
            while arrived < len(sent):
                arrived += len(await other.recv(1_000_000))
        received: list[bytes] = []

        async def receive() -> None:
            received.append(await stream.receive_some(3))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(receive)
            await wait_all_tasks_blocked()
            await other.send(b"hello")
        assert received == [b"hel"]
        await stream.send_eof()
        assert await other.recv(10) == b""
        assert await stream.receive_some() == b"lo"


@trio_test
async def test_a_client_that_has_gone_breaks_the_stream() -> None:
    with connected() as (transport, client):
        stream = TransportStream(transport)
        client.close()
        with pytest.raises(trio.BrokenResourceError):
            await stream.send_all(bytes(100))
        assert await stream.receive_some() == b""
        await stream.aclose()
        with pytest.raises(trio.BrokenResourceError):
            await stream.receive_some()
