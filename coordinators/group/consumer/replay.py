"""Applies the records of consumer groups (KIP-848), by what their keys are about.

Compaction keeps only the last record of each key, so a group's records may come in any order, and the first of them
to come makes the group. A group is of one protocol: what remains of the other makes way.
"""

from collections.abc import Callable

from attrs import define

from coordinators.group.classic.group import ClassicGroup
from coordinators.group.consumer.group import ConsumerGroup
from coordinators.group.consumer.record_formats import (
    CURRENT_KEY,
    EPOCH_KEY,
    MEMBER_KEY,
    PARTITION_METADATA_KEY,
    REGEX_KEY,
    TARGET_EPOCH_KEY,
    TARGET_KEY,
    decode_current,
    decode_epoch,
    decode_group_key,
    decode_member_key,
    decode_regex,
    decode_subscription,
    decode_target,
    decode_target_epoch,
)
from coordinators.group.offsets import Offsets
from coordinators.state_machine import Record

Replay = Callable[[Record, int], None]


@define(eq=False)
class ConsumerReplay:
    """Changes the consumer groups of one shard."""

    groups: dict[str, ConsumerGroup]
    classic: dict[str, ClassicGroup]
    offsets: Offsets

    def by_key(self) -> dict[int, Replay]:
        """What applies a record, by the version of its key."""
        return {
            EPOCH_KEY: self._epoch,
            PARTITION_METADATA_KEY: lambda _record, _producer_id: None,
            MEMBER_KEY: self._subscription,
            TARGET_EPOCH_KEY: self._target_epoch,
            TARGET_KEY: self._target,
            CURRENT_KEY: self._current,
            REGEX_KEY: self._regex,
        }

    def _group(self, group_id: str, record: Record) -> ConsumerGroup | None:
        """The group; made if the record says something about it, none if it only says that something is gone."""
        group = self.groups.get(group_id)
        if group is None and record.value is not None:
            self.classic.pop(group_id, None)
            group = self.groups[group_id] = ConsumerGroup(group_id)
        return group

    def _epoch(self, record: Record, _producer_id: int) -> None:
        group_id = decode_group_key(record.key)
        group = self._group(group_id, record)
        if record.value is not None and group is not None:
            group.replay_epoch(decode_epoch(record.value))
        elif self.groups.pop(group_id, None) is not None and self.offsets.keys_of(group_id):
            # Offsets outlive it, as those of somebody who only keeps them here.
            self.classic.setdefault(group_id, ClassicGroup(group_id))

    def _subscription(self, record: Record, _producer_id: int) -> None:
        group_id, member_id = decode_member_key(record.key)
        group = self._group(group_id, record)
        if group is not None:
            group.replay_subscription(member_id, None if record.value is None else decode_subscription(record.value))

    def _target_epoch(self, record: Record, _producer_id: int) -> None:
        group = self._group(decode_group_key(record.key), record)
        if group is not None:
            group.assignment_epoch = 0 if record.value is None else decode_target_epoch(record.value)

    def _target(self, record: Record, _producer_id: int) -> None:
        group_id, member_id = decode_member_key(record.key)
        group = self._group(group_id, record)
        if group is not None:
            group.replay_target(member_id, None if record.value is None else decode_target(record.value))

    def _current(self, record: Record, _producer_id: int) -> None:
        group_id, member_id = decode_member_key(record.key)
        group = self._group(group_id, record)
        if group is not None:
            group.replay_current(member_id, None if record.value is None else decode_current(record.value))

    def _regex(self, record: Record, _producer_id: int) -> None:
        group_id, regex = decode_member_key(record.key)
        group = self._group(group_id, record)
        if group is not None:
            group.replay_regex(regex, None if record.value is None else decode_regex(record.value))
