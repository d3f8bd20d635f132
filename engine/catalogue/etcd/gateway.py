"""etcd's API as JSON over HTTP/1.1 (its gRPC gateway), with blocking sockets: every call is made in a thread.

The gateway's JSON has its ways: keys and values are base64, 64-bit numbers are strings, and a number that is zero or a
flag that is false is left out. Only this file knows of them.

A call that fails because nobody answers is tried on the next endpoint. Whether an attempt that was cut off had its
effect cannot be told here: what may not happen twice must be written so that it does not (see `catalogue.py`).
"""

import json
import socket
import threading
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import h11
from attrs import define, field, frozen

from engine.errors import StorageError

RECEIVE_BYTES = 64 * 1024
MAX_EVENT_BYTES = 64 * 1024


class EtcdUnavailable(StorageError):
    """No endpoint has answered. What was asked may have happened."""


class EtcdRefusal(StorageError):
    """etcd has answered with an error; nothing has changed."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


@frozen
class EtcdEndpoint:
    """Where an etcd listens for clients."""

    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> "EtcdEndpoint":
        """Of `http://host:port`."""
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme != "http" or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"{url!r} is no etcd endpoint of the form http://host:port")
        return cls(parts.hostname, parts.port or 2379)

    def __str__(self) -> str:
        return f"http://{self.host}:{self.port}"


def encoded(data: bytes) -> str:
    """Bytes as the gateway takes them."""
    return b64encode(data).decode()


def decoded(text: str | None) -> bytes:
    """Bytes as it gives them; empty ones are left out."""
    return b64decode(text or "")


def number(fields: Mapping[str, Any], name: str) -> int:
    """A number; zero is left out."""
    return int(fields.get(name, 0))


class Exchange:
    """One connection: requests one after the other, each with its answer, or with one that never ends."""

    def __init__(self, endpoint: EtcdEndpoint, timeout_s: float) -> None:
        self.endpoint = endpoint
        self._socket = socket.create_connection((endpoint.host, endpoint.port), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_EVENT_BYTES)

    def begin(self, path: str, message: Mapping[str, Any]) -> int:
        """Send a request and read how the answer begins: its status."""
        body = json.dumps(message).encode()
        headers = [
            ("host", f"{self.endpoint.host}:{self.endpoint.port}"),
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
        ]
        request = h11.Request(method="POST", target=path, headers=headers)
        parts = [self._protocol.send(part) for part in (request, h11.Data(body), h11.EndOfMessage())]
        self._socket.sendall(b"".join(part for part in parts if part))
        event = self._next()
        while isinstance(event, h11.InformationalResponse):
            event = self._next()
        if not isinstance(event, h11.Response):
            raise EOFError("the connection was closed")
        return event.status_code

    def piece(self) -> bytes | None:
        """Some of the answer's body; None at its end. After a `TimeoutError` it can be asked again."""
        event = self._next()
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if isinstance(event, h11.EndOfMessage):
            self._protocol.start_next_cycle()
            return None
        raise EOFError("the connection was closed")

    def rest(self) -> bytes:
        """All of it that has not been read."""
        return b"".join(iter(self.piece, None))

    def wait(self, timeout_s: float) -> None:
        """So long may the next piece take."""
        self._socket.settimeout(timeout_s)

    def interrupt(self) -> None:
        """[any thread] Whoever waits for the answer is told that the connection was closed."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        """Give the socket back."""
        self._socket.close()

    def _next(self) -> h11.Event | type[h11.PAUSED] | type[h11.NEED_DATA]:
        try:
            while (event := self._protocol.next_event()) is h11.NEED_DATA:
                self._protocol.receive_data(self._socket.recv(RECEIVE_BYTES))
        except h11.RemoteProtocolError as error:
            raise EOFError(f"the answer was cut off: {error}") from error
        return event


@define(eq=False)
class Gateway:
    """Calls to whichever endpoint answers. One call at a time; threads take turns."""

    endpoints: Sequence[EtcdEndpoint]
    timeout_s: float = 5.0
    _exchange: Exchange | None = field(default=None, init=False)
    _preferred: int = field(default=0, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def call(self, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer. `EtcdRefusal` if it is an error, `EtcdUnavailable` if there is none."""
        with self._lock:
            return self._call(path, message)

    def open(self, path: str, message: Mapping[str, Any], timeout_s: float) -> Exchange:
        """A connection of its own whose answer goes on and on."""
        failures = []
        for place in self._places():
            endpoint = self.endpoints[place]
            try:
                exchange = Exchange(endpoint, timeout_s)
                try:
                    status = exchange.begin(path, message)
                    if status == 200:
                        return exchange
                    raise _refusal(exchange.rest(), status)
                except BaseException:
                    exchange.close()
                    raise
            except (OSError, EOFError) as error:
                failures.append(f"{endpoint}: {error or type(error).__name__}")
        raise EtcdUnavailable(f"no etcd answers ({'; '.join(failures)})")

    def close(self) -> None:
        """Close the connection; a later call opens one again."""
        with self._lock:
            self._drop()

    def _call(self, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        failures = []
        # A connection that has been idle may have been closed by the other side: there it is tried once more.
        again = [self._preferred] if self._exchange is not None else []
        places = again + self._places()
        for self._preferred in places:
            endpoint = self.endpoints[self._preferred]
            try:
                return self._ask(endpoint, path, message)
            except (OSError, EOFError) as error:
                failures.append(f"{endpoint}: {error or type(error).__name__}")
                self._drop()
        raise EtcdUnavailable(f"no etcd answers ({'; '.join(failures)})")

    def _ask(self, endpoint: EtcdEndpoint, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        if self._exchange is None or self._exchange.endpoint != endpoint:
            self._drop()
            self._exchange = Exchange(endpoint, self.timeout_s)
        status = self._exchange.begin(path, message)
        body = self._exchange.rest()
        if status != 200:
            raise _refusal(body, status)
        answer: dict[str, Any] = json.loads(body)
        return answer

    def _places(self) -> list[int]:
        """Of all endpoints, the one that answered last first."""
        return [(self._preferred + place) % len(self.endpoints) for place in range(len(self.endpoints))]

    def _drop(self) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.close()


def _refusal(body: bytes, status: int) -> EtcdRefusal:
    try:
        fields = json.loads(body)
        return EtcdRefusal(f"etcd: {fields.get('message') or fields.get('error')}", int(fields.get("code", 0)))
    except (ValueError, AttributeError):
        return EtcdRefusal(f"etcd answered with status {status}: {body[:200]!r}")
