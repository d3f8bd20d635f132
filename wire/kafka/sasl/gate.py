"""What may be said on a connection before it is known who is there.

The rules:
1. Only ApiVersions, SaslHandshake and SaslAuthenticate, in this order; the first may be left out. All else ends the
   connection, by its key, before anything of its body is read.
2. A frame is no larger than `sasl.server.max.receive.size`, and memory is taken for what has arrived, not for what is
   announced.
3. One request at a time: nothing is read before the last is answered.
4. Bytes are read one frame at a time, exactly: what follows the login is left to the connection.
"""

import struct
from types import CoroutineType
from typing import Any

from attrs import define, field

from engine.errors import SaslAuthenticationFailed
from wire.kafka.codec import WireError, decode_request_header
from wire.kafka.request import Context, Peer
from wire.kafka.sasl.login import Login, LoginState
from wire.kafka.served_apis import ServedApi, ServedApis
from wire.transport import Transport

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
FIRST_ALLOCATION_BYTES = 4 * 1024
LENGTH_BYTES = 4
TLS_START = b"\x16\x03"
_length = struct.Struct(">i")


class NotLetIn(WireError):
    """The connection ends before it is known who is there."""

    counted_as = "unauthenticated"


class ClientGone(OSError):
    """The client has ended the connection before it was known who it is."""


@define(eq=False)
class Gate:
    """See the module."""

    transport: Transport
    peer: Peer
    login: Login
    served: ServedApis
    _has_asked: bool = field(default=False, init=False)
    """Whether ApiVersions was answered."""

    async def run(self) -> bool:
        """Whether it is known who is there; if not, the login has failed and told so. Raises `NotLetIn` where something
        else is wrong, and OSError where the client has gone."""
        login = self.login
        while login.state is not LoginState.KNOWN:
            frame = await self._receive()
            if login.is_raw and login.state is LoginState.EXCHANGING:
                await self._take_raw(frame)
            else:
                await self._handle(frame)
            if login.state is LoginState.FAILED:
                return False
        return True

    # -- requests

    async def _take_raw(self, token: memoryview) -> None:
        try:
            answer = await self.login.take(bytes(token))
        except SaslAuthenticationFailed:
            return  # there is no form in which the client could be told
        await self._send(_length.pack(len(answer)) + answer)

    async def _handle(self, frame: memoryview) -> None:
        key = int.from_bytes(frame[:2], "big", signed=True) if len(frame) >= 2 else -1
        if key not in self._allowed():
            raise NotLetIn(f"API key {key} before it is known who is there")
        api_key, version, correlation_id, client_id, position = decode_request_header(frame, 0)
        api = self.served[api_key, version]
        if api is None and api_key == API_VERSIONS:
            # Of an unknown version: answered in version 0 (KIP-511).
            api, request = self.served[api_key, 0], None
        elif api is not None:
            request = api.decode(frame, position)
        if api is None:
            raise NotLetIn(f"API key {api_key} version {version} is not served")
        response = api.handle(request, Context(self.peer, version, client_id))
        if isinstance(response, CoroutineType):
            response = await response
        if api_key == API_VERSIONS and not response.error_code:
            self._has_asked = True
        await self._send(_encoded(api, correlation_id, response))

    def _allowed(self) -> tuple[int, ...]:
        if self.login.state is LoginState.EXCHANGING:
            return (SASL_AUTHENTICATE,)
        return (SASL_HANDSHAKE,) if self._has_asked else (API_VERSIONS, SASL_HANDSHAKE)

    # -- bytes

    async def _receive(self) -> memoryview:
        start = await self._exactly(LENGTH_BYTES)
        (size,) = _length.unpack(start)
        if not 0 <= size <= self.login.policy.max_receive_bytes:
            if bytes(start[:2]) == TLS_START:
                raise NotLetIn("the client speaks TLS, and this listener does not")
            raise NotLetIn(f"a frame of {size} bytes, and sasl.server.max.receive.size bounds it before a login")
        return await self._exactly(size)

    async def _exactly(self, size: int) -> memoryview:
        buffer, filled = bytearray(min(size, FIRST_ALLOCATION_BYTES)), 0
        while filled < size:
            if filled == len(buffer):
                buffer = buffer + bytes(min(len(buffer), size - filled))
            count = await _receive_into(self.transport, memoryview(buffer)[filled:])
            if count == 0:
                raise ClientGone
            filled += count
        return memoryview(buffer)

    async def _send(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[self.transport.send(left, 0) :]
            except BlockingIOError:
                await self.transport.writable()


async def _receive_into(transport: Transport, space: memoryview) -> int:
    while True:
        await transport.readable()
        try:
            return transport.receive_into(space)
        except (BlockingIOError, InterruptedError):
            continue


def _encoded(api: ServedApi, correlation_id: int, response: Any) -> bytes:
    parts = api.encode(response)
    body = b"".join(part for part in parts if isinstance(part, bytes))
    return api.pack_start(api.header_bytes + len(body), correlation_id) + body
