"""The record of a streams group's topology in `__consumer_offsets` (key 23), in Kafka's own format."""

import struct

from coordinators.group.streams.topology import CopartitionGroup, NeededTopic, Subtopology, Topology
from coordinators.record_fields import (
    UnknownFormat,
    read_array,
    read_compact_text,
    read_int,
    write_array,
    write_compact_string,
)

_VERSION_0 = b"\x00\x00"
_short = struct.Struct(">h")
_int = struct.Struct(">i")


def encode_topology(topology: Topology) -> bytes:
    subtopologies = write_array(topology.subtopologies, _write_subtopology)
    return b"".join((_VERSION_0, _int.pack(topology.epoch), subtopologies, b"\x00"))


def decode_topology(value: bytes) -> Topology:
    if value[:2] != _VERSION_0:
        raise UnknownFormat(f"the record of a topology has version {int.from_bytes(value[:2], 'big')}")
    subtopologies, _position = read_array(value, 6, _read_subtopology)
    return Topology(_int.unpack_from(value, 2)[0], subtopologies)


def _write_subtopology(subtopology: Subtopology) -> bytes:
    return b"".join(
        (
            write_compact_string(subtopology.subtopology_id),
            write_array(subtopology.source_topics, write_compact_string),
            write_array(subtopology.source_regexes, write_compact_string),
            write_array(subtopology.changelog_topics, _write_topic),
            write_array(subtopology.repartition_sinks, write_compact_string),
            write_array(subtopology.repartition_sources, _write_topic),
            write_array(subtopology.copartition_groups, _write_group),
            b"\x00",
        )
    )


def _read_subtopology(value: bytes, position: int) -> tuple[Subtopology, int]:
    subtopology_id, position = read_compact_text(value, position)
    source_topics, position = read_array(value, position, read_compact_text)
    source_regexes, position = read_array(value, position, read_compact_text)
    changelog_topics, position = read_array(value, position, _read_topic)
    repartition_sinks, position = read_array(value, position, read_compact_text)
    repartition_sources, position = read_array(value, position, _read_topic)
    copartition_groups, position = read_array(value, position, _read_group)
    found = Subtopology(
        subtopology_id,
        source_topics,
        source_regexes,
        changelog_topics,
        repartition_sinks,
        repartition_sources,
        copartition_groups,
    )
    return found, position + 1


def _write_topic(topic: NeededTopic) -> bytes:
    return b"".join(
        (
            write_compact_string(topic.name),
            _int.pack(topic.partition_count),
            _short.pack(topic.replication_factor),
            write_array(topic.configs, _write_config),
            b"\x00",
        )
    )


def _read_topic(value: bytes, position: int) -> tuple[NeededTopic, int]:
    name, position = read_compact_text(value, position)
    partition_count, position = read_int(value, position)
    factor, position = _read_short(value, position)
    configs, position = read_array(value, position, _read_config)
    return NeededTopic(name, partition_count, factor, configs), position + 1


def _write_config(config: tuple[str, str]) -> bytes:
    return write_compact_string(config[0]) + write_compact_string(config[1]) + b"\x00"


def _read_config(value: bytes, position: int) -> tuple[tuple[str, str], int]:
    key, position = read_compact_text(value, position)
    content, position = read_compact_text(value, position)
    return (key, content), position + 1


def _write_group(group: CopartitionGroup) -> bytes:
    indexes = (group.source_topics, group.source_regexes, group.repartition_topics)
    return b"".join((*(write_array(each, _short.pack) for each in indexes), b"\x00"))


def _read_group(value: bytes, position: int) -> tuple[CopartitionGroup, int]:
    source_topics, position = read_array(value, position, _read_short)
    source_regexes, position = read_array(value, position, _read_short)
    repartition_topics, position = read_array(value, position, _read_short)
    return CopartitionGroup(source_topics, source_regexes, repartition_topics), position + 1


def _read_short(value: bytes, position: int) -> tuple[int, int]:
    return _short.unpack_from(value, position)[0], position + 2
