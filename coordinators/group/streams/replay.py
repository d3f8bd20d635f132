"""Applies the records of streams groups (KIP-1071), by what their keys are about.

Compaction keeps only the last record of each key, so a group's records may come in any order, and the first of them
to come makes the group. A group is of one protocol: what remains of the other makes way.
"""

from collections.abc import Callable

from attrs import define

from coordinators.group.classic.group import ClassicGroup
from coordinators.group.consumer.record_formats import decode_group_key, decode_member_key
from coordinators.group.offsets import Offsets
from coordinators.group.streams.group import StreamsGroup
from coordinators.group.streams.record_formats import (
    STREAMS_CURRENT_KEY,
    STREAMS_EPOCH_KEY,
    STREAMS_MEMBER_KEY,
    STREAMS_PARTITION_METADATA_KEY,
    STREAMS_TARGET_EPOCH_KEY,
    STREAMS_TARGET_KEY,
    STREAMS_TOPOLOGY_KEY,
    decode_streams_current,
    decode_streams_epoch,
    decode_streams_member,
    decode_streams_target,
    decode_streams_target_epoch,
)
from coordinators.group.streams.topology_format import decode_topology
from coordinators.state_machine import Record

StreamsRecordReplay = Callable[[Record, int], None]


@define(eq=False)
class StreamsReplay:
    """Changes the streams groups of one shard."""

    groups: dict[str, StreamsGroup]
    classic: dict[str, ClassicGroup]
    offsets: Offsets

    def by_key(self) -> dict[int, StreamsRecordReplay]:
        """What applies a record, by the version of its key."""
        return {
            STREAMS_EPOCH_KEY: self._epoch,
            # Of brokers before 4.2.
            STREAMS_PARTITION_METADATA_KEY: lambda _record, _producer_id: None,
            STREAMS_MEMBER_KEY: self._member,
            STREAMS_TARGET_EPOCH_KEY: self._target_epoch,
            STREAMS_TARGET_KEY: self._target,
            STREAMS_CURRENT_KEY: self._current,
            STREAMS_TOPOLOGY_KEY: self._topology,
        }

    def _group(self, group_id: str, record: Record) -> StreamsGroup | None:
        """The group; made if the record says something about it, none if it only says that something is gone."""
        group = self.groups.get(group_id)
        if group is None and record.value is not None:
            self.classic.pop(group_id, None)
            group = self.groups[group_id] = StreamsGroup(group_id)
        return group

    def _epoch(self, record: Record, _producer_id: int) -> None:
        group_id = decode_group_key(record.key)
        group = self._group(group_id, record)
        if record.value is not None and group is not None:
            group.replay_epoch(decode_streams_epoch(record.value))
        elif self.groups.pop(group_id, None) is not None and self.offsets.keys_of(group_id):
            # Offsets outlive it, as those of somebody who only keeps them here.
            self.classic.setdefault(group_id, ClassicGroup(group_id))

    def _topology(self, record: Record, _producer_id: int) -> None:
        group = self._group(decode_group_key(record.key), record)
        if group is not None:
            group.replay_topology(None if record.value is None else decode_topology(record.value))

    def _member(self, record: Record, _producer_id: int) -> None:
        group_id, member_id = decode_member_key(record.key)
        group = self._group(group_id, record)
        if group is not None:
            group.replay_member(member_id, None if record.value is None else decode_streams_member(record.value))

    def _target_epoch(self, record: Record, _producer_id: int) -> None:
        group = self._group(decode_group_key(record.key), record)
        if group is not None:
            group.replay_target_epoch(*(() if record.value is None else decode_streams_target_epoch(record.value)))

    def _target(self, record: Record, _producer_id: int) -> None:
        group_id, member_id = decode_member_key(record.key)
        group = self._group(group_id, record)
        if group is not None:
            group.replay_target(member_id, None if record.value is None else decode_streams_target(record.value))

    def _current(self, record: Record, _producer_id: int) -> None:
        group_id, member_id = decode_member_key(record.key)
        group = self._group(group_id, record)
        if group is not None:
            group.replay_current(member_id, None if record.value is None else decode_streams_current(record.value))
