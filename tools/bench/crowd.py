"""Those who try to get in, as many in a second as they can: TLS, a login by SCRAM, one request, and away."""

import base64
import hashlib
import hmac
import os
import socket
import ssl
import struct
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypedDict

from attrs import define, field

PATIENCE_S = 30.0
AT_ONCE = 32
HANDSHAKE, AUTHENTICATE, API_VERSIONS = 17, 36, 18
MECHANISM = b"SCRAM-SHA-256"


class Told(TypedDict):
    """What became of a crowd."""

    reached_per_s: float
    let_in: int
    refused: int
    broken: int
    """Connections that ended otherwise than by an answer."""
    certificates: int
    """How many different ones were shown."""


class Refused(Exception):
    """The login was wrong."""


@define(eq=False)
class Crowd:
    """One process of it: comes at a steady rate, and later where it cannot keep to that."""

    address: str
    trusted: str
    user: str
    password: str
    per_s: float
    _seen: set[bytes] = field(factory=set, init=False)

    def run(self, seconds: float) -> Told:
        """For so long. Whoever is refused is kept waiting by the broker: so they come many at a time."""
        began = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as threads:
            ends = [each.result() for each in [threads.submit(self._one, began + seconds) for _ in range(AT_ONCE)]]
        all_of = sum(ends, Counter[str]())
        reached = (all_of["let_in"] + all_of["refused"]) / (time.monotonic() - began)
        return Told(
            reached_per_s=reached,
            let_in=all_of["let_in"],
            refused=all_of["refused"],
            broken=all_of["broken"],
            certificates=len(self._seen),
        )

    def _one(self, until: float) -> "Counter[str]":
        host, _, port = self.address.rpartition(":")
        context = ssl.create_default_context(cafile=self.trusted)
        ends: Counter[str] = Counter()
        began, pause_s = time.monotonic(), AT_ONCE / self.per_s
        while (now := time.monotonic()) < until:
            due = began + ends.total() * pause_s
            if now < due:
                time.sleep(min(due, until) - now)
                continue
            try:
                self._come(host, int(port), context)
                ends["let_in"] += 1
            except Refused:
                ends["refused"] += 1
            except OSError:
                ends["broken"] += 1
        return ends

    def _come(self, host: str, port: int, context: ssl.SSLContext) -> None:
        with (
            socket.create_connection((host, port), PATIENCE_S) as plain,
            context.wrap_socket(plain, server_hostname=host) as sock,
        ):
            self._seen.add(hashlib.sha256(sock.getpeercert(binary_form=True) or b"").digest())
            self._log_in(sock)
            _ask(sock, API_VERSIONS, 0, b"")

    def _log_in(self, sock: socket.socket) -> None:
        _ask(sock, HANDSHAKE, 1, struct.pack(">h", len(MECHANISM)) + MECHANISM)
        bare = f"n={self.user},r={os.urandom(12).hex()}"
        first = _authenticate(sock, f"n,,{bare}")
        fields = dict(part.split("=", 1) for part in first.split(","))
        salted = _salted(self.password, fields["s"], int(fields["i"]))
        unproven = f"c=biws,r={fields['r']}"
        key = hmac.digest(salted, b"Client Key", "sha256")
        said = f"{bare},{first},{unproven}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), said, "sha256")
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        _authenticate(sock, f"{unproven},p={base64.b64encode(proof).decode()}")


@lru_cache(maxsize=8)
def _salted(password: str, salt: str, iterations: int) -> bytes:
    """Once: what it costs is the client's."""
    return hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(salt), iterations)


def _authenticate(sock: socket.socket, message: str) -> str:
    data = message.encode()
    answer = _ask(sock, AUTHENTICATE, 0, struct.pack(">i", len(data)) + data)
    code, text_size = struct.unpack_from(">hh", answer, 4)
    if code:
        raise Refused
    (size,) = struct.unpack_from(">i", answer, 8 + max(text_size, 0))
    start = 12 + max(text_size, 0)
    return answer[start : start + size].decode()


def _ask(sock: socket.socket, key: int, version: int, body: bytes) -> bytes:
    """The answer, from its correlation id on."""
    request = struct.pack(">hhih", key, version, 7, -1) + body
    sock.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", _exactly(sock, 4))
    return _exactly(sock, size)


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise ConnectionError("the broker has closed the connection")
        data += piece
    return bytes(data)
