"""The headers of calls: what a client asks for and by when, and what it is told at the end."""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from wire.grpc.framing import ENCODINGS, IDENTITY
from wire.grpc.session import HeaderList
from wire.grpc.status import GrpcError, Status

CONTENT_TYPE = b"application/grpc"
_UNITS_S: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
MOST_DIGITS = 8
"""Of a timeout, by gRPC's rules."""
_PLAIN: Final = frozenset(range(0x20, 0x7F)) - {0x25}
_ACCEPTED: Final = (b"grpc-accept-encoding", b",".join(ENCODINGS))
MOST_MESSAGE_BYTES = 1024
"""Of what a call ends with: clients keep to limits for headers, too."""

RESPONSE: Final[HeaderList] = ((b":status", b"200"), (b"content-type", CONTENT_TYPE), _ACCEPTED)


class NotGrpc(Exception):
    """A request of HTTP/2 that is no call; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@frozen
class CallHead:
    """What a call begins with."""

    path: str
    metadata: Mapping[str, str]
    """By names in lower case; of several of one name the last, as text whatever it is."""
    encoding: bytes = IDENTITY
    timeout_s: float | None = None

    @classmethod
    def read(cls, headers: HeaderList) -> "CallHead":
        """`NotGrpc` for what is no call, `GrpcError` for one that cannot be taken."""
        found = dict(headers)
        if found.get(b":method") != b"POST":
            raise NotGrpc(405, "calls of gRPC are POST")
        kind = found.get(b"content-type", b"")
        if not kind.startswith(CONTENT_TYPE) or kind[len(CONTENT_TYPE) :][:1] not in (b"", b"+", b";"):
            raise NotGrpc(415, "this door takes content-type application/grpc")
        if found.get(b"te") != b"trailers":
            raise GrpcError(Status.INTERNAL, "the header 'te: trailers' is missing: something on the way took it out")
        encoding = found.get(b"grpc-encoding", IDENTITY)
        if encoding not in ENCODINGS:
            known = ", ".join(each.decode() for each in ENCODINGS)
            name = encoding.decode("latin-1")
            raise GrpcError(Status.UNIMPLEMENTED, f"grpc-encoding {name!r} is not known here; these are: {known}")
        metadata = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        return cls(metadata[":path"], metadata, encoding, _timeout_s(found.get(b"grpc-timeout")))


def _timeout_s(text: bytes | None) -> float | None:
    if text is None:
        return None
    digits, unit = text[:-1], text[-1:].decode("latin-1")
    if not digits.isdigit() or len(digits) > MOST_DIGITS or unit not in _UNITS_S:
        raise GrpcError(Status.INTERNAL, "grpc-timeout is up to eight digits and one of H, M, S, m, u, n")
    return int(digits) * _UNITS_S[unit]


def trailers(status: Status, message: str = "", error: str = "") -> HeaderList:
    """How a call ended."""
    found = [(b"grpc-status", b"%d" % status)]
    if message:
        found.append((b"grpc-message", percent_encoded(message)))
    if error:
        found.append((b"tidegate-error", error.encode()))
    return found


def trailers_only(status: Status, message: str = "", error: str = "") -> HeaderList:
    """The whole answer of a call that has ended before there was anything to send."""
    return (*RESPONSE, *trailers(status, message, error))


def percent_encoded(text: str) -> bytes:
    """As `grpc-message` has it: visible ASCII but `%` as it is, every other byte of UTF-8 as `%XX`."""
    data = text.encode()[:MOST_MESSAGE_BYTES].decode("utf-8", "ignore").encode()
    return b"".join(b"%c" % byte if byte in _PLAIN else b"%%%02X" % byte for byte in data)
