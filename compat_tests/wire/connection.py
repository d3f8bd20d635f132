"""A connection that sends what it is told and shows what comes back, with kafka-python's message classes."""

import socket
import struct
from typing import Any

from attrs import define, field
from kafka.protocol.metadata import ApiVersionsResponse

TIMEOUT_SECONDS = 20.0


class Closed(Exception):
    """The broker closed the connection instead of answering."""


@define
class Wire:
    """One TCP connection to the broker; a context manager."""

    bootstrap: str
    _socket: socket.socket = field(init=False)
    _next_correlation: int = field(default=1, init=False)

    def __enter__(self) -> "Wire":
        host, port = self.bootstrap.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=TIMEOUT_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, request: Any) -> Any:
        """Sends the request and gives the answer, decoded in the same version."""
        return self.receive(request, self.send(request))

    def send(self, request: Any) -> int:
        """Sends the request alone; gives its correlation id."""
        correlation = self._next_correlation
        self._next_correlation += 1
        request.with_header(correlation_id=correlation, client_id="compat")
        self.send_frame(request.encode(header=True))
        return correlation

    def receive(self, request: Any, correlation: int) -> Any:
        """The answer to `request`; asserts that it is the next one on the connection."""
        response_class = request.header.get_response_class()
        return decode(response_class, self.receive_frame(), correlation)

    def send_frame(self, frame: bytes) -> None:
        self.send_bytes(struct.pack(">i", len(frame)) + frame)

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def wait_closed(self) -> None:
        """Returns when the broker has closed the connection; fails if it answers instead."""
        try:
            rest = self._socket.recv(64)
        except ConnectionResetError:
            return
        assert rest == b"", f"an answer instead of an end: {rest!r}"

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                piece = self._socket.recv(size - len(data))
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise Closed
            data += piece
        return bytes(data)


def decode(response_class: Any, frame: bytes, correlation: int) -> Any:
    """Decodes, and checks that what was decoded is all that the frame holds."""
    answer = response_class.decode(frame, header=True)
    assert answer.header.correlation_id == correlation
    if not isinstance(answer, ApiVersionsResponse):
        answer._header = None  # of a kind that cannot be encoded
        again = answer.encode(version=response_class._class_version)
        assert len(frame) - len(again) in (4, 5), "the answer holds bytes that its schema does not"
        assert frame.endswith(again)
    return answer


def ask(bootstrap: str, request: Any) -> Any:
    """One request on a connection of its own."""
    with Wire(bootstrap) as wire:
        return wire.ask(request)
