"""Messages in the bytes of a call: five bytes before each, whether it is compressed and how long it is."""

import struct
import zlib
from collections import deque

from attrs import define, field, frozen

from wire.grpc.status import GrpcError, Status

PREFIX = struct.Struct(">BI")
PREFIX_BYTES = PREFIX.size
IDENTITY, GZIP = b"identity", b"gzip"
ENCODINGS = (IDENTITY, GZIP)
VARINT, LENGTH_DELIMITED = 0, 2
FIXED = {1: 8, 5: 4}
"""Protobuf's kinds of fields; of these, how many bytes they have."""
GZIP_BITS = 31
"""What zlib calls a gzip header and a window of any size."""


@frozen
class FramedMessage:
    """A message as it arrived."""

    payload: bytes
    is_compressed: bool


@define(eq=False)
class MessageBuffer:
    """The messages of one call, as they arrive: whole ones wait to be taken, of the next there may be a part.

    Bytes are owed to the client's windows until their message is taken. Where none waits to be taken, those of an
    incomplete one are given back at once, for it may be larger than the window; so no more than a message and a window
    of a call lie here.
    """

    max_message_bytes: int
    buffered_bytes: int = 0
    """Of messages, whole or not, that lie here."""
    _whole: deque[tuple[FramedMessage, int]] = field(factory=deque)
    """With what is owed to the client's windows when it is taken."""
    _part: bytearray = field(factory=bytearray)
    _owed: int = 0
    """For what belongs to no whole message."""

    def add(self, data: bytes, size: int) -> int:
        """Take in what has arrived; how many bytes can be given back at once."""
        self._part += data
        self.buffered_bytes += len(data)
        self._owed += size
        while (message := self._next()) is not None:
            owed = min(PREFIX_BYTES + len(message.payload), self._owed)
            self._owed -= owed
            self._whole.append((message, owed))
        return 0 if self._whole else self._rest()

    def _rest(self) -> int:
        owed, self._owed = self._owed, 0
        return owed

    def _next(self) -> FramedMessage | None:
        if len(self._part) < PREFIX_BYTES:
            return None
        flag, size = PREFIX.unpack_from(self._part)
        if flag > 1:
            raise GrpcError(Status.INTERNAL, f"a message begins with {flag}: 0 is not compressed, 1 is")
        if size > self.max_message_bytes:
            raise GrpcError(
                Status.RESOURCE_EXHAUSTED,
                f"a message of {size} bytes is larger than grpc.max.message.bytes={self.max_message_bytes}",
            )
        end = PREFIX_BYTES + size
        if len(self._part) < end:
            return None
        payload = bytes(self._part[PREFIX_BYTES:end])
        del self._part[:end]
        return FramedMessage(payload, flag == 1)

    def __bool__(self) -> bool:
        """Whether there is a whole message."""
        return bool(self._whole)

    def take(self) -> tuple[FramedMessage, int]:
        """The oldest whole message, and how many bytes are to be given back for it."""
        message, owed = self._whole.popleft()
        self.buffered_bytes -= PREFIX_BYTES + len(message.payload)
        return message, owed if self._whole else owed + self._rest()

    @property
    def is_torn(self) -> bool:
        """Whether a part of a message lies here."""
        return bool(self._part)

    def clear(self) -> int:
        """Forget everything; how many bytes were owed to the client's windows."""
        owed = self._rest() + sum(size for _, size in self._whole)
        self._whole.clear()
        self._part.clear()
        self.buffered_bytes = 0
        return owed


def entries(data: bytes, most: int) -> int:
    """How many fields a message has on its outside, counted no further than `most` and one more: entries of lists are
    such fields, and an empty one of two bytes becomes an object of a hundred."""
    count = position = 0
    try:
        while position < len(data) and count <= most:
            kind = data[position] & 7
            position = _behind_number(data, position)
            if kind == LENGTH_DELIMITED:
                start = _behind_number(data, position)
                position = start + _number(data, position, start)
            elif kind == VARINT:
                position = _behind_number(data, position)
            elif kind in FIXED:
                position += FIXED[kind]
            else:
                return count
            count += 1
    except IndexError:
        pass  # it has no end: whoever reads it will say so
    return count


def _behind_number(data: bytes, position: int) -> int:
    while data[position] & 0x80:
        position += 1
    return position + 1


def _number(data: bytes, start: int, end: int) -> int:
    number = 0
    for byte in reversed(data[start:end]):
        number = number << 7 | byte & 0x7F
    return number


def framed(payload: bytes) -> bytes:
    """A message to be sent."""
    return PREFIX.pack(0, len(payload)) + payload


def unpacked(payload: bytes, encoding: bytes, max_bytes: int) -> bytes:
    """[thread, if it is large] A compressed message; never more than may be, however little it was packed into."""
    if encoding != GZIP:
        raise GrpcError(Status.INTERNAL, "a message is compressed, and grpc-encoding says that none is")
    inflater = zlib.decompressobj(GZIP_BITS)
    try:
        data = inflater.decompress(payload, max_bytes + 1)
    except zlib.error as error:
        raise GrpcError(Status.INTERNAL, f"a message cannot be unpacked by gzip: {error}") from None
    if len(data) > max_bytes:
        raise GrpcError(
            Status.RESOURCE_EXHAUSTED, f"a message is larger than grpc.max.message.bytes={max_bytes} once unpacked"
        )
    if not inflater.eof:
        raise GrpcError(Status.INTERNAL, "a message that is packed by gzip has no end")
    return data
