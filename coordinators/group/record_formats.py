"""The records of `__consumer_offsets` in Kafka's own formats, so that known tools read the topic.

A key begins with its version, which also says what it is a key of: 0 and 1 a committed offset, 2 a classic
group's metadata. Values begin with a version of their own; every version that Kafka ever wrote is read.
"""

import struct
from typing import NamedTuple

from coordinators.record_fields import (
    UnknownFormat,
    read_bytes,
    read_compact_bytes,
    read_compact_string,
    read_nullable_string,
    read_string,
    read_tagged,
    read_unsigned_varint,
    write_bytes,
    write_nullable_string,
    write_string,
    write_tagged,
)
from coordinators.state_machine import Record
from engine.ids import ZERO_ID, TopicId

OFFSET_KEY_VERSIONS = (0, 1)
GROUP_KEY_VERSION = 2
NO_TIME = -1
LATEST_TIME = 2**63 - 1
"""The last millisecond that the format can tell."""
NO_EPOCH = -1
_TOPIC_ID_TAG = 0

_short = struct.Struct(">h")
_int = struct.Struct(">i")
_long = struct.Struct(">q")
_offset_and_epoch = struct.Struct(">hqi")
_plain_offset = struct.Struct(">hqixq3x16s")
_TOPIC_ID_ALONE = b"\x01\x00\x10"


class OffsetKey(NamedTuple):
    """Whose offset, of which partition."""

    group_id: str
    topic: str
    partition: int


class OffsetValue(NamedTuple):
    """A committed offset. `expire_timestamp_ms` is set only by clients of old, who bring their own retention."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_TIME
    topic_id: TopicId = ZERO_ID


class MemberValue(NamedTuple):
    """A member of a classic group, with its subscription for the selected protocol."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class GroupValue(NamedTuple):
    """A classic group between two rebalances: stable, or empty if it has no members."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_timestamp_ms: int
    members: tuple[MemberValue, ...]


# -- keys


def key_version(key: bytes) -> int:
    """What the record is about."""
    return int(_short.unpack_from(key)[0])


def encode_offset_key(key: OffsetKey) -> bytes:
    return b"".join((b"\x00\x01", write_string(key.group_id), write_string(key.topic), _int.pack(key.partition)))


def decode_offset_key(key: bytes) -> OffsetKey:
    size = _short.unpack_from(key, 2)[0]
    end = 4 + size
    topic_end = end + 2 + _short.unpack_from(key, end)[0]
    return OffsetKey(key[4:end].decode(), key[end + 2 : topic_end].decode(), _int.unpack_from(key, topic_end)[0])


def encode_group_key(group_id: str) -> bytes:
    return b"\x00\x02" + write_string(group_id)


def decode_group_key(key: bytes) -> str:
    return read_string(key, 2)[0]


# -- offsets


def encode_offset(value: OffsetValue) -> bytes:
    """Version 1 if it brings its own expiry, else version 4, which knows the topic's id."""
    if value.expire_timestamp_ms != NO_TIME:
        times = struct.pack(">qq", value.commit_timestamp_ms, value.expire_timestamp_ms)
        return struct.pack(">hq", 1, value.offset) + write_string(value.metadata) + times
    tags = {} if value.topic_id == ZERO_ID else {_TOPIC_ID_TAG: value.topic_id}
    metadata = value.metadata.encode()
    return b"".join(
        (
            _offset_and_epoch.pack(4, value.offset, value.leader_epoch),
            write_bytes(metadata, compact=True),
            _long.pack(value.commit_timestamp_ms),
            write_tagged(tags),
        )
    )


def decode_offset(value: bytes) -> OffsetValue:
    if len(value) == _plain_offset.size and value[14] == 1 and value[23:26] == _TOPIC_ID_ALONE:
        # What nearly all are: without text, with a topic id. Loading is faster for it.
        _version, offset, epoch, committed, topic_id = _plain_offset.unpack(value)
        return OffsetValue(offset, epoch, "", committed, NO_TIME, topic_id)
    version, offset = struct.unpack_from(">hq", value)
    if version == 4:
        return _decode_offset_4(value, offset)
    if not 0 <= version <= 3:
        raise UnknownFormat(f"an offset of version {version}")
    position, leader_epoch = 10, NO_EPOCH
    if version == 3:
        leader_epoch, position = _int.unpack_from(value, 10)[0], 14
    metadata, position = read_string(value, position)
    committed = _long.unpack_from(value, position)[0]
    expires = _long.unpack_from(value, position + 8)[0] if version == 1 else NO_TIME
    return OffsetValue(offset, leader_epoch, metadata, committed, expires)


def _decode_offset_4(value: bytes, offset: int) -> OffsetValue:
    metadata, position = read_compact_string(value, 14)
    tags = read_tagged(value, position + 8)
    return OffsetValue(
        offset,
        _int.unpack_from(value, 10)[0],
        metadata or "",
        _long.unpack_from(value, position)[0],
        NO_TIME,
        tags.get(_TOPIC_ID_TAG, ZERO_ID),
    )


# -- groups


def encode_group(value: GroupValue) -> bytes:
    """Version 3, which Kafka writes."""
    parts = [
        _short.pack(3),
        write_string(value.protocol_type),
        _int.pack(value.generation),
        write_nullable_string(value.protocol),
        write_nullable_string(value.leader),
        struct.pack(">qi", value.state_timestamp_ms, len(value.members)),
    ]
    for member in value.members:
        parts += (
            write_string(member.member_id),
            write_nullable_string(member.instance_id),
            write_string(member.client_id),
            write_string(member.client_host),
            struct.pack(">ii", member.rebalance_timeout_ms, member.session_timeout_ms),
            write_bytes(member.subscription),
            write_bytes(member.assignment),
        )
    return b"".join(parts)


def decode_group(value: bytes) -> GroupValue:
    version = key_version(value)
    if version == 4:
        return _decode_group_4(value)
    if not 0 <= version <= 3:
        raise UnknownFormat(f"a group's metadata of version {version}")
    protocol_type, position = read_string(value, 2)
    generation = _int.unpack_from(value, position)[0]
    protocol, position = read_nullable_string(value, position + 4)
    leader, position = read_nullable_string(value, position)
    changed = NO_TIME
    if version >= 2:
        changed, position = _long.unpack_from(value, position)[0], position + 8
    count, position = _int.unpack_from(value, position)[0], position + 4
    members = []
    for _ in range(count):
        member, position = _decode_member(value, position, version)
        members.append(member)
    return GroupValue(protocol_type, generation, protocol, leader, changed, tuple(members))


def _decode_member(value: bytes, position: int, version: int) -> tuple[MemberValue, int]:
    member_id, position = read_string(value, position)
    instance_id = None
    if version >= 3:
        instance_id, position = read_nullable_string(value, position)
    client_id, position = read_string(value, position)
    client_host, position = read_string(value, position)
    rebalance_timeout_ms = _int.unpack_from(value, position)[0]
    if version >= 1:
        position += 4
    # Version 0 has one timeout for both.
    session_timeout_ms, position = _int.unpack_from(value, position)[0], position + 4
    subscription, position = read_bytes(value, position)
    assignment, position = read_bytes(value, position)
    timeouts = (rebalance_timeout_ms, session_timeout_ms)
    return MemberValue(member_id, instance_id, client_id, client_host, *timeouts, subscription, assignment), position


def _decode_group_4(value: bytes) -> GroupValue:
    protocol_type, position = read_compact_string(value, 2)
    generation = _int.unpack_from(value, position)[0]
    protocol, position = read_compact_string(value, position + 4)
    leader, position = read_compact_string(value, position)
    changed = _long.unpack_from(value, position)[0]
    count, position = read_unsigned_varint(value, position + 8)
    members = []
    for _ in range(count - 1):
        member, position = _decode_member_4(value, position)
        members.append(member)
    return GroupValue(protocol_type or "", generation, protocol, leader, changed, tuple(members))


def _decode_member_4(value: bytes, position: int) -> tuple[MemberValue, int]:
    member_id, position = read_compact_string(value, position)
    instance_id, position = read_compact_string(value, position)
    client_id, position = read_compact_string(value, position)
    client_host, position = read_compact_string(value, position)
    rebalance_timeout_ms, session_timeout_ms = struct.unpack_from(">ii", value, position)
    subscription, position = read_compact_bytes(value, position + 8)
    assignment, position = read_compact_bytes(value, position)
    tag_count, position = read_unsigned_varint(value, position)
    for _ in range(tag_count):
        _tag, position = read_unsigned_varint(value, position)
        size, position = read_unsigned_varint(value, position)
        position += size
    names = (member_id or "", instance_id, client_id or "", client_host or "")
    timeouts = (rebalance_timeout_ms, session_timeout_ms)
    return MemberValue(*names, *timeouts, subscription, assignment), position


# -- whole records


def offset_record(key: OffsetKey, value: OffsetValue | None) -> Record:
    """A commit, or without a value its removal."""
    return Record(encode_offset_key(key), None if value is None else encode_offset(value))


def group_record(group_id: str, value: GroupValue | None) -> Record:
    """A group's metadata, or without a value its end."""
    return Record(encode_group_key(group_id), None if value is None else encode_group(value))
