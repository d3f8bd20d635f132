"""A connection to another node. Requests are pipelined, answers come in their order, and each has a deadline.

Nodes of different versions of the program may be in one cluster while it is upgraded: once both know each other, the
first thing that is asked is which versions of requests the other end takes. Each request goes in the highest that both
know, and is refused on this side, by name, where there is none.

A link breaks once, for good and for all who wait on it: when the other end is gone, says what is not understood, or
does not answer in time. Whether it did what it was asked is not known then (`LinkBroken`).
"""

import struct
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import trio
from attrs import define, field

from coordinators.replication.ports import LinkBroken
from engine.errors import BrokerError
from wire.kafka.codec import WireError, is_flexible, request_encoder, response_decoder, response_start
from wire.kafka.errors import broker_error
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest
from wire.kafka.messages.sasl_handshake import SaslHandshakeRequest
from wire.kafka.nodes.trust import MECHANISM, Asking

Dial = Callable[[str, int], Awaitable[trio.abc.HalfCloseableStream]]
"""By host and port; raises OSError."""

RECEIVE_BYTES = 64 * 1024
STRANGER_BYTES = 16 * 1024
"""What an answer may have of somebody who has not shown who it is."""
HANDSHAKE_VERSIONS, AUTHENTICATE_VERSIONS = (1, 1), (0, 2)
ASKED_FIRST = (0, 0)
"""The version of ApiVersions that every broker takes."""

Versions = tuple[int, int]
"""The first and the last of a request that this node can speak."""

NOT_TAKEN = (0, -1)

_length = struct.Struct(">i")
_header = struct.Struct(">hhih")


@define(eq=False)
class Awaited:
    """An answer that is to come."""

    correlation_id: int
    api_key: int
    version: int
    arrived: trio.Event = field(factory=trio.Event)
    answer: Any = None


@define(eq=False)
class Link:
    """See the module. `receive` must run as a task of its own for as long as the link is used."""

    stream: trio.abc.Stream
    client_id: str
    max_answer_bytes: int = STRANGER_BYTES
    taken: Mapping[int, Versions] | None = None
    """The versions of each request that the other end takes; None before it was asked."""
    _awaited: deque[Awaited] = field(factory=deque, init=False)
    _sending: trio.Lock = field(factory=trio.Lock, init=False)
    _receiving: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _buffer: bytearray = field(factory=bytearray, init=False)
    _count: int = field(default=0, init=False)
    _broken: str | None = field(default=None, init=False)

    @property
    def is_broken(self) -> bool:
        """Whether it is of no use any more."""
        return self._broken is not None

    # -- asking

    async def negotiate(self, timeout_s: float) -> None:
        """Ask which versions the other end takes."""
        answer = await self.ask(ApiVersionsRequest(), ASKED_FIRST, timeout_s)
        _check(answer.error_code)
        self.taken = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    def version_of(self, message: Any, versions: Versions) -> int:
        """The highest that both know; `LinkBroken` if there is none, and the link is sound all the same."""
        first, last = versions
        if self.taken is None:
            return last
        lowest, highest = self.taken.get(message.API_KEY, NOT_TAKEN)
        common = min(last, highest)
        if common < max(first, lowest):
            known = f"versions {lowest} to {highest} of it" if (lowest, highest) != NOT_TAKEN else "none of it"
            name = type(message).__name__.removesuffix("Request")
            raise LinkBroken(f"this node asks {name} in versions {first} to {last}, the other takes {known}")
        return common

    async def ask(self, message: Any, versions: Versions, timeout_s: float) -> Any:
        """The answer, or `LinkBroken`."""
        version = self.version_of(message, versions)
        awaited = None
        with trio.move_on_after(timeout_s):
            async with self._sending:
                awaited = await self._send(message, version)
            await awaited.arrived.wait()
            if awaited.answer is not None:
                return awaited.answer
        self.break_off(f"no answer within {timeout_s} s")
        raise self._error()

    async def _send(self, message: Any, version: int) -> Awaited:
        if self._broken is not None:
            raise self._error()
        self._count = (self._count + 1) & 0x7FFFFFFF
        awaited = Awaited(self._count, message.API_KEY, version)
        frame = self._frame(message, version)
        self._awaited.append(awaited)
        try:
            await self.stream.send_all(frame)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.break_off("the other end is gone")
            raise self._error() from None
        except trio.Cancelled:
            self.break_off("a request was sent in part")
            raise
        return awaited

    def _frame(self, message: Any, version: int) -> bytes:
        api_key, name = message.API_KEY, self.client_id.encode()
        header = _header.pack(api_key, version, self._count, len(name)) + name
        tags = b"\0" if is_flexible(api_key, version) else b""
        parts: list[Any] = request_encoder(api_key, version)(message)
        body = b"".join((header, tags, *parts))
        return _length.pack(len(body)) + body

    # -- receiving

    async def receive(self) -> None:
        """Take answers until the link breaks; closes the stream."""
        try:
            with self._receiving:
                while True:
                    self._take(await self._receive_frame())
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.break_off("the other end is gone")
        except WireError as error:
            self.break_off(str(error))
        finally:
            self.break_off("closed")
            await trio.aclose_forcefully(self.stream)

    async def _receive_frame(self) -> memoryview:
        (size,) = _length.unpack(await self._exactly(_length.size))
        if not _length.size <= size <= self.max_answer_bytes:
            raise WireError(f"an answer of {size} bytes; {self.max_answer_bytes} are the most")
        return await self._exactly(size)

    async def _exactly(self, size: int) -> memoryview:
        buffer = self._buffer
        while (missing := size - len(buffer)) > 0:
            piece = await self.stream.receive_some(max(missing, RECEIVE_BYTES))
            if not piece:
                raise trio.BrokenResourceError
            buffer += piece
        if len(buffer) == size:
            # Mostly so for large answers: they are not copied once more.
            self._buffer = bytearray()
            return memoryview(buffer)
        taken = bytes(memoryview(buffer)[:size])
        del buffer[:size]
        return memoryview(taken)

    def _take(self, frame: memoryview) -> None:
        awaited = self._answered(_length.unpack_from(frame)[0])
        start = response_start(awaited.api_key, awaited.version).size - _length.size
        awaited.answer = response_decoder(awaited.api_key, awaited.version)(frame, start)
        awaited.arrived.set()

    def _answered(self, correlation_id: int) -> Awaited:
        """Whom an answer is for."""
        if not self._awaited:
            raise WireError("an answer that nobody asked for")
        awaited = self._awaited.popleft()
        if correlation_id != awaited.correlation_id:
            raise WireError("an answer to another request")
        return awaited

    # -- the end

    def break_off(self, reason: str) -> None:
        """It is of no use any more; only the first reason counts."""
        if self._broken is not None:
            return
        self._broken = reason
        self._receiving.cancel()
        for awaited in self._awaited:
            awaited.arrived.set()
        self._awaited.clear()

    def _error(self) -> LinkBroken:
        return LinkBroken(self._broken or "closed")


async def introduce(link: Link, exchange: Asking, max_answer_bytes: int, timeout_s: float) -> None:
    """Have both sides show that they are nodes; only then larger answers are taken. `LinkBroken` where one is not."""
    try:
        shaken = await link.ask(SaslHandshakeRequest(MECHANISM), HANDSHAKE_VERSIONS, timeout_s)
        _check(shaken.error_code)
        challenge = await _authenticate(link, exchange.hello, timeout_s)
        await _authenticate(link, exchange.take(challenge), timeout_s)
        await link.negotiate(timeout_s)
    except BrokerError as error:
        link.break_off(f"the nodes do not know each other: {error}")
        raise LinkBroken(str(error)) from None
    link.max_answer_bytes = max_answer_bytes


async def _authenticate(link: Link, message: bytes, timeout_s: float) -> bytes:
    answer = await link.ask(SaslAuthenticateRequest(message), AUTHENTICATE_VERSIONS, timeout_s)
    _check(answer.error_code, answer.error_message or "")
    return bytes(answer.auth_bytes)


def _check(code: int, message: str = "") -> None:
    if code:
        raise broker_error(code, message)
