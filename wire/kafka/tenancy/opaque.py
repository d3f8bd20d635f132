"""Names within bytes that the broker passes on: the consumers' protocol inside the classic one.

What cannot be read as such is passed on as it is: it is another protocol's (Kafka Connect has one). A version from the
future is read as the last one known, as the broker reads it; and what the broker would find names in that cannot be
renamed is refused when it comes from a client: the broker would take them for names of anybody's. Only what is
understood to the last byte of a topic's name is touched, and what the assignor added for itself is not: members read
that among themselves, under the names that they know.
"""

import struct
from collections.abc import Callable

from coordinators.group.consumer.protocol import Malformed, read_assignment, read_subscription
from coordinators.topic_names import is_legal_topic_name
from wire.kafka.codec import WireError

Renamed = Callable[[str], str | None]

_count = struct.Struct(">i")
_length = struct.Struct(">H")
FIRST_OWNED_VERSION = 1


class _Unreadable(Exception):
    """It is something else."""


def renamed_subscription(data: bytes, rename: Renamed) -> bytes:
    """A subscription with other names (ConsumerProtocolSubscription)."""
    try:
        return _renamed_subscription(data, rename)
    except (_Unreadable, struct.error, UnicodeDecodeError):
        return data


def told_subscription(data: bytes, rename: Renamed) -> bytes:
    """The same of what a client says; `WireError` for names that cannot be renamed."""
    try:
        return _renamed_subscription(data, rename)
    except (_Unreadable, struct.error, UnicodeDecodeError):
        try:
            read = read_subscription(data)
        except Malformed:
            return data
        if read.topics or read.owned:
            raise WireError("a subscription names topics in a way that is not understood") from None
        return data


def _renamed_subscription(data: bytes, rename: Renamed) -> bytes:
    version = _version(data)
    topics, position = _renamed_names(data, 2, rename)
    (size,) = _count.unpack_from(data, position)
    after = position + 4 + max(size, 0)
    if after > len(data):
        raise _Unreadable
    parts = [data[:2], topics, data[position:after]]
    if version >= FIRST_OWNED_VERSION:
        owned, after = _renamed_places(data, after, rename)
        parts.append(owned)
    return b"".join((*parts, data[after:]))


def renamed_assignment(data: bytes, rename: Renamed) -> bytes:
    """An assignment with other names (ConsumerProtocolAssignment)."""
    try:
        return _renamed_assignment(data, rename)
    except (_Unreadable, struct.error, UnicodeDecodeError):
        return data


def told_assignment(data: bytes, rename: Renamed) -> bytes:
    """The same of what a client says; `WireError` for names that cannot be renamed."""
    try:
        return _renamed_assignment(data, rename)
    except (_Unreadable, struct.error, UnicodeDecodeError):
        try:
            places, _user_data = read_assignment(data)
        except Malformed:
            return data
        if places:
            raise WireError("an assignment names topics in a way that is not understood") from None
        return data


def _renamed_assignment(data: bytes, rename: Renamed) -> bytes:
    _version(data)
    places, position = _renamed_places(data, 2, rename)
    (size,) = _count.unpack_from(data, position)
    if position + 4 + max(size, 0) > len(data):
        raise _Unreadable
    return b"".join((data[:2], places, data[position:]))


def _version(data: bytes) -> int:
    version: int = struct.unpack_from(">h", data)[0]
    if version < 0:
        raise _Unreadable
    return version


def _counted(data: bytes, position: int) -> int:
    count: int = _count.unpack_from(data, position)[0]
    if not 0 <= count <= len(data):
        raise _Unreadable
    return count


def _renamed_names(data: bytes, position: int, rename: Renamed) -> tuple[bytes, int]:
    count = _counted(data, position)
    position += 4
    parts = [_count.pack(count)]
    for _ in range(count):
        name, position = _renamed_name(data, position, rename)
        parts.append(name)
    return b"".join(parts), position


def _renamed_places(data: bytes, position: int, rename: Renamed) -> tuple[bytes, int]:
    count = _counted(data, position)
    position += 4
    parts = [_count.pack(count)]
    for _ in range(count):
        name, position = _renamed_name(data, position, rename)
        after = position + 4 + 4 * _counted(data, position)
        if after > len(data):
            raise _Unreadable
        parts += (name, data[position:after])
        position = after
    return b"".join(parts), position


def _renamed_name(data: bytes, position: int, rename: Renamed) -> tuple[bytes, int]:
    (length,) = _length.unpack_from(data, position)
    end = position + 2 + length
    if end > len(data):
        raise _Unreadable
    name = data[position + 2 : end].decode()
    if not is_legal_topic_name(name.replace("\0", "")):
        raise _Unreadable
    encoded = (rename(name) or "").encode()
    return _length.pack(len(encoded)) + encoded, end
