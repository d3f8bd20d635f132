"""The last traces, in memory: a ring, found by trace id, by place in the log or the stage, or by looking through.

A trace here is one record's. Several records of one W3C trace (a request that sends three) share its id and are
found together. Invariants:
1. A trace is in the ring, in the list of its id, and, once it has one, at its place; it leaves all of them at once.
2. The offsets of a partition rise and hold no duplicate, so that a range of them is found by bisection.
3. Nothing here grows beyond the ring, except the groups of a partition, which have a bound of their own.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from engine.trace.query import TraceQuery
from engine.trace.record_trace import RecordTrace

GROUPS_PER_PARTITION = 256

Place = tuple[str, int]


@frozen
class FoundTraces:
    """Some of the traces that were found, newest first; `total` counts all that were."""

    traces: Sequence[RecordTrace]
    total: int
    skip: int
    limit: int


@define(eq=False)
class PartitionTraces:
    """The traced offsets of one partition, and how far groups have committed there."""

    offsets: list[int] = field(factory=list)
    by_offset: dict[int, RecordTrace] = field(factory=dict)
    committed: dict[str, int] = field(factory=dict)

    def add(self, offset: int, trace: RecordTrace) -> None:
        if offset not in self.by_offset:
            insort(self.offsets, offset)
        self.by_offset[offset] = trace

    def remove(self, offset: int, trace: RecordTrace) -> None:
        if self.by_offset.get(offset) is trace:
            del self.by_offset[offset]
            del self.offsets[bisect_left(self.offsets, offset)]

    def between(self, first: int, end: int) -> Iterator[RecordTrace]:
        """Those at `first` and after, before `end`."""
        offsets = self.offsets
        for index in range(bisect_left(offsets, first), bisect_left(offsets, end)):
            yield self.by_offset[offsets[index]]

    def pass_to(self, group: str, offset: int) -> Iterator[RecordTrace]:
        """A group has committed `offset`: what it passed since its commit before."""
        before = self.committed.pop(group, 0)
        self.committed[group] = offset
        if len(self.committed) > GROUPS_PER_PARTITION:
            del self.committed[next(iter(self.committed))]
        return self.between(before, offset)


@define(eq=False)
class TraceStore:
    """The ring. `capacity` is how many traces it keeps."""

    capacity: int = 10_000
    _ring: deque[RecordTrace] = field(factory=deque, init=False)
    _by_id: dict[str, list[RecordTrace]] = field(factory=dict, init=False)
    _places: dict[Place, PartitionTraces] = field(factory=dict, init=False)
    _staged: dict[tuple[str, int, int], RecordTrace] = field(factory=dict, init=False)
    _added: int = field(default=0, init=False)

    def __len__(self) -> int:
        return len(self._ring)

    # -- filling

    def add(self, trace: RecordTrace) -> None:
        """Keep a trace; the oldest one goes if there are too many."""
        if len(self._ring) >= self.capacity:
            self._forget(self._ring.popleft())
        trace.sequence = self._added
        self._added += 1
        self._ring.append(trace)
        self._by_id.setdefault(trace.trace_id, []).append(trace)
        if trace.offset is not None:
            self._place(trace, trace.offset)
        if trace.number is not None:
            self._staged[trace.topic, trace.partition, trace.number] = trace

    def place(self, trace: RecordTrace, offset: int) -> None:
        """The record now has an offset."""
        is_kept = self._is_kept(trace)
        if is_kept and trace.offset is not None:
            self._displace(trace, trace.offset)
        trace.offset = offset
        if is_kept:
            self._place(trace, offset)

    def forget_topic(self, topic: str) -> None:
        """A topic was deleted: its traces stay, but another topic of its name begins with none of their places."""
        for place in [place for place in self._places if place[0] == topic]:
            del self._places[place]
        for staged in [staged for staged in self._staged if staged[0] == topic]:
            del self._staged[staged]

    def _is_kept(self, trace: RecordTrace) -> bool:
        return bool(self._ring) and trace.sequence >= self._ring[0].sequence

    def _place(self, trace: RecordTrace, offset: int) -> None:
        self._places.setdefault((trace.topic, trace.partition), PartitionTraces()).add(offset, trace)

    def _displace(self, trace: RecordTrace, offset: int) -> None:
        place = (trace.topic, trace.partition)
        partition = self._places.get(place)
        if partition is not None:
            partition.remove(offset, trace)
            if not partition.offsets:
                del self._places[place]

    def _forget(self, trace: RecordTrace) -> None:
        same_id = self._by_id[trace.trace_id]
        # The oldest of the ring is the oldest of its id.
        assert same_id[0] is trace, "invariant 1: traces leave in the order in which they came"
        del same_id[0]
        if not same_id:
            del self._by_id[trace.trace_id]
        if trace.offset is not None:
            self._displace(trace, trace.offset)
        if trace.number is not None:
            staged = (trace.topic, trace.partition, trace.number)
            if self._staged.get(staged) is trace:
                del self._staged[staged]

    # -- following records

    def partition(self, topic: str, partition: int) -> PartitionTraces | None:
        """The traced offsets of a partition; None if it has none."""
        return self._places.get((topic, partition))

    def staged(self, topic: str, partition: int, number: int) -> RecordTrace | None:
        """The trace of a record in the stage."""
        return self._staged.get((topic, partition, number))

    # -- asking

    def by_id(self, trace_id: str) -> list[RecordTrace]:
        """The records of one trace, oldest first."""
        return list(self._by_id.get(trace_id, ()))

    def at(self, topic: str, partition: int, offset: int) -> RecordTrace | None:
        """The trace of the record at this place."""
        held = self._places.get((topic, partition))
        return None if held is None else held.by_offset.get(offset)

    def newest_first(self, trace_id: str | None = None) -> list[RecordTrace]:
        """All traces, or those of one id, in a list of its own: for who looks through them little by little."""
        return list(reversed(self._ring if trace_id is None else self._by_id.get(trace_id, ())))

    def search(self, query: TraceQuery | None = None, *, limit: int = 100, skip: int = 0) -> FoundTraces:
        """What matches, newest first: `limit` traces after the first `skip`."""
        query = query or TraceQuery()
        found: list[RecordTrace] = []
        total = 0
        for trace in self.newest_first(query.trace_id):
            if query.matches(trace):
                if skip <= total < skip + limit:
                    found.append(trace)
                total += 1
        return FoundTraces(found, total, skip, limit)

    def statistics(self) -> dict[str, int]:
        """Traces kept and ever begun, trace ids, partitions with traced records, records in the stage."""
        return {
            "traces": len(self._ring),
            "capacity": self.capacity,
            "begun": self._added,
            "trace_ids": len(self._by_id),
            "partitions": len(self._places),
            "staged": len(self._staged),
        }
