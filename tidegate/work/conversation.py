"""A connection to a broker without its I/O: requests become bytes, bytes become answers, in their order."""

import struct
from collections import deque
from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

from tidegate.work.credentials import Credentials, Dialogue
from tidegate.work.job import WorkError
from wire.kafka.codec import WireError, is_flexible, request_encoder, response_decoder, response_start, schema_versions
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest
from wire.kafka.messages.sasl_handshake import SaslHandshakeRequest

CLIENT_ID = "tidegate-work"
VERSIONS_VERSION = 3
MAX_ANSWER_BYTES = 128 * 1024 * 1024
REQUEST_TIMEOUT_S = 15.0
"""Beyond what the request itself may wait for."""
AT_LEAST = {78: 2, 79: 2}
"""Share groups as of Kafka 4.2: a bound of records that is kept, and locks that can be renewed."""

HANDSHAKE_VERSION = 1
RENEW_AT = 0.85
"""Which part of its time a login has before it is shown anew who we are (KIP-368)."""

_length = struct.Struct(">i")
_header = struct.Struct(">hhih")
Take = Callable[[Any, float], None]
"""Is given the answer and the time."""


@frozen
class _Asked:
    api_key: int
    version: int
    correlation_id: int
    take: Take
    deadline: float


@define(eq=False)
class Conversation:
    """See the module. The first thing it says is to ask for the broker's versions, then who we are; the rest waits for
    that."""

    software_version: str
    credentials: Credentials | None = None
    is_open: bool = field(default=False, init=False)
    """Whether the connection is there."""
    is_ready: bool = field(default=False, init=False)
    """Whether the broker's versions are known and it has let us in, so that it can be asked things."""
    renew_at: float | None = field(default=None, init=False)
    """When it has to be shown anew who we are."""
    _dialogue: Dialogue | None = field(default=None, init=False)
    _asked: deque[_Asked] = field(factory=deque, init=False)
    _versions: dict[int, tuple[int, int]] = field(factory=dict, init=False)
    _sent: bytearray = field(factory=bytearray, init=False)
    _received: bytearray = field(factory=bytearray, init=False)
    _count: int = field(default=0, init=False)

    def open(self, now: float) -> None:
        """The connection is there."""
        self.is_open = True
        about = ApiVersionsRequest(client_software_name=CLIENT_ID, client_software_version=self.software_version)
        self._ask(about, VERSIONS_VERSION, self._learn, now + REQUEST_TIMEOUT_S)

    def _learn(self, answer: Any, now: float) -> None:
        if answer.error_code:
            raise WorkError(f"the broker does not tell its versions: error {answer.error_code}")
        self._versions = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        if self.credentials is None:
            self.is_ready = True
        else:
            self.show(now)

    def show(self, now: float) -> None:
        """Show who we are; until the broker has answered it can be asked nothing else."""
        assert self.credentials is not None
        self.is_ready, self.renew_at = False, None
        request = SaslHandshakeRequest(mechanism=self.credentials.mechanism)
        self._ask(request, HANDSHAKE_VERSION, self._begin_login, now + REQUEST_TIMEOUT_S)

    def _begin_login(self, answer: Any, now: float) -> None:
        assert self.credentials is not None
        if answer.error_code:
            offered = ", ".join(answer.mechanisms) or "none"
            raise WorkError(f"the broker does not take {self.credentials.mechanism}: it takes {offered}")
        self._dialogue = self.credentials.dialogue()
        self._say(next(self._dialogue), now)

    def _say(self, token: bytes, now: float) -> None:
        version = min(schema_versions(SaslAuthenticateRequest.API_KEY)[1], self._versions.get(36, (0, 0))[1])
        self._ask(SaslAuthenticateRequest(auth_bytes=token), version, self._go_on, now + REQUEST_TIMEOUT_S)

    def _go_on(self, answer: Any, now: float) -> None:
        assert self._dialogue is not None
        if answer.error_code:
            raise WorkError(f"the broker does not let us in: {answer.error_message or answer.error_code}")
        try:
            self._say(self._dialogue.send(bytes(answer.auth_bytes)), now)
        except StopIteration:
            self._dialogue = None
            if answer.session_lifetime_ms > 0:
                self.renew_at = now + RENEW_AT * answer.session_lifetime_ms / 1000
            self.is_ready = True
        except UnicodeDecodeError:
            raise WireError("a login that is no text") from None

    def ask(self, message: Any, take: Take, now: float, waits_s: float = 0.0) -> None:
        """Send a request, in the last version that both sides have."""
        key = message.API_KEY
        first, last = schema_versions(key)
        offered = self._versions.get(key, (0, -1))
        version = min(last, offered[1])
        if version < max(first, offered[0], AT_LEAST.get(key, 0)):
            name = type(message).__name__.removesuffix("Request")
            raise WorkError(f"the broker has no {name} that this worker could use: it takes one of Kafka 4.2 or later")
        self._ask(message, version, take, now + waits_s + REQUEST_TIMEOUT_S)

    def _ask(self, message: Any, version: int, take: Take, deadline: float) -> None:
        key, name = message.API_KEY, CLIENT_ID.encode()
        self._count = (self._count + 1) & 0x7FFFFFFF
        head = _header.pack(key, version, self._count, len(name)) + name
        tags = b"\0" if is_flexible(key, version) else b""
        parts: list[Any] = request_encoder(key, version)(message)
        body = b"".join((head, tags, *parts))
        self._sent += _length.pack(len(body)) + body
        self._asked.append(_Asked(key, version, self._count, take, deadline))

    def to_send(self) -> bytes:
        """What is to be sent now, once."""
        sent, self._sent = bytes(self._sent), bytearray()
        return sent

    @property
    def deadline(self) -> float | None:
        """By when the next answer has to be there."""
        return self._asked[0].deadline if self._asked else None

    def receive(self, data: bytes, now: float) -> None:
        """Take in bytes; a `WireError` if they are no answers to what was asked."""
        buffer = self._received
        buffer += data
        while len(buffer) >= _length.size:
            (size,) = _length.unpack_from(buffer)
            if not _length.size <= size <= MAX_ANSWER_BYTES:
                raise WireError(f"an answer of {size} bytes")
            end = _length.size + size
            if len(buffer) < end:
                return
            frame = bytes(memoryview(buffer)[_length.size : end])
            del buffer[:end]
            self._answered(frame, now)

    def _answered(self, frame: bytes, now: float) -> None:
        if not self._asked:
            raise WireError("an answer that nobody asked for")
        asked = self._asked.popleft()
        if _length.unpack_from(frame)[0] != asked.correlation_id:
            raise WireError("an answer to another request")
        start = response_start(asked.api_key, asked.version).size - _length.size
        asked.take(response_decoder(asked.api_key, asked.version)(frame, start), now)
