"""Applies the records of share groups (KIP-932), by what their keys are about.

Compaction keeps only the last record of each key, so a group's records may come in any order, and the first of them to
come makes the group.
"""

from collections.abc import Callable

from attrs import define

from coordinators.group.consumer.record_formats import decode_group_key, decode_member_key
from coordinators.group.share.group import NO_STATES, ShareGroup
from coordinators.group.share.record_formats import (
    CURRENT_KEY,
    EPOCH_KEY,
    MEMBER_KEY,
    STATES_KEY,
    TARGET_EPOCH_KEY,
    TARGET_KEY,
    decode_current,
    decode_epoch,
    decode_states,
    decode_subscription,
    decode_target,
    decode_target_epoch,
)
from coordinators.state_machine import Record

Replay = Callable[[Record, int], None]


@define(eq=False)
class ShareReplay:
    """Changes the share groups of one shard."""

    groups: dict[str, ShareGroup]

    def by_key(self) -> dict[int, Replay]:
        """What applies a record, by the version of its key."""
        return {
            MEMBER_KEY: self._subscription,
            EPOCH_KEY: self._epoch,
            TARGET_EPOCH_KEY: self._target_epoch,
            TARGET_KEY: self._target,
            CURRENT_KEY: self._current,
            STATES_KEY: self._states,
        }

    def _group(self, group_id: str, record: Record) -> ShareGroup | None:
        """The group; made if the record says something about it, none if it only says that something is gone."""
        group = self.groups.get(group_id)
        if group is None and record.value is not None:
            group = self.groups[group_id] = ShareGroup(group_id)
        return group

    def _epoch(self, record: Record, _producer_id: int) -> None:
        group_id = decode_group_key(record.key)
        if record.value is None:
            self.groups.pop(group_id, None)
            return
        group = self._group(group_id, record)
        if group is not None:
            group.replay_epoch(decode_epoch(record.value))

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

    def _states(self, record: Record, _producer_id: int) -> None:
        group = self._group(decode_group_key(record.key), record)
        if group is not None:
            group.states = NO_STATES if record.value is None else decode_states(record.value)
