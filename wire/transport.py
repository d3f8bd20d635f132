"""What carries a connection's bytes: a socket, or something that behaves like one.

Connections ask for no more than this. So a transport that encrypts, or one in memory for tests, can be put under them
without their knowing. Nothing here waits but `readable` and `writable`: where a transport has nothing to give, or can
take no more, its methods raise BlockingIOError; where the other side has gone, OSError.
"""

import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

import trio

from engine.files.files import Buffer

MORE: int = socket.MSG_MORE
"""A flag of what is sent: more follows at once, so that it is worth waiting for it to fill a packet."""

TCP_INFO: int | None = getattr(socket, "TCP_INFO", None)
"""What a kernel that has it tells of a connection; the first byte of it is the connection's state."""
ESTABLISHED = 1

Address = tuple[str, int]


class Transport(Protocol):
    """One connection."""

    @property
    def address(self) -> Address:
        """Of the client."""

    @property
    def local_address(self) -> Address:
        """By which the client came."""

    def readable(self) -> Awaitable[None]:
        """Wait until there is something to receive, or the end."""

    def writable(self) -> Awaitable[None]:
        """Wait until something can be sent."""

    def receive_into(self, space: memoryview, /) -> int:
        """How many bytes were received; 0 at the end."""

    def send(self, data: Buffer, flags: int, /) -> int:
        """How many of the bytes were taken."""

    def send_parts(self, parts: Sequence[Buffer], flags: int) -> int:
        """The same for several, one after the other."""

    def send_file(self, descriptor: int, position: int, size: int) -> int:
        """The same for a part of a file."""

    def end_sending(self) -> None:
        """The client is told that nothing follows; it may still send."""

    def has_ended(self) -> bool:
        """Whether it is known that the client sends nothing more, perhaps because it is gone."""

    def close(self) -> None:
        """Nothing more, in either direction."""


class SocketTransport:
    """A socket that does not block. What is called for every request are the socket's own methods."""

    __slots__ = ("_socket", "address", "readable", "receive_into", "send", "writable")

    def __init__(self, sock: socket.socket, address: Address) -> None:
        self._socket = sock
        self.address = address
        self.readable: Callable[[], Awaitable[None]] = partial(trio.lowlevel.wait_readable, sock)
        self.writable: Callable[[], Awaitable[None]] = partial(trio.lowlevel.wait_writable, sock)
        self.receive_into: Callable[[memoryview], int] = sock.recv_into
        self.send: Callable[[Buffer, int], int] = sock.send

    @property
    def local_address(self) -> Address:
        host, port = self._socket.getsockname()[:2]
        return host, port

    def send_parts(self, parts: Sequence[Buffer], flags: int) -> int:
        return self._socket.sendmsg(parts, (), flags)

    def send_file(self, descriptor: int, position: int, size: int) -> int:
        return os.sendfile(self._socket.fileno(), descriptor, position, size)

    def end_sending(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def has_ended(self) -> bool:
        if TCP_INFO is None:
            return False
        try:
            return self._socket.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 1)[0] != ESTABLISHED
        except OSError:
            return True

    def close(self) -> None:
        self._socket.close()


class TransportStream(trio.abc.HalfCloseableStream):
    """A transport as trio's protocols and libraries know streams."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send_all(self, data: Buffer) -> None:
        await trio.lowlevel.checkpoint()
        left = memoryview(data)
        while left:
            try:
                left = left[self._transport.send(left, 0) :]
            except BlockingIOError:
                await self._transport.writable()
            except OSError as error:
                raise trio.BrokenResourceError from error

    async def wait_send_all_might_not_block(self) -> None:
        await self._transport.writable()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        while True:
            try:
                return self._received(max_bytes or RECEIVE_BYTES)
            except BlockingIOError:
                await self._transport.readable()
            except OSError as error:
                raise trio.BrokenResourceError from error

    def _received(self, most: int) -> bytes:
        """What is there. The room for it is not kept while there is nothing: silent connections would each have one."""
        space = bytearray(most)
        return bytes(space[: self._transport.receive_into(memoryview(space))])

    async def send_eof(self) -> None:
        await trio.lowlevel.checkpoint()
        try:
            self._transport.end_sending()
        except OSError as error:
            raise trio.BrokenResourceError from error

    async def aclose(self) -> None:
        self._transport.close()
        await trio.lowlevel.checkpoint()


RECEIVE_BYTES = 64 * 1024
