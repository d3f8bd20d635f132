"""The records of `__transaction_state` in Kafka's own formats (TransactionLogKey 0, TransactionLogValue 0 and 1).

Version 1 is written. One field is our own, under a tag that Kafka's readers pass over: the epoch before the latest
change, so that a producer's repeated request is known as one after a restart too.
"""

import struct

from coordinators.record_fields import (
    UnknownFormat,
    read_compact_string,
    read_string,
    read_tagged,
    read_unsigned_varint,
    write_compact_string,
    write_string,
    write_tagged,
    write_unsigned_varint,
)
from coordinators.state_machine import Record
from coordinators.transaction.transaction import NO_EPOCH, NO_ID, V0, TopicPartition, Transaction, TransactionState

KEY_VERSION = 0
VALUE_VERSION = 1
_PREVIOUS_ID_TAG = 0
_NEXT_ID_TAG = 1
_VERSION_TAG = 2
_LAST_EPOCH_TAG = 1_000

_short = struct.Struct(">h")
_int = struct.Struct(">i")
_long = struct.Struct(">q")
_fixed = struct.Struct(">hqhib")
_times = struct.Struct(">qq")


class StateRecord(Record):
    """A record that says what is known of a transactional id, made here: nobody has to read it to know what it says."""

    transaction: Transaction


def record(transaction: Transaction) -> StateRecord:
    """The record that makes this the state of its transactional id."""
    t = transaction
    fixed = _fixed.pack(VALUE_VERSION, t.producer_id, t.epoch, t.timeout_ms, t.state)
    value = fixed + _partitions(t) + _times.pack(t.updated_ms, t.started_ms) + _tagged(t)
    made = StateRecord(_short.pack(KEY_VERSION) + write_string(t.transactional_id), value)
    made.transaction = t
    return made


def tombstone(transactional_id: str) -> Record:
    """The record that has a transactional id forgotten."""
    return Record(_short.pack(KEY_VERSION) + write_string(transactional_id), None)


def decode_key(key: bytes) -> str | None:
    """The transactional id; None for keys of later versions."""
    if _short.unpack_from(key)[0] != KEY_VERSION:
        return None
    return read_string(key, 2)[0]


def _partitions(transaction: Transaction) -> bytes:
    if transaction.state is TransactionState.EMPTY:
        return b"\x00"
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        by_topic.setdefault(topic, []).append(index)
    parts = [write_unsigned_varint(len(by_topic) + 1)]
    for topic, indexes in by_topic.items():
        parts += (write_compact_string(topic), write_unsigned_varint(len(indexes) + 1))
        parts += (_int.pack(index) for index in indexes)
        parts.append(b"\x00")
    return b"".join(parts)


def _tagged(transaction: Transaction) -> bytes:
    t = transaction
    fields = {}
    if t.previous_producer_id != NO_ID:
        fields[_PREVIOUS_ID_TAG] = _long.pack(t.previous_producer_id)
    if t.next_producer_id != NO_ID:
        fields[_NEXT_ID_TAG] = _long.pack(t.next_producer_id)
    if t.version != V0:
        fields[_VERSION_TAG] = _short.pack(t.version)
    if t.last_epoch != NO_EPOCH:
        fields[_LAST_EPOCH_TAG] = _short.pack(t.last_epoch)
    return write_tagged(fields)


def decode_value(transactional_id: str, value: bytes) -> Transaction:
    """What a record says of a transactional id."""
    version, producer_id, epoch, timeout_ms, state = _fixed.unpack_from(value)
    if version not in (0, VALUE_VERSION):
        raise UnknownFormat(f"a transaction's value of version {version}")
    read = _read_partitions if version else _read_partitions_0
    partitions, position = read(value, _fixed.size)
    updated_ms, started_ms = _times.unpack_from(value, position)
    fields = read_tagged(value, position + _times.size) if version else {}
    return Transaction(
        transactional_id,
        producer_id,
        epoch,
        timeout_ms,
        TransactionState(state),
        partitions,
        started_ms,
        updated_ms,
        _field(fields, _LAST_EPOCH_TAG, _short, NO_EPOCH),
        _field(fields, _PREVIOUS_ID_TAG, _long, NO_ID),
        _field(fields, _NEXT_ID_TAG, _long, NO_ID),
        _field(fields, _VERSION_TAG, _short, V0),
    )


def _field(fields: dict[int, bytes], tag: int, form: struct.Struct, default: int) -> int:
    return int(form.unpack(fields[tag])[0]) if tag in fields else default


def _read_partitions(value: bytes, position: int) -> tuple[frozenset[TopicPartition], int]:
    found: set[TopicPartition] = set()
    topics, position = read_unsigned_varint(value, position)
    for _ in range(topics - 1):
        topic, position = read_compact_string(value, position)
        indexes, position = read_unsigned_varint(value, position)
        for _ in range(indexes - 1):
            found.add((topic or "", _int.unpack_from(value, position)[0]))
            position += 4
        tags, position = read_unsigned_varint(value, position)
        assert tags == 0, "no version has tagged fields in a topic's partitions"
    return frozenset(found), position


def _read_partitions_0(value: bytes, position: int) -> tuple[frozenset[TopicPartition], int]:
    found: set[TopicPartition] = set()
    (topics,) = _int.unpack_from(value, position)
    position += 4
    for _ in range(topics):
        topic, position = read_string(value, position)
        (indexes,) = _int.unpack_from(value, position)
        position += 4
        for _ in range(indexes):
            found.add((topic, _int.unpack_from(value, position)[0]))
            position += 4
    return frozenset(found), position
