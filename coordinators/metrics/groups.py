"""Figures of groups: their state, members, rebalances, places and lag."""

from collections import Counter
from collections.abc import Iterator

from attrs import define, field, frozen

from coordinators.group.descriptions import PartitionLag
from coordinators.group.groups import Groups
from coordinators.group.machine import GroupMachine
from coordinators.metrics.labels import BoundedLabels
from engine.errors import BrokerError
from engine.metrics import Family, Labels


@frozen
class _GroupFigures:
    group_id: str
    state: str
    members: int
    rebalances: int
    commits: bool = True
    """Whether it has committed offsets, and a lag that follows from them."""


@define(eq=False)
class GroupMetrics:
    """A collector over all groups. At most `group_limit` have a name, at most `partition_limit` places a series."""

    groups: Groups
    group_limit: int
    partition_limit: int
    _labels: BoundedLabels[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._labels = BoundedLabels(self.group_limit)

    def collect(self) -> Iterator[Family | None]:
        """Everything about groups that are loaded."""
        rows = [row for machine in self.groups.runtime.machines() for row in _figures(machine)]
        self._labels.update(row.group_id for row in rows)
        yield Family.gauge(
            "tidegate_consumergroups",
            "Groups by state.",
            [({"state": state}, count) for state, count in sorted(Counter(row.state for row in rows).items())],
        )
        meaning = "Groups without figures of their own (metrics.group.limit)."
        yield Family.gauge("tidegate_metrics_groups_left_out", meaning, [({}, self._labels.left_out())])
        named = [row for row in rows if self._labels.is_named(row.group_id)]
        yield from _of_groups(named)
        yield from self._of_places(named)

    def _of_places(self, named: list[_GroupFigures]) -> Iterator[Family | None]:
        sums: list[tuple[Labels, float]] = []
        places: list[tuple[Labels, PartitionLag]] = []
        for row in named:
            if not row.commits:
                continue
            try:
                lags = self.groups.lag(row.group_id)
            except BrokerError:
                continue  # its shard is just being loaded
            yield None
            sums.append(({"consumergroup": row.group_id}, sum(each.lag for each in lags)))
            for each in lags[: self.partition_limit - len(places)]:
                labels = {"consumergroup": row.group_id, "topic": each.topic, "partition": str(each.partition)}
                places.append((labels, each))
        meaning = "Offsets between what a group has committed and the end, over all partitions."
        yield Family.gauge("tidegate_consumergroup_lag_sum", meaning, sums)
        meaning = "Offsets between what a group has committed and the end of a partition."
        yield Family.gauge("tidegate_consumergroup_lag", meaning, ((labels, each.lag) for labels, each in places))
        yield Family.gauge(
            "tidegate_consumergroup_current_offset",
            "The offset that a group has committed for a partition.",
            ((labels, each.committed_offset) for labels, each in places),
        )


def _of_groups(rows: list[_GroupFigures]) -> Iterator[Family]:
    yield Family.gauge(
        "tidegate_consumergroup_state",
        "1 for the state that a group is in.",
        (({"consumergroup": row.group_id, "state": row.state}, 1) for row in rows),
    )
    yield Family.gauge(
        "tidegate_consumergroup_members",
        "Members of a group.",
        (({"consumergroup": row.group_id}, row.members) for row in rows),
    )
    yield Family.counter(
        "tidegate_consumergroup_rebalances_total",
        "Rebalances of a group: its generation, or its epoch under the new protocol.",
        (({"consumergroup": row.group_id}, row.rebalances) for row in rows),
    )


def _figures(machine: GroupMachine) -> Iterator[_GroupFigures]:
    for group_id, group in machine.groups.items():
        yield _GroupFigures(group_id, group.state.value, len(group.members), group.generation)
    for group_id, consumers in machine.consumers.groups.items():
        yield _GroupFigures(group_id, consumers.state.value, len(consumers.members), consumers.epoch)
    for group_id, shares in machine.shares.groups.items():
        yield _GroupFigures(group_id, shares.state.value, len(shares.members), shares.epoch, commits=False)
    for group_id, streams in machine.streams.groups.items():
        yield _GroupFigures(group_id, streams.state.value, len(streams.members), streams.epoch)
