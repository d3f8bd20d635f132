"""Connections are let in within the limits, and forgotten when they end, however that comes."""

import errno
import logging
import os
import socket

import pytest
import trio
from trio.testing import trio_test, wait_all_tasks_blocked

from wire.acceptor import Acceptor, ConnectionLimits
from wire.transport import SocketTransport, Transport

logger = logging.getLogger("tests.acceptor")


class Connection:
    """Ends when it is told to, as it is told to."""

    def __init__(self, transport: Transport, number: int) -> None:
        self.number = number
        self.ends = trio.Event()
        self.error: Exception | None = None

    async def run(self) -> None:
        await self.ends.wait()
        if self.error is not None:
            raise self.error


def transport(address: str) -> SocketTransport:
    ours, theirs = socket.socketpair()
    theirs.close()
    return SocketTransport(ours, (address, 1))


@trio_test
async def test_a_connection_is_kept_until_it_ends_and_a_bug_of_it_ends_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    acceptor: Acceptor[Connection] = Acceptor(ConnectionLimits(10, "most"), logger)
    async with trio.open_nursery() as nursery:
        for address in ("a", "b"):
            acceptor.admit(transport(address), Connection, nursery)
        first, second = acceptor.connections.values()
        assert (first.number, second.number) == (1, 2)
        first.error = ZeroDivisionError()
        first.ends.set()
        await wait_all_tasks_blocked()
        assert list(acceptor.connections.values()) == [second]
        assert (acceptor.ended["failed"], "connection a:1 failed" in caplog.text) == (1, True)
        second.ends.set()
    assert acceptor.statistics() == {"connections": 0, "accepted": 2, "refused": 0}


@pytest.mark.parametrize(
    ("limits", "makes_room", "refusal"),
    [
        (ConnectionLimits(1, "most"), False, "most=1 is reached"),
        (ConnectionLimits(1, "most"), True, None),
        (ConnectionLimits(5, "most", 1, "each"), False, "each=1 is reached"),
    ],
)
@trio_test
async def test_who_comes_beyond_the_limits_is_refused_unless_somebody_gives_way(
    limits: ConnectionLimits, makes_room: bool, refusal: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    def make_room() -> bool:
        if makes_room:
            acceptor.connections.popitem()[1].ends.set()
        return makes_room

    acceptor: Acceptor[Connection] = Acceptor(limits, logger, make_room)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(acceptor.serve, listener, Connection)
            clients = [await trio.open_tcp_stream(*listener.getsockname())]
            await wait_all_tasks_blocked(0.01)
            clients.append(await trio.open_tcp_stream(*listener.getsockname()))
            if refusal is None:
                await wait_all_tasks_blocked(0.01)
                assert [each.number for each in acceptor.connections.values()] == [2]
            else:
                assert await clients[1].receive_some() == b""
                assert refusal in caplog.text
                assert acceptor.statistics() == {"connections": 1, "accepted": 1, "refused": 1}
            nursery.cancel_scope.cancel()
        for client in clients:
            await client.aclose()


class Failing(socket.socket):
    """A listener with an error for the first who is accepted."""

    number = 0

    def accept(self) -> tuple[socket.socket, object]:
        number, self.number = self.number, 0
        if number:
            raise OSError(number, os.strerror(number))
        return super().accept()


@pytest.mark.parametrize(
    ("number", "goes_on"),
    [
        *((number, True) for number in (errno.EMFILE, errno.EPERM, errno.EPROTO, errno.ENETDOWN, errno.EHOSTUNREACH)),
        *((number, False) for number in (errno.EBADF, errno.EINVAL, errno.ENOTSOCK)),
    ],
)
@trio_test
async def test_an_error_of_one_who_is_accepted_keeps_nobody_else_out(
    number: int, goes_on: bool, caplog: pytest.LogCaptureFixture
) -> None:
    acceptor: Acceptor[Connection] = Acceptor(ConnectionLimits(10, "most"), logger)
    with Failing() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        listener.number = number
        client = await trio.open_tcp_stream(*listener.getsockname())
        if not goes_on:
            with trio.fail_after(5), pytest.RaisesGroup(OSError):
                await acceptor.serve(listener, Connection)
        else:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(acceptor.serve, listener, Connection)
                with trio.fail_after(5):
                    while not acceptor.connections:  # noqa: ASYNC110
                        await trio.sleep(0.01)
                nursery.cancel_scope.cancel()
            assert "cannot accept a connection" in caplog.text
        await client.aclose()
