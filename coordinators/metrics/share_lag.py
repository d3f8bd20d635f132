"""How far share groups are behind: told by the node that keeps their state, whether or not anybody reads just now."""

from collections.abc import Iterator
from functools import partial
from itertools import islice

from attrs import define, field

from coordinators.metrics.labels import BoundedLabels
from coordinators.records.directory import PartitionDirectory
from coordinators.share.machine import ShareStateMachine
from coordinators.share.ports import SharePlace, ShareRecords, ShareState
from coordinators.share.states import LocalShareStates
from engine.errors import BrokerError
from engine.metrics import Family, Labels


@define(eq=False)
class ShareLagMetrics:
    """A collector over the share partitions whose state this node keeps. Where no replica of a partition lies here, its
    leader is asked for its end, and what it says is told at the next scrape. At most `group_limit` groups have a name,
    at most `partition_limit` places a series."""

    states: LocalShareStates
    directory: PartitionDirectory
    group_limit: int
    partition_limit: int
    records: ShareRecords
    _labels: BoundedLabels[str] = field(init=False)
    _ends: dict[SharePlace, int] = field(factory=dict, init=False)
    """Of partitions that lie elsewhere, as their leaders told at the scrape before."""

    def __attrs_post_init__(self) -> None:
        self._labels = BoundedLabels(self.group_limit)

    def collect(self) -> Iterator[Family | None]:
        """Lag by partition, and over all partitions of a group."""
        kept = ((machine, place) for machine in self.states.runtime.machines() for place in machine.places)
        found = list(islice(kept, self.partition_limit))
        self._labels.update(place.group_id for _machine, place in found)
        known, self._ends = self._ends, {}
        sums: dict[str, int] = {}
        places: list[tuple[Labels, float]] = []
        for machine, place in found:
            lag = self._lag(machine, place, known.get(place)) if self._labels.is_named(place.group_id) else None
            topic = self.directory.topics.by_id.get(place.topic_id)
            if lag is not None and topic is not None:
                sums[place.group_id] = sums.get(place.group_id, 0) + lag
                labels = {"sharegroup": place.group_id, "topic": topic.name, "partition": str(place.partition_index)}
                places.append((labels, lag))
            yield None
        meaning = "Offsets that a share group has not finished, up to the end, over all partitions."
        yield Family.gauge(
            "tidegate_share_lag_sum", meaning, [({"sharegroup": each}, lag) for each, lag in sums.items()]
        )
        meaning = "Offsets of a partition that a share group has not finished, up to the end."
        yield Family.gauge("tidegate_share_lag", meaning, places)

    def _lag(self, machine: ShareStateMachine, place: SharePlace, told_end: int | None) -> int | None:
        state = machine.summary(place).response
        assert isinstance(state, ShareState)
        topic = self.directory.topics.by_id.get(place.topic_id)
        if topic is None or state.start_offset < 0:
            return None
        try:
            end_offset = self.directory.readable(topic, place.partition_index).reported_end
        except BrokerError:
            self.records.end_offset(place).when_settled(partial(self._told, place), lambda _: None)
            if told_end is None:
                return None
            end_offset = told_end
        return max(end_offset - state.start_offset - state.complete_count, 0)

    def _told(self, place: SharePlace, end_offset: int) -> None:
        if end_offset >= 0:
            self._ends[place] = end_offset
