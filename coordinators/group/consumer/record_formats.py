"""The records of a group of the new consumer protocol (KIP-848) in `__consumer_offsets`, in Kafka's own formats.

One group is spread over many records, so that a heartbeat writes only what it changes: the group's epoch (key 3),
each member's subscription (5), the epoch of the target assignment (6), each member's share of it (7), what each
member has now (8) and what each regular expression stands for (16). Key 4 is of older brokers and only passed over.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from coordinators.record_fields import (
    UnknownFormat,
    read_array,
    read_compact_bytes,
    read_compact_string,
    read_compact_text,
    read_int,
    read_string,
    read_tagged,
    read_unsigned_varint,
    write_array,
    write_bytes,
    write_compact_string,
    write_string,
    write_tagged,
)
from coordinators.state_machine import Record
from engine.ids import TopicId

EPOCH_KEY = 3
PARTITION_METADATA_KEY = 4
MEMBER_KEY = 5
TARGET_EPOCH_KEY = 6
TARGET_KEY = 7
CURRENT_KEY = 8
REGEX_KEY = 16

Assignment = Mapping[TopicId, frozenset[int]]
"""Partitions by topic."""
AssignedPartitions = Mapping[TopicId, Mapping[int, int]]
"""Partitions by topic, each with the epoch in which its owner was given it (KIP-1251)."""

_VERSION_0 = b"\x00\x00"
_int = struct.Struct(">i")
_long = struct.Struct(">q")
_METADATA_HASH_TAG = 0
_CLASSIC_TAG = 0
_TIMESTAMP_TAG = 0
_ASSIGNMENT_EPOCHS_TAG = 0

T = TypeVar("T")


class EpochValue(NamedTuple):
    """The group's epoch, and a hash of the topics that it was computed with."""

    epoch: int
    metadata_hash: int = 0


class ClassicMetadata(NamedTuple):
    """What a member that speaks the classic protocol said when it joined."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class SubscriptionValue(NamedTuple):
    """Who a member is and what it wants to read."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    regex: str | None = None
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicMetadata | None = None


class CurrentValue(NamedTuple):
    """What a member has, and what it still has to give back."""

    epoch: int
    previous_epoch: int
    state: int
    assigned: AssignedPartitions
    revoking: AssignedPartitions


class RegexValue(NamedTuple):
    """The topics that a regular expression stands for, as of a version of the topic list."""

    topics: tuple[str, ...]
    version: int
    timestamp_ms: int


# -- keys


def group_key(kind: int, group_id: str, *more: str) -> bytes:
    """A key: what it is about, the group, and for some the member or the expression."""
    return b"".join((kind.to_bytes(2, "big"), write_string(group_id), *map(write_string, more)))


def decode_group_key(key: bytes) -> str:
    return read_string(key, 2)[0]


def decode_member_key(key: bytes) -> tuple[str, str]:
    """The group, and its member or expression."""
    group_id, position = read_string(key, 2)
    return group_id, read_string(key, position)[0]


# -- values


def encode_epoch(value: EpochValue) -> bytes:
    tags = {} if value.metadata_hash == 0 else {_METADATA_HASH_TAG: _long.pack(value.metadata_hash)}
    return _VERSION_0 + _int.pack(value.epoch) + write_tagged(tags)


def decode_epoch(value: bytes) -> EpochValue:
    _check_version(value)
    tagged = read_tagged(value, 6).get(_METADATA_HASH_TAG)
    return EpochValue(_int.unpack_from(value, 2)[0], 0 if tagged is None else _long.unpack(tagged)[0])


def encode_subscription(value: SubscriptionValue) -> bytes:
    tags = {} if value.classic is None else {_CLASSIC_TAG: _encode_classic(value.classic)}
    return b"".join(
        (
            _VERSION_0,
            *map(write_compact_string, (value.instance_id, value.rack_id, value.client_id, value.client_host)),
            write_array(value.topics, write_compact_string),
            write_compact_string(value.regex),
            _int.pack(value.rebalance_timeout_ms),
            write_compact_string(value.assignor),
            write_tagged(tags),
        )
    )


def decode_subscription(value: bytes) -> SubscriptionValue:
    _check_version(value)
    instance_id, position = read_compact_string(value, 2)
    rack_id, position = read_compact_string(value, position)
    client_id, position = read_compact_string(value, position)
    client_host, position = read_compact_string(value, position)
    topics, position = read_array(value, position, read_compact_text)
    regex, position = read_compact_string(value, position)
    timeout_ms, position = _int.unpack_from(value, position)[0], position + 4
    assignor, position = read_compact_string(value, position)
    tagged = read_tagged(value, position).get(_CLASSIC_TAG)
    classic = None if tagged is None or tagged[:1] == b"\xff" else _decode_classic(tagged)
    return SubscriptionValue(
        instance_id, rack_id, client_id or "", client_host or "", topics, regex, timeout_ms, assignor, classic
    )


def encode_target_epoch(epoch: int, timestamp_ms: int = 0) -> bytes:
    tags = {} if timestamp_ms == 0 else {_TIMESTAMP_TAG: _long.pack(timestamp_ms)}
    return _VERSION_0 + _int.pack(epoch) + write_tagged(tags)


def decode_target_epoch(value: bytes) -> int:
    _check_version(value)
    return int(_int.unpack_from(value, 2)[0])


def encode_target(partitions: Assignment) -> bytes:
    return b"".join((_VERSION_0, write_array(sorted(partitions.items()), _write_topic), b"\x00"))


def decode_target(value: bytes) -> Assignment:
    _check_version(value)
    topics, _position = read_array(value, 2, _read_topic)
    return {topic_id: frozenset(partitions) for topic_id, partitions in topics}


def encode_current(value: CurrentValue) -> bytes:
    return b"".join(
        (
            struct.pack(">hiib", 0, value.epoch, value.previous_epoch, value.state),
            write_array(sorted(value.assigned.items(), key=_topic_id), _write_assigned_topic),
            write_array(sorted(value.revoking.items(), key=_topic_id), _write_assigned_topic),
            b"\x00",
        )
    )


def decode_current(value: bytes) -> CurrentValue:
    _check_version(value)
    epoch, previous_epoch, state = struct.unpack_from(">iib", value, 2)
    assigned, position = read_array(value, 11, _read_topic)
    revoking, position = read_array(value, position, _read_topic)
    return CurrentValue(epoch, previous_epoch, state, dict(assigned), dict(revoking))


def encode_regex(value: RegexValue) -> bytes:
    times = struct.pack(">qq", value.version, value.timestamp_ms)
    return b"".join((_VERSION_0, write_array(value.topics, write_compact_string), times, b"\x00"))


def decode_regex(value: bytes) -> RegexValue:
    _check_version(value)
    topics, position = read_array(value, 2, read_compact_text)
    return RegexValue(topics, *struct.unpack_from(">qq", value, position))


# -- parts


def _check_version(value: bytes) -> None:
    if value[:2] != _VERSION_0:
        raise UnknownFormat(f"a record of a consumer group of version {int.from_bytes(value[:2], 'big')}")


def _topic_id(item: tuple[TopicId, object]) -> TopicId:
    return item[0]


def _write_topic(topic: tuple[TopicId, Iterable[int]]) -> bytes:
    topic_id, partitions = topic
    return b"".join((topic_id, write_array(sorted(partitions), _int.pack), b"\x00"))


def _write_assigned_topic(topic: tuple[TopicId, Mapping[int, int]]) -> bytes:
    topic_id, partitions = topic
    epochs = write_array((partitions[each] for each in sorted(partitions)), _int.pack)
    written = write_array(sorted(partitions), _int.pack)
    return b"".join((topic_id, written, write_tagged({_ASSIGNMENT_EPOCHS_TAG: epochs})))


def _read_topic(value: bytes, position: int) -> tuple[tuple[TopicId, dict[int, int]], int]:
    """A topic's partitions with their epochs, 0 where none are written."""
    topic_id = value[position : position + 16]
    partitions, position = read_array(value, position + 16, read_int)
    epochs: tuple[int, ...] = (0,) * len(partitions)
    tag_count, position = read_unsigned_varint(value, position)
    for _ in range(tag_count):
        tag, position = read_unsigned_varint(value, position)
        size, position = read_unsigned_varint(value, position)
        if tag == _ASSIGNMENT_EPOCHS_TAG and value[position] != 0:
            epochs, _end = read_array(value, position, read_int)
        position += size
    return (topic_id, dict(zip(partitions, epochs, strict=True))), position


def _encode_classic(classic: ClassicMetadata) -> bytes:
    # A nullable structure begins with 1 where there is one.
    return b"".join(
        (b"\x01", _int.pack(classic.session_timeout_ms), write_array(classic.protocols, _protocol), b"\x00")
    )


def _protocol(protocol: tuple[str, bytes]) -> bytes:
    name, metadata = protocol
    return b"".join((write_compact_string(name), write_bytes(metadata, compact=True), b"\x00"))


def _decode_classic(tagged: bytes) -> ClassicMetadata:
    protocols, _position = read_array(tagged, 5, _read_protocol)
    return ClassicMetadata(_int.unpack_from(tagged, 1)[0], protocols)


def _read_protocol(value: bytes, position: int) -> tuple[tuple[str, bytes], int]:
    name, position = read_compact_string(value, position)
    metadata, position = read_compact_bytes(value, position)
    return (name or "", metadata), position + 1


# -- whole records; without a value the end of what the key names


def epoch_record(group_id: str, value: EpochValue | None) -> Record:
    return Record(group_key(EPOCH_KEY, group_id), None if value is None else encode_epoch(value))


def subscription_record(group_id: str, member_id: str, value: SubscriptionValue | None) -> Record:
    return Record(group_key(MEMBER_KEY, group_id, member_id), None if value is None else encode_subscription(value))


def target_epoch_record(group_id: str, epoch: int | None, timestamp_ms: int = 0) -> Record:
    value = None if epoch is None else encode_target_epoch(epoch, timestamp_ms)
    return Record(group_key(TARGET_EPOCH_KEY, group_id), value)


def target_record(group_id: str, member_id: str, partitions: Assignment | None) -> Record:
    return Record(group_key(TARGET_KEY, group_id, member_id), None if partitions is None else encode_target(partitions))


def current_record(group_id: str, member_id: str, value: CurrentValue | None) -> Record:
    return Record(group_key(CURRENT_KEY, group_id, member_id), None if value is None else encode_current(value))


def regex_record(group_id: str, regex: str, value: RegexValue | None) -> Record:
    return Record(group_key(REGEX_KEY, group_id, regex), None if value is None else encode_regex(value))
