"""The records of a streams group (KIP-1071) in `__consumer_offsets`, in Kafka's own formats.

As with consumer groups a heartbeat writes only what it changes: the group's epoch (key 17), who each member is (19),
the epoch of the target assignment (20), each member's share of it (21), what each member has now (22) and the
topology (23), which also has a file of its own (`topology_format.py`).
"""

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from coordinators.group.consumer.record_formats import group_key
from coordinators.group.streams.tasks import HeldTasks, TaskEpochs, TaskIds, Tasks
from coordinators.group.streams.topology import Topology
from coordinators.group.streams.topology_format import encode_topology
from coordinators.record_fields import (
    UnknownFormat,
    read_array,
    read_compact_string,
    read_compact_text,
    read_int,
    read_tagged,
    read_unsigned_varint,
    write_array,
    write_compact_string,
    write_tagged,
)
from coordinators.state_machine import Record

STREAMS_EPOCH_KEY = 17
STREAMS_PARTITION_METADATA_KEY = 18
STREAMS_MEMBER_KEY = 19
STREAMS_TARGET_EPOCH_KEY = 20
STREAMS_TARGET_KEY = 21
STREAMS_CURRENT_KEY = 22
STREAMS_TOPOLOGY_KEY = 23

NOT_VALIDATED = -1
"""No topology's topics are as it needs them."""

_VERSION_0 = b"\x00\x00"
_int = struct.Struct(">i")
_long = struct.Struct(">q")
_VALIDATED_TAG = 0
_CONFIGS_TAG = 1
_TIMESTAMP_TAG = 0
_ASSIGNMENT_EPOCHS_TAG = 0

Pairs = tuple[tuple[str, str], ...]


class StreamsEpochValue(NamedTuple):
    """The group's epoch; the topics, the topology and the configs that it was raised for."""

    epoch: int
    metadata_hash: int = 0
    validated_topology_epoch: int = NOT_VALIDATED
    assignment_configs: Pairs = ()


class UserEndpoint(NamedTuple):
    """Where a process answers questions about its state."""

    host: str
    port: int


class StreamsMemberValue(NamedTuple):
    """Who a member is: a thread of a process that runs an application."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    endpoint: UserEndpoint | None = None
    tags: Pairs = ()


class StreamsCurrentValue(NamedTuple):
    """What a member has, and what it still has to give back."""

    epoch: int
    previous_epoch: int
    state: int
    assigned: HeldTasks
    revoking: HeldTasks


# -- values


def encode_streams_epoch(value: StreamsEpochValue) -> bytes:
    tags = {_CONFIGS_TAG: write_array(value.assignment_configs, _write_pair)}
    if value.validated_topology_epoch != NOT_VALIDATED:
        tags[_VALIDATED_TAG] = _int.pack(value.validated_topology_epoch)
    return _VERSION_0 + _int.pack(value.epoch) + _long.pack(value.metadata_hash) + write_tagged(tags)


def decode_streams_epoch(value: bytes) -> StreamsEpochValue:
    _check_version(value)
    epoch, metadata_hash = struct.unpack_from(">iq", value, 2)
    tagged = read_tagged(value, 14)
    validated = _int.unpack(tagged[_VALIDATED_TAG])[0] if _VALIDATED_TAG in tagged else NOT_VALIDATED
    configs = tagged.get(_CONFIGS_TAG, b"\x00")
    pairs: Pairs = () if configs[:1] == b"\x00" else read_array(configs, 0, _read_pair)[0]
    return StreamsEpochValue(epoch, metadata_hash, validated, pairs)


def encode_streams_member(value: StreamsMemberValue) -> bytes:
    endpoint = value.endpoint
    # A nullable structure begins with 1 where there is one.
    place = (
        b"\xff" if endpoint is None else b"\x01" + write_compact_string(endpoint.host) + _port(endpoint.port) + b"\x00"
    )
    return b"".join(
        (
            _VERSION_0,
            *map(write_compact_string, (value.instance_id, value.rack_id, value.client_id, value.client_host)),
            _int.pack(value.rebalance_timeout_ms),
            _int.pack(value.topology_epoch),
            write_compact_string(value.process_id),
            place,
            write_array(value.tags, _write_pair),
            b"\x00",
        )
    )


def decode_streams_member(value: bytes) -> StreamsMemberValue:
    _check_version(value)
    instance_id, position = read_compact_string(value, 2)
    rack_id, position = read_compact_string(value, position)
    client_id, position = read_compact_text(value, position)
    client_host, position = read_compact_text(value, position)
    timeout_ms, position = read_int(value, position)
    topology_epoch, position = read_int(value, position)
    process_id, position = read_compact_text(value, position)
    has_endpoint, position = value[position] == 1, position + 1
    endpoint = None
    if has_endpoint:
        host, position = read_compact_text(value, position)
        endpoint, position = UserEndpoint(host, int.from_bytes(value[position : position + 2], "big")), position + 3
    tags, position = read_array(value, position, _read_pair)
    return StreamsMemberValue(
        instance_id, rack_id, client_id, client_host, timeout_ms, topology_epoch, process_id, endpoint, tags
    )


def encode_streams_target_epoch(epoch: int, timestamp_ms: int = 0) -> bytes:
    tags = {} if timestamp_ms == 0 else {_TIMESTAMP_TAG: _long.pack(timestamp_ms)}
    return _VERSION_0 + _int.pack(epoch) + write_tagged(tags)


def decode_streams_target_epoch(value: bytes) -> tuple[int, int]:
    """The epoch, and when the target was computed; 0 from brokers that did not tell."""
    _check_version(value)
    tagged = read_tagged(value, 6).get(_TIMESTAMP_TAG)
    return _int.unpack_from(value, 2)[0], 0 if tagged is None else _long.unpack(tagged)[0]


def encode_streams_target(tasks: Tasks) -> bytes:
    arrays = (_write_tasks(each) for each in (tasks.active, tasks.standby, tasks.warmup))
    return b"".join((_VERSION_0, *arrays, b"\x00"))


def decode_streams_target(value: bytes) -> Tasks:
    _check_version(value)
    active, position = read_array(value, 2, _read_tasks)
    standby, position = read_array(value, position, _read_tasks)
    warmup, _position = read_array(value, position, _read_tasks)
    return Tasks(_ids(active), _ids(standby), _ids(warmup))


def encode_streams_current(value: StreamsCurrentValue) -> bytes:
    parts = [struct.pack(">hiib", 0, value.epoch, value.previous_epoch, value.state)]
    for held in (value.assigned, value.revoking):
        parts += (_write_epochs(held.active), _write_tasks(held.standby), _write_tasks(held.warmup))
    return b"".join((*parts, b"\x00"))


def decode_streams_current(value: bytes) -> StreamsCurrentValue:
    _check_version(value)
    epoch, previous_epoch, state = struct.unpack_from(">iib", value, 2)
    held, position = [], 11
    for _ in range(2):
        active, position = read_array(value, position, _read_tasks)
        standby, position = read_array(value, position, _read_tasks)
        warmup, position = read_array(value, position, _read_tasks)
        held.append(HeldTasks(dict(active), _ids(standby), _ids(warmup)))
    return StreamsCurrentValue(epoch, previous_epoch, state, held[0], held[1])


# -- parts of values


def _check_version(value: bytes) -> None:
    if value[:2] != _VERSION_0:
        raise UnknownFormat(f"a record of a streams group has version {int.from_bytes(value[:2], 'big')}")


def _port(port: int) -> bytes:
    return port.to_bytes(2, "big")


def _write_pair(pair: tuple[str, str]) -> bytes:
    return write_compact_string(pair[0]) + write_compact_string(pair[1]) + b"\x00"


def _read_pair(value: bytes, position: int) -> tuple[tuple[str, str], int]:
    key, position = read_compact_text(value, position)
    content, position = read_compact_text(value, position)
    return (key, content), position + 1


def _write_tasks(tasks: TaskIds) -> bytes:
    return write_array(sorted(tasks.items()), lambda item: _write_subtopology(item[0], item[1], b"\x00"))


def _write_epochs(tasks: TaskEpochs) -> bytes:
    def write(item: tuple[str, Mapping[int, int]]) -> bytes:
        subtopology_id, partitions = item
        epochs = write_array((partitions[each] for each in sorted(partitions)), _int.pack)
        return _write_subtopology(subtopology_id, partitions, write_tagged({_ASSIGNMENT_EPOCHS_TAG: epochs}))

    return write_array(sorted(tasks.items(), key=lambda item: item[0]), write)


def _write_subtopology(subtopology_id: str, partitions: Iterable[int], tagged: bytes) -> bytes:
    return write_compact_string(subtopology_id) + write_array(sorted(partitions), _int.pack) + tagged


def _read_tasks(value: bytes, position: int) -> tuple[tuple[str, dict[int, int]], int]:
    """A subtopology's partitions with their epochs, 0 where none are written."""
    subtopology_id, position = read_compact_text(value, position)
    partitions, position = read_array(value, position, read_int)
    epochs: tuple[int, ...] = (0,) * len(partitions)
    tag_count, position = read_unsigned_varint(value, position)
    for _ in range(tag_count):
        tag, position = read_unsigned_varint(value, position)
        size, position = read_unsigned_varint(value, position)
        if tag == _ASSIGNMENT_EPOCHS_TAG and value[position] != 0:
            epochs, _end = read_array(value, position, read_int)
        position += size
    return (subtopology_id, dict(zip(partitions, epochs, strict=True))), position


def _ids(tasks: tuple[tuple[str, dict[int, int]], ...]) -> TaskIds:
    return {subtopology_id: frozenset(partitions) for subtopology_id, partitions in tasks}


# -- whole records; without a value the end of what the key names


def streams_epoch_record(group_id: str, value: StreamsEpochValue | None) -> Record:
    return Record(group_key(STREAMS_EPOCH_KEY, group_id), None if value is None else encode_streams_epoch(value))


def streams_member_record(group_id: str, member_id: str, value: StreamsMemberValue | None) -> Record:
    key = group_key(STREAMS_MEMBER_KEY, group_id, member_id)
    return Record(key, None if value is None else encode_streams_member(value))


def streams_target_epoch_record(group_id: str, epoch: int | None, timestamp_ms: int = 0) -> Record:
    value = None if epoch is None else encode_streams_target_epoch(epoch, timestamp_ms)
    return Record(group_key(STREAMS_TARGET_EPOCH_KEY, group_id), value)


def streams_target_record(group_id: str, member_id: str, tasks: Tasks | None) -> Record:
    key = group_key(STREAMS_TARGET_KEY, group_id, member_id)
    return Record(key, None if tasks is None else encode_streams_target(tasks))


def streams_current_record(group_id: str, member_id: str, value: StreamsCurrentValue | None) -> Record:
    key = group_key(STREAMS_CURRENT_KEY, group_id, member_id)
    return Record(key, None if value is None else encode_streams_current(value))


def topology_record(group_id: str, topology: Topology | None) -> Record:
    key = group_key(STREAMS_TOPOLOGY_KEY, group_id)
    return Record(key, None if topology is None else encode_topology(topology))
