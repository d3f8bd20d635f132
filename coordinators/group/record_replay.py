"""Applies the records of one kind of groups, by what their keys are about: what consumer groups, share groups and
streams groups have in common.

Compaction keeps only the last record of each key, so a group's records may come in any order, and the first of them to
come makes the group. A record without a value says that something is gone, and makes none.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from attrs import define

from coordinators.group.classic.group import ClassicGroup
from coordinators.group.consumer.record_formats import decode_group_key, decode_member_key
from coordinators.group.offsets import Offsets
from coordinators.state_machine import Record

Replay = Callable[[Record, int], None]
G = TypeVar("G")
V = TypeVar("V")


@define(eq=False)
class GroupReplay(ABC, Generic[G]):
    """Changes the groups of one kind in one shard. A kind says by `by_key` what its groups do with which record; each
    is given what the record's value decodes to, None where it has none."""

    groups: dict[str, G]

    @abstractmethod
    def by_key(self) -> dict[int, Replay]:
        """What applies a record, by the version of its key."""

    @abstractmethod
    def make(self, group_id: str) -> G:
        """A group of which nothing is known yet."""

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        self.groups.pop(group_id, None)

    def _group(self, group_id: str, record: Record) -> G | None:
        group = self.groups.get(group_id)
        if group is None and record.value is not None:
            group = self.groups[group_id] = self.make(group_id)
        return group

    def of_epoch(self, apply: Callable[[G, V], None], decode: Callable[[bytes], V]) -> Replay:
        """Records of a group's epoch: without one there is no group."""

        def replay(record: Record, _producer_id: int) -> None:
            group_id = decode_group_key(record.key)
            group = self._group(group_id, record)
            if record.value is None:
                self.forget(group_id)
            elif group is not None:
                apply(group, decode(record.value))

        return replay

    def of_group(self, apply: Callable[[G, V | None], None], decode: Callable[[bytes], V]) -> Replay:
        """Records about the group as a whole."""

        def replay(record: Record, _producer_id: int) -> None:
            group = self._group(decode_group_key(record.key), record)
            if group is not None:
                apply(group, None if record.value is None else decode(record.value))

        return replay

    def of_member(self, apply: Callable[[G, str, V | None], None], decode: Callable[[bytes], V]) -> Replay:
        """Records about one member, or whatever else its key names besides the group."""

        def replay(record: Record, _producer_id: int) -> None:
            group_id, member_id = decode_member_key(record.key)
            group = self._group(group_id, record)
            if group is not None:
                apply(group, member_id, None if record.value is None else decode(record.value))

        return replay


@define(eq=False)
class CommittingReplay(GroupReplay[G]):
    """Of groups that commit offsets, as those of the classic protocol do. A group is of one protocol: what remains of
    the other makes way; and offsets outlive it, as those of somebody who only keeps them here."""

    classic: dict[str, ClassicGroup]
    offsets: Offsets

    def _group(self, group_id: str, record: Record) -> G | None:
        if group_id not in self.groups and record.value is not None:
            self.classic.pop(group_id, None)
        return super()._group(group_id, record)

    def forget(self, group_id: str) -> None:
        """The group is gone, and its offsets may be there."""
        if self.groups.pop(group_id, None) is not None and self.offsets.keys_of(group_id):
            self.classic.setdefault(group_id, ClassicGroup(group_id))


def passed_over(_record: Record, _producer_id: int) -> None:
    """Of brokers of other versions, and not needed."""
