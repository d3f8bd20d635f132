"""A plain connection that sends frames and counts what comes back, as somebody would who means no good."""

import socket
import struct
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

from attrs import frozen

from wire.kafka.codec import is_flexible, request_encoder, response_decoder, response_start

CLIENT_ID = b"cost"
LAST = 2**31 - 1
API_VERSIONS_KEY = 18
_LENGTH = struct.Struct(">i")

Outcome = Literal["answered", "refused", "silent"]


def frame(api_key: int, version: int, body: bytes, correlation_id: int = 1, header_tags: bytes = b"\x00") -> bytes:
    """A whole request: length, header, body."""
    header = struct.pack(">hhih", api_key, version, correlation_id, len(CLIENT_ID)) + CLIENT_ID
    if is_flexible(api_key, version):
        header += header_tags
    return _LENGTH.pack(len(header) + len(body)) + header + body


def encoded(api_key: int, version: int, message: Any) -> bytes:
    """The body of a request."""
    return b"".join(part for part in request_encoder(api_key, version)(message) if isinstance(part, bytes | memoryview))


@frozen
class Exchange:
    """What became of the frames: how it ended, and how many bytes came back for them."""

    outcome: Outcome
    answer_bytes: int


class Connection:
    """One socket."""

    def __init__(self, port: int, timeout_s: float) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, api_key: int, version: int, message: Any) -> Any:
        """One request, its answer decoded."""
        self._socket.sendall(frame(api_key, version, encoded(api_key, version, message)))
        answer = self._receive()
        start = response_start(api_key, version).size - _LENGTH.size
        return response_decoder(api_key, version)(answer, start)

    def exchange(self, frames: Sequence[bytes]) -> Exchange:
        """Sends all frames at once and reads until they are dealt with: answers come in order, so that of a harmless
        last request tells."""
        last = frame(API_VERSIONS_KEY, 0, b"", LAST)
        sender = threading.Thread(target=self._send, args=([*frames, last],), daemon=True)
        sender.start()
        answered = 0
        try:
            while True:
                answer = self._receive()
                if int.from_bytes(answer[:4], "big") == LAST:
                    return Exchange("answered", answered)
                answered += len(answer) + _LENGTH.size
        except TimeoutError:
            return Exchange("silent", answered)
        except (ConnectionError, EOFError):
            return Exchange("refused", answered)
        finally:
            self._end(sender)

    def _end(self, sender: threading.Thread) -> None:
        with suppress(OSError):  # the broker may have been quicker
            self._socket.shutdown(socket.SHUT_RDWR)
        sender.join()

    def _send(self, frames: Sequence[bytes]) -> None:
        try:
            for one in frames:
                self._socket.sendall(one)
        except OSError:
            pass  # the reader tells what happened

    def _receive(self) -> bytes:
        (size,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        received = bytearray(size)
        view, filled = memoryview(received), 0
        while filled < size:
            count = self._socket.recv_into(view[filled:])
            if count == 0:
                raise EOFError("the broker has closed the connection")
            filled += count
        return bytes(received)
