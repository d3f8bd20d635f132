"""The records of `__share_group_state` in Kafka's own formats: ShareSnapshot (0), which is a share partition's whole
state, and ShareUpdate (1), which is what has changed since.

What this broker keeps beside Kafka's fields stands under tags that Kafka's readers pass over: of a batch the times of
its deliveries and its back-off, and of a dead letter the reason; of a state the producer of its dead letters, and where
it began, by which an initialisation that comes twice is known.
"""

import struct
from collections.abc import Sequence

from attrs import frozen

from coordinators.record_fields import (
    UnknownFormat,
    read_compact_string,
    read_string,
    read_tagged,
    read_tagged_section,
    read_unsigned_varint,
    write_compact_string,
    write_string,
    write_tagged,
    write_unsigned_varint,
)
from coordinators.share.ports import (
    LETTER_REASONS,
    UNINITIALISED,
    DeliveryState,
    LetterProducer,
    ShareChange,
    SharePlace,
    ShareState,
    StateBatch,
)
from coordinators.state_machine import Record

SNAPSHOT, UPDATE = 0, 1
VALUE_VERSION = 0
_COMPLETE_TAG = 0
_NO_COMPLETE_COUNT = -1
_LETTERS_TAG = 1_000
_BEGAN_TAG = 1_001
_TIMES_TAG = 1_000
_REASON_TAG = 1_001

_short = struct.Struct(">h")
_int = struct.Struct(">i")
_long = struct.Struct(">q")
_place = struct.Struct(">16si")
_snapshot = struct.Struct(">hiiiqqq")
_update = struct.Struct(">hiiq")
_batch = struct.Struct(">qqbhB")
_batch_fields = struct.Struct(">qqbh")
_times = struct.Struct(">qqq")
_timed_batch = struct.Struct(">qqbhBHBqqq")
"""A batch whose only tagged field is that of its times, which most have: number of tags, tag, size and content."""
_letters = struct.Struct(">qq")
_range = struct.Struct(">qq")
_TIMES_ALONE = (1, 0xE807, _times.size)
"""How its tagged fields begin: one, of this number as a varint, of this size."""
_STATES = tuple(DeliveryState)
_NO_TAGS = b"\x00"


@frozen
class ShareSnapshot:
    """A share partition's whole state. Updates name the epoch of the snapshot that they go with."""

    snapshot_epoch: int
    state: ShareState
    created_ms: int
    written_ms: int
    began_at: int = UNINITIALISED
    """The start that it was initialised with."""


@frozen
class ShareUpdate:
    """What has changed since a snapshot, or since the update before."""

    snapshot_epoch: int
    leader_epoch: int
    change: ShareChange


class ShareStateRecord(Record):
    """A record that was made here: nobody has to read it to know what it says."""

    content: ShareSnapshot | ShareUpdate


def snapshot_record(place: SharePlace, snapshot: ShareSnapshot) -> ShareStateRecord:
    """The record that makes this the state of the place."""
    made = ShareStateRecord(_key(SNAPSHOT, place), encode_snapshot(snapshot))
    made.content = snapshot
    return made


def update_record(place: SharePlace, update: ShareUpdate) -> ShareStateRecord:
    """The record that changes the state of the place."""
    made = ShareStateRecord(_key(UPDATE, place), encode_update(update))
    made.content = update
    return made


def tombstone(place: SharePlace) -> Record:
    """The record that has a place forgotten."""
    return Record(_key(SNAPSHOT, place), None)


def _key(kind: int, place: SharePlace) -> bytes:
    return _short.pack(kind) + write_string(place.group_id) + _place.pack(place.topic_id, place.partition_index)


def decode_key(key: bytes) -> tuple[int, SharePlace] | None:
    """`SNAPSHOT` or `UPDATE`, and of what; None for keys of other kinds."""
    kind = _short.unpack_from(key)[0]
    if kind not in (SNAPSHOT, UPDATE):
        return None
    group_id, position = read_string(key, 2)
    topic_id, partition_index = _place.unpack_from(key, position)
    return kind, SharePlace(group_id, topic_id, partition_index)


# -- values

_REASONS = tuple(reason.encode() for reason in LETTER_REASONS)


def may_have_letters(value: bytes) -> bool:
    """Whether a snapshot or an update may tell of dead letters, by a search: most do not, and are not opened for it."""
    return any(reason in value for reason in _REASONS)


def encode_snapshot(snapshot: ShareSnapshot) -> bytes:
    state = snapshot.state
    fixed = _snapshot.pack(
        VALUE_VERSION,
        snapshot.snapshot_epoch,
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
        snapshot.created_ms,
        snapshot.written_ms,
    )
    tags = _state_tags(state.complete_count, state.letter_producer)
    if snapshot.began_at != UNINITIALISED:
        tags[_BEGAN_TAG] = _long.pack(snapshot.began_at)
    return fixed + _encode_batches(state.batches) + write_tagged(tags)


def decode_snapshot(value: bytes) -> ShareSnapshot:
    version, snapshot_epoch, state_epoch, leader_epoch, start, created_ms, written_ms = _snapshot.unpack_from(value)
    _check(version)
    batches, position = _decode_batches(value, _snapshot.size)
    tags = read_tagged(value, position)
    state = ShareState(state_epoch, leader_epoch, start, _complete_count(tags), batches, _letter_producer(tags))
    began_at = _long.unpack(tags[_BEGAN_TAG])[0] if _BEGAN_TAG in tags else UNINITIALISED
    return ShareSnapshot(snapshot_epoch, state, created_ms, written_ms, began_at)


def written_ms(value: bytes) -> int:
    """When a snapshot was written; raises for one of another version."""
    fixed = _snapshot.unpack_from(value)
    _check(fixed[0])
    return int(fixed[-1])


def encode_update(update: ShareUpdate) -> bytes:
    change = update.change
    fixed = _update.pack(VALUE_VERSION, update.snapshot_epoch, update.leader_epoch, change.start_offset)
    tags = _state_tags(change.complete_count, change.letter_producer)
    return fixed + _encode_batches(change.batches) + write_tagged(tags)


def decode_update(value: bytes) -> ShareUpdate:
    version, snapshot_epoch, leader_epoch, start_offset = _update.unpack_from(value)
    _check(version)
    batches, position = _decode_batches(value, _update.size)
    tags = read_tagged(value, position)
    change = ShareChange(start_offset, _complete_count(tags), batches, _letter_producer(tags))
    return ShareUpdate(snapshot_epoch, leader_epoch, change)


def check_version(value: bytes) -> None:
    """Raise for a value of another version than those that are read here."""
    _check(_short.unpack_from(value)[0])


def _check(version: int) -> None:
    if version != VALUE_VERSION:
        raise UnknownFormat(f"a share partition's state of version {version}")


def _state_tags(complete_count: int, letter_producer: LetterProducer | None) -> dict[int, bytes]:
    tags = {_COMPLETE_TAG: _int.pack(complete_count)}
    if letter_producer is not None:
        tags[_LETTERS_TAG] = _encode_letters(letter_producer)
    return tags


def _complete_count(tags: dict[int, bytes]) -> int:
    count = _int.unpack(tags[_COMPLETE_TAG])[0] if _COMPLETE_TAG in tags else _NO_COMPLETE_COUNT
    return max(int(count), 0)


def _encode_letters(producer: LetterProducer) -> bytes:
    fixed = _letters.pack(producer.producer_id, producer.sent)
    if not (producer.target or producer.intended):
        return fixed
    ranges = b"".join(_range.pack(first, last) for first, last in producer.intended)
    return fixed + write_compact_string(producer.target) + write_unsigned_varint(len(producer.intended)) + ranges


def _letter_producer(tags: dict[int, bytes]) -> LetterProducer | None:
    content = tags.get(_LETTERS_TAG)
    if content is None:
        return None
    producer_id, sent = _letters.unpack_from(content)
    if len(content) == _letters.size:
        return LetterProducer(producer_id, sent)
    target, position = read_compact_string(content, _letters.size)
    count, position = read_unsigned_varint(content, position)
    ranges = (_range.unpack_from(content, position + number * _range.size) for number in range(count))
    return LetterProducer(producer_id, sent, target or "", tuple(ranges))


# -- batches


def _encode_batches(batches: Sequence[StateBatch]) -> bytes:
    parts = [write_unsigned_varint(len(batches) + 1)]
    for batch in batches:
        fields = (batch.first_offset, batch.last_offset, batch.state, batch.delivery_count)
        times = (batch.not_before_ms, batch.first_delivered_ms, batch.last_delivered_ms)
        if batch.reason or batch.member_id:
            parts += (_batch_fields.pack(*fields), _letter_tags(batch, times))
        elif any(times):
            parts.append(_timed_batch.pack(*fields, *_TIMES_ALONE, *times))
        else:
            parts += (_batch_fields.pack(*fields), _NO_TAGS)
    return b"".join(parts)


def _letter_tags(batch: StateBatch, times: tuple[int, int, int]) -> bytes:
    tags = {_REASON_TAG: write_compact_string(batch.reason) + write_compact_string(batch.member_id)}
    if any(times):
        tags[_TIMES_TAG] = _times.pack(*times)
    return write_tagged(tags)


def _decode_batches(value: bytes, position: int) -> tuple[tuple[StateBatch, ...], int]:
    count, position = read_unsigned_varint(value, position)
    batches, last_timed = [], len(value) - _timed_batch.size
    for _ in range(count - 1):
        first, last, state, delivery_count, tag_count = _batch.unpack_from(value, position)
        if not 0 <= state < len(_STATES):
            raise UnknownFormat(f"a batch in the state {state}")
        if not tag_count:
            batches.append(StateBatch(first, last, _STATES[state], delivery_count))
            position += _batch.size
            continue
        if position <= last_timed:
            timed = _timed_batch.unpack_from(value, position)
            if timed[4:7] == _TIMES_ALONE:
                batches.append(StateBatch(first, last, _STATES[state], delivery_count, *timed[7:]))
                position += _timed_batch.size
                continue
        tags_at = position + _batch.size - 1
        batch, position = _with_tags(value, tags_at, first, last, _STATES[state], delivery_count)
        batches.append(batch)
    return tuple(batches), position


def _with_tags(
    value: bytes, position: int, first: int, last: int, state: DeliveryState, delivery_count: int
) -> tuple[StateBatch, int]:
    tags, position = read_tagged_section(value, position)
    not_before_ms = first_ms = last_ms = 0
    reason = member_id = ""
    if _TIMES_TAG in tags:
        not_before_ms, first_ms, last_ms = _times.unpack(tags[_TIMES_TAG])
    if _REASON_TAG in tags:
        content = tags[_REASON_TAG]
        read_reason, middle = read_compact_string(content, 0)
        reason, member_id = read_reason or "", read_compact_string(content, middle)[0] or ""
    batch = StateBatch(first, last, state, delivery_count, not_before_ms, first_ms, last_ms, reason, member_id)
    return batch, position
