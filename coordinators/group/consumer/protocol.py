"""The consumers' protocol inside the classic one: what members of a classic group tell their leader, and it them.

The broker reads and writes it where a group passes from one protocol to the other, and for members of its own
(`wire/inner/members.py`): ConsumerProtocolSubscription versions 0-3, ConsumerProtocolAssignment. A version from the
future is read as the last one known, as clients do.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from coordinators.record_fields import read_bytes, read_nullable_string, read_string, write_string

Places = Mapping[str, frozenset[int]]
"""Partitions by the names of their topics."""

_int = struct.Struct(">i")
_NO_BYTES = _int.pack(-1)


class Malformed(ValueError):
    """Bytes that are no such message."""


class Subscription(NamedTuple):
    """What a member wants, and what it has."""

    version: int
    topics: tuple[str, ...]
    owned: Places
    rack_id: str | None
    generation: int = -1
    """Of which it has them; from version 2 on."""


def read_subscription(data: bytes) -> Subscription:
    try:
        return _subscription(data)
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise Malformed(f"not a consumer's subscription: {error}") from None


def _subscription(data: bytes) -> Subscription:
    version, count = struct.unpack_from(">hi", data)
    _check_count(count, data)
    topics, position = [], 6
    for _ in range(count):
        topic, position = read_string(data, position)
        topics.append(topic)
    _user_data, position = read_bytes(data, position)
    owned: Places = {}
    rack_id, generation = None, -1
    if version >= 1:
        owned, position = _read_places(data, position)
    if version >= 2:
        (generation,) = _int.unpack_from(data, position)
    if version >= 3:
        rack_id, position = read_nullable_string(data, position + 4)
    return Subscription(version, tuple(topics), owned, rack_id, generation)


def write_subscription(topics: Iterable[str]) -> bytes:
    """Of a member that gives back what it has before it joins, so that it has nothing to tell of (version 1)."""
    names = sorted(set(topics))
    return b"".join((struct.pack(">hi", 1, len(names)), *map(write_string, names), _NO_BYTES, _int.pack(0)))


def read_assignment(data: bytes) -> tuple[Places, bytes]:
    """The partitions, and what the assignor added for itself; nothing at all is no partitions."""
    if not data:
        return {}, b""
    try:
        places, position = _read_places(data, 2)
        return places, read_bytes(data, position)[0]
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise Malformed(f"not a consumer's assignment: {error}") from None


def write_assignment(places: Places, version: int) -> bytes:
    parts = [struct.pack(">hi", min(max(version, 0), 3), len(places))]
    for topic, partitions in sorted(places.items()):
        parts += (write_string(topic), _int.pack(len(partitions)), *map(_int.pack, sorted(partitions)))
    return b"".join((*parts, _NO_BYTES))


def _read_places(data: bytes, position: int) -> tuple[Places, int]:
    (count,) = _int.unpack_from(data, position)
    _check_count(count, data)
    position += 4
    places: dict[str, frozenset[int]] = {}
    for _ in range(count):
        topic, position = read_string(data, position)
        (size,) = _int.unpack_from(data, position)
        _check_count(size, data)
        partitions = struct.unpack_from(f">{size}i", data, position + 4)
        places[topic] = places.get(topic, frozenset()) | frozenset(partitions)
        position += 4 + 4 * size
    return places, position


def _check_count(count: int, data: bytes) -> None:
    if not 0 <= count <= len(data):
        raise Malformed(f"a count of {count} in {len(data)} bytes")
