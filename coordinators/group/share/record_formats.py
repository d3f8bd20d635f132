"""The records of a share group (KIP-932) in `__consumer_offsets`, in Kafka's own formats.

Each member's subscription (key 10), the group's epoch (11), the epoch of the target assignment (12), each member's
share of it (13), what each member has now (14), and for which partitions the group has a state (15).
"""

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from coordinators.group.consumer.record_formats import (
    Assignment,
    decode_target,
    decode_target_epoch,
    encode_target,
    encode_target_epoch,
    group_key,
)
from coordinators.record_fields import (
    UnknownFormat,
    read_array,
    read_compact_string,
    read_compact_text,
    read_int,
    read_tagged_section,
    write_array,
    write_compact_string,
)
from coordinators.state_machine import Record
from engine.ids import TopicId

MEMBER_KEY = 10
EPOCH_KEY = 11
TARGET_EPOCH_KEY = 12
TARGET_KEY = 13
CURRENT_KEY = 14
STATES_KEY = 15

STABLE = 1
"""The one state of a member: it is given what it shall have at once."""

_VERSION_0 = b"\x00\x00"
_NO_TAGS = b"\x00"
_int = struct.Struct(">i")

__all__ = ["Assignment", "decode_target", "decode_target_epoch"]


class ShareSubscription(NamedTuple):
    """Who a member is and what it wants to read."""

    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()


class ShareEpoch(NamedTuple):
    """The group's epoch, and a hash of the topics that it was computed with."""

    epoch: int
    metadata_hash: int = 0


class ShareCurrent(NamedTuple):
    """What a member has."""

    epoch: int
    previous_epoch: int
    assigned: Assignment


class StateTopic(NamedTuple):
    """The partitions of a topic for which a group has a state."""

    name: str
    partitions: frozenset[int]


class StateTopics(NamedTuple):
    """For which partitions a group has a state, by topic. Of those that Kafka writes about, being initialised and being
    deleted pass here in one step, unless a node stops in between."""

    initialized: Mapping[TopicId, StateTopic]
    deleting: Mapping[TopicId, str] = {}
    initializing: Mapping[TopicId, StateTopic] = {}


# -- values


def encode_subscription(value: ShareSubscription) -> bytes:
    return b"".join(
        (
            _VERSION_0,
            *map(write_compact_string, (value.rack_id, value.client_id, value.client_host)),
            write_array(value.topics, write_compact_string),
            _NO_TAGS,
        )
    )


def decode_subscription(value: bytes) -> ShareSubscription:
    _check_version(value)
    rack_id, position = read_compact_string(value, 2)
    client_id, position = read_compact_text(value, position)
    client_host, position = read_compact_text(value, position)
    topics, _position = read_array(value, position, read_compact_text)
    return ShareSubscription(rack_id, client_id, client_host, topics)


def encode_epoch(value: ShareEpoch) -> bytes:
    return struct.pack(">hiqb", 0, value.epoch, value.metadata_hash, 0)


def decode_epoch(value: bytes) -> ShareEpoch:
    _check_version(value)
    return ShareEpoch(*struct.unpack_from(">iq", value, 2))


def encode_current(value: ShareCurrent) -> bytes:
    head = struct.pack(">hiib", 0, value.epoch, value.previous_epoch, STABLE)
    # Where a target has its version it has the rest, too.
    return head + encode_target(value.assigned)[2:]


def decode_current(value: bytes) -> ShareCurrent:
    _check_version(value)
    epoch, previous_epoch, _state = struct.unpack_from(">iib", value, 2)
    return ShareCurrent(epoch, previous_epoch, decode_target(_VERSION_0 + value[11:]))


def encode_states(value: StateTopics) -> bytes:
    return b"".join(
        (
            _VERSION_0,
            write_array(sorted(value.initializing.items()), _write_topic),
            write_array(sorted(value.initialized.items()), _write_topic),
            write_array(sorted(value.deleting.items()), _write_name),
            _NO_TAGS,
        )
    )


def decode_states(value: bytes) -> StateTopics:
    _check_version(value)
    initializing, position = read_array(value, 2, _read_topic)
    initialized, position = read_array(value, position, _read_topic)
    deleting, _position = read_array(value, position, _read_name)
    return StateTopics(dict(initialized), dict(deleting), dict(initializing))


# -- parts


def _check_version(value: bytes) -> None:
    if value[:2] != _VERSION_0:
        raise UnknownFormat(f"a record of a share group of version {int.from_bytes(value[:2], 'big')}")


def _write_topic(item: tuple[TopicId, StateTopic]) -> bytes:
    topic_id, topic = item
    partitions: Iterable[int] = sorted(topic.partitions)
    return b"".join((topic_id, write_compact_string(topic.name), write_array(partitions, _int.pack), _NO_TAGS))


def _read_topic(value: bytes, position: int) -> tuple[tuple[TopicId, StateTopic], int]:
    topic_id = value[position : position + 16]
    name, position = read_compact_text(value, position + 16)
    partitions, position = read_array(value, position, read_int)
    _tags, position = read_tagged_section(value, position)
    return (topic_id, StateTopic(name, frozenset(partitions))), position


def _write_name(item: tuple[TopicId, str]) -> bytes:
    topic_id, name = item
    return b"".join((topic_id, write_compact_string(name), _NO_TAGS))


def _read_name(value: bytes, position: int) -> tuple[tuple[TopicId, str], int]:
    topic_id = value[position : position + 16]
    name, position = read_compact_text(value, position + 16)
    _tags, position = read_tagged_section(value, position)
    return (topic_id, name), position


# -- whole records; without a value the end of what the key names


def subscription_record(group_id: str, member_id: str, value: ShareSubscription | None) -> Record:
    return Record(group_key(MEMBER_KEY, group_id, member_id), None if value is None else encode_subscription(value))


def epoch_record(group_id: str, value: ShareEpoch | None) -> Record:
    return Record(group_key(EPOCH_KEY, group_id), None if value is None else encode_epoch(value))


def target_epoch_record(group_id: str, epoch: int | None, timestamp_ms: int = 0) -> Record:
    value = None if epoch is None else encode_target_epoch(epoch, timestamp_ms)
    return Record(group_key(TARGET_EPOCH_KEY, group_id), value)


def target_record(group_id: str, member_id: str, partitions: Assignment | None) -> Record:
    return Record(group_key(TARGET_KEY, group_id, member_id), None if partitions is None else encode_target(partitions))


def current_record(group_id: str, member_id: str, value: ShareCurrent | None) -> Record:
    return Record(group_key(CURRENT_KEY, group_id, member_id), None if value is None else encode_current(value))


def states_record(group_id: str, value: StateTopics | None) -> Record:
    return Record(group_key(STATES_KEY, group_id), None if value is None else encode_states(value))
