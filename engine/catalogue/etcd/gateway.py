"""etcd's API as JSON over HTTP/1.1 (its gRPC gateway), with blocking sockets: every call is made in a thread.

The gateway's JSON has its ways: keys and values are base64, 64-bit numbers are strings, and a number that is zero or a
flag that is false is left out. Only this file knows of them.

A call that fails because nobody answers is tried on the next endpoint, and once all were tried, on the first again: an
etcd of several members is without a leader for a second now and then. Whether an attempt that was cut off had its
effect cannot be told here: what may not happen twice must be written so that it does not (see `catalogue.py`).
"""

import json
import socket
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import h11
import msgspec
from attrs import define, field, frozen

from engine.catalogue.etcd.access import EtcdAccess, tls_context
from engine.errors import StorageError
from engine.metrics import Histogram

RECEIVE_BYTES = 64 * 1024
MAX_EVENT_BYTES = 64 * 1024
PAUSE_S = 0.25
"""Between one round of all endpoints and the next."""
NOT_FOUND = 5
UNDECIDED = {1, 2, 4, 14}
"""gRPC's codes for what was given up, dropped, late or without a leader: it may have happened; ask others."""


class EtcdUnavailable(StorageError):
    """No endpoint has answered. What was asked may have happened."""


class OutdatedToken(EtcdUnavailable):
    """The token that was shown counts no more. Nothing has changed, and the next request gets another one."""


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
    is_secure: bool = False
    """Whether it is talked to over TLS."""

    @classmethod
    def parse(cls, url: str) -> "EtcdEndpoint":
        """Of `http://host:port`, or `https`."""
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"{url!r} is no etcd endpoint of the form http://host:port or https://host:port")
        return cls(parts.hostname, parts.port or 2379, parts.scheme == "https")

    def __str__(self) -> str:
        return f"{'https' if self.is_secure else 'http'}://{self.host}:{self.port}"


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

    def __init__(self, endpoint: EtcdEndpoint, timeout_s: float, access: EtcdAccess) -> None:
        self.endpoint = endpoint
        self._access = access
        self._token: str | None = None
        self._socket = socket.create_connection((endpoint.host, endpoint.port), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if endpoint.is_secure:
            self._socket = _secured(self._socket, endpoint, access)
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_EVENT_BYTES)

    def begin(self, path: str, message: Mapping[str, Any]) -> int:
        """Send a request, with a token if etcd wants one, and read how the answer begins: its status."""
        self._token = self._access.token(self._ask)
        return self._begin(path, message)

    def refusal(self, status: int, body: bytes) -> "EtcdRefusal | EtcdUnavailable":
        """What an answer of this status says. Where it is that the token is outdated, the next request gets another:
        whoever asks again at once is answered."""
        error = _refusal(body, status)
        code = error.code if isinstance(error, EtcdRefusal) else 0
        return OutdatedToken(str(error)) if self.is_outdated(code, str(error)) else error

    def is_outdated(self, code: int, message: str) -> bool:
        """Whether what etcd says means that the token of the last request is of no use any more."""
        return self._access.is_outdated(self._token, code, message)

    def _ask(self, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        # With a token that counts no more not even another one is given.
        self._token = None
        status = self._begin(path, message)
        body = self.rest()
        if status != 200:
            raise _refusal(body, status)
        answer: dict[str, Any] = msgspec.json.decode(body)
        return answer

    def _begin(self, path: str, message: Mapping[str, Any]) -> int:
        body = json.dumps(message).encode()
        headers = [
            ("host", f"{self.endpoint.host}:{self.endpoint.port}"),
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
        ]
        if self._token:
            headers.append(("authorization", self._token))
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
            if self._protocol.our_state is h11.DONE:
                self._protocol.start_next_cycle()
            return None
        raise EOFError("the connection was closed")

    def rest(self) -> bytes:
        """All of it that has not been read."""
        return b"".join(iter(self.piece, None))

    @property
    def is_open(self) -> bool:
        """Whether another request can follow: an etcd that is about to stop ends the connection with its answer."""
        return self._protocol.our_state is h11.IDLE

    def wait(self, timeout_s: float) -> None:
        """So long may the next piece take."""
        self._socket.settimeout(timeout_s)

    def interrupt(self) -> None:
        """[any thread] Whoever waits for the answer is told that the connection was closed."""
        try:
            # Not the method of a socket with TLS: that one takes TLS away from whoever waits.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
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


def _secured(plain: socket.socket, endpoint: EtcdEndpoint, access: EtcdAccess) -> socket.socket:
    try:
        context = access.tls or tls_context(None, None, None)
        return context.wrap_socket(plain, server_hostname=endpoint.host)
    except BaseException:
        plain.close()
        raise


def _no_pause(_seconds: float) -> None:
    """For a gateway that goes round once."""


def _no_time() -> float:
    """For a gateway whose calls nobody measures."""
    return 0.0


@define(eq=False)
class Gateway:
    """Calls to whichever endpoint answers. One call at a time; threads take turns."""

    endpoints: Sequence[EtcdEndpoint]
    timeout_s: float = 5.0
    """For one attempt at one endpoint."""
    rounds: int = 1
    """So often are all endpoints tried."""
    pause: Callable[[float], object] = _no_pause
    monotonic: Callable[[], float] = _no_time
    access: EtcdAccess = field(factory=EtcdAccess)
    durations: dict[str, Histogram] = field(factory=dict)
    """How long calls took, by what they asked for, those without an answer too. A kind of call is made by one thread at
    a time: whoever has a gateway of its own asks for something that nobody else does."""
    _exchange: Exchange | None = field(default=None, init=False)
    _preferred: int = field(default=0, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def another(self, timeout_s: float) -> "Gateway":
        """One with a connection of its own, which tries each endpoint once."""
        return Gateway(
            self.endpoints, timeout_s, monotonic=self.monotonic, access=self.access, durations=self.durations
        )

    def only(self, endpoint: EtcdEndpoint, timeout_s: float) -> "Gateway":
        """One that asks nobody else, and is not measured."""
        return Gateway([endpoint], timeout_s, access=self.access)

    def call(self, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer. `EtcdRefusal` if it is an error, `EtcdUnavailable` if there is none."""
        with self._lock:
            for _ in range(self.rounds - 1):
                try:
                    return self._measured(path, message)
                except EtcdUnavailable:
                    self.pause(PAUSE_S)
            return self._measured(path, message)

    def open(self, path: str, message: Mapping[str, Any], timeout_s: float) -> Exchange:
        """A connection of its own whose answer goes on and on."""
        failures = []
        for place in self._places():
            endpoint = self.endpoints[place]
            try:
                exchange = Exchange(endpoint, timeout_s, self.access)
                try:
                    status = exchange.begin(path, message)
                    if status == 200:
                        return exchange
                    raise exchange.refusal(status, exchange.rest())
                except BaseException:
                    exchange.close()
                    raise
            except (OSError, EOFError, EtcdUnavailable) as error:
                failures.append(f"{endpoint}: {error or type(error).__name__}")
        raise EtcdUnavailable(f"no etcd answers ({'; '.join(failures)})")

    def pass_over(self, endpoint: EtcdEndpoint) -> None:
        """Begin with the one after it next time."""
        self._preferred = (list(self.endpoints).index(endpoint) + 1) % len(self.endpoints)

    def close(self) -> None:
        """Close the connection; a later call opens one again."""
        with self._lock:
            self._drop()

    def _measured(self, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        began = self.monotonic()
        try:
            return self._call(path, message)
        finally:
            operation = path.rpartition("/")[2]
            self.durations.setdefault(operation, Histogram()).observe(self.monotonic() - began)

    def _call(self, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        failures = []
        # A connection that has been idle may have been closed by the other side: there it is tried once more.
        again = [self._preferred] if self._exchange is not None else []
        slow: set[int] = set()
        for place in again + self._places():
            if place in slow:
                continue
            self._preferred, endpoint = place, self.endpoints[place]
            try:
                return self._ask(endpoint, path, message)
            except (OSError, EOFError, EtcdUnavailable) as error:
                failures.append(f"{endpoint}: {error or type(error).__name__}")
                self._drop()
                if isinstance(error, TimeoutError):
                    slow.add(place)
        raise EtcdUnavailable(f"no etcd answers ({'; '.join(failures)})")

    def _ask(self, endpoint: EtcdEndpoint, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self._ask_once(endpoint, path, message)
        except OutdatedToken:
            return self._ask_once(endpoint, path, message)

    def _ask_once(self, endpoint: EtcdEndpoint, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        if self._exchange is None or self._exchange.endpoint != endpoint:
            self._drop()
            self._exchange = Exchange(endpoint, self.timeout_s, self.access)
        status = self._exchange.begin(path, message)
        body = self._exchange.rest()
        refusal = None if status == 200 else self._exchange.refusal(status, body)
        if not self._exchange.is_open:
            self._drop()
        if refusal is not None:
            raise refusal
        answer: dict[str, Any] = msgspec.json.decode(body)
        return answer

    def _places(self) -> list[int]:
        """Of all endpoints, the one that answered last first."""
        return [(self._preferred + place) % len(self.endpoints) for place in range(len(self.endpoints))]

    def _drop(self) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.close()


def _refusal(body: bytes, status: int) -> EtcdRefusal | EtcdUnavailable:
    try:
        fields = json.loads(body)
        text, code = f"etcd: {fields.get('message') or fields.get('error')}", int(fields.get("code", 0))
    except (ValueError, AttributeError):
        return EtcdRefusal(f"etcd answered with status {status}: {body[:200]!r}")
    return EtcdUnavailable(text) if code in UNDECIDED else EtcdRefusal(text, code)
