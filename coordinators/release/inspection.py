"""What operators see and do with staged records, per topic and over all of its partitions.

What is changed goes through the partition's queue, one operation after the other, and is answered when it is durable.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

import trio
from attrs import define

from coordinators.release import listing, lookup
from coordinators.release.listing import Window
from coordinators.release.lookup import NoSuchRecord
from coordinators.release.pending_records import (
    DelayedRecord,
    DelayReport,
    DueBucket,
    Fate,
    PendingPage,
    PriorityStatistics,
)
from coordinators.release.releases import Releases
from coordinators.release.stage_statistics import delay_statistics, priority_statistics, together
from coordinators.topics import Topic
from engine.errors import BrokerError, InvalidRequest, RequestTimedOut, UnknownTopicOrPartition
from engine.partition.partition import stages_of
from engine.partition.staging import Staging
from engine.stage.headers import SCHEDULE_ID_BYTES_MAX
from engine.workers import Workers

CHANGED_WITHIN_S = 30.0
EDGES_MAX = 100
SLICE_TOPICS = 20
_SECOND_MS = 1_000
_HOUR_MS = 3_600 * _SECOND_MS
_DAY_MS = 24 * _HOUR_MS
EDGES_AHEAD_MS = (
    *(0, _SECOND_MS, 10 * _SECOND_MS, 60 * _SECOND_MS, 600 * _SECOND_MS),
    *(_HOUR_MS, 6 * _HOUR_MS, _DAY_MS, 7 * _DAY_MS, 30 * _DAY_MS),
)
"""Where a histogram is divided if its caller does not say: how long from now."""


@define(eq=False)
class Inspection:
    """See the module."""

    releases: Releases
    workers: Workers

    # -- seeing

    async def list_pending(self, topic: str, window: Window, partition: int | None = None) -> PendingPage:
        """Some of the records that wait for their time."""
        return await listing.page(self._stages(topic, partition), window, self.workers)

    async def count_pending(self, topic: str, partition: int | None = None) -> int:
        """How many records wait for their time."""
        return await listing.count(self._stages(topic, partition))

    async def histogram(
        self, topic: str, edges_ms: Sequence[int] | None = None, partition: int | None = None
    ) -> tuple[DueBucket, ...]:
        """How many records are due before the first edge, from each edge to the next, and from the last one on."""
        stages = self._stages(topic, partition)
        now_ms = self.releases.clock.now_ms()
        edges = [now_ms + ahead for ahead in EDGES_AHEAD_MS] if edges_ms is None else list(edges_ms)
        if not 0 < len(edges) <= EDGES_MAX or any(a >= b for a, b in pairwise(edges)):
            raise InvalidRequest(f"edges must be 1 to {EDGES_MAX} times in rising order")
        counts = [0] * (len(edges) + 1)
        await listing.count_between(stages, lambda due_ms: bisect_right(edges, due_ms), counts)
        bounds = zip([None, *edges], [*edges, None], counts, strict=True)
        return tuple(DueBucket(*bucket) for bucket in bounds)

    async def look(self, topic: str, partition: int, record_id: str) -> DelayedRecord:
        """One record, pending or gone; NoSuchRecord if nothing is known of it."""
        staging = self._staged(topic, partition, record_id)
        found = lookup.find(staging.stage.state, record_id)
        shown = None
        if found is not None:
            row = found.row if found.state == "releasing" else None
            shown = await listing.shown_record(staging, found.number, self.workers, row)
        if shown is not None:
            return DelayedRecord(topic, partition, record_id, "PENDING", record=shown[0], value=shown[1])
        known = lookup.fate(staging.stage, record_id)
        if known.fate == "UNKNOWN":
            raise _unknown(topic, partition, record_id)
        return DelayedRecord(topic, partition, record_id, known.fate, known.offset, known.at_ms)

    def fate(self, topic: str, partition: int, record_id: str) -> Fate:
        """What became of a record."""
        _check_id(record_id)
        stages = self._stages(topic, partition)
        return lookup.fate(stages[0].stage, record_id) if stages else Fate("UNKNOWN")

    async def find(self, topic: str, record_id: str) -> tuple[DelayedRecord, ...]:
        """The partitions that know this id, each with what became of it."""
        _check_id(record_id)
        found = []
        for staging in self._stages(topic, None):
            known = lookup.fate(staging.stage, record_id)
            if known.fate != "UNKNOWN":
                place = (topic, staging.partition.index, record_id)
                found.append(DelayedRecord(*place, known.fate, known.offset, known.at_ms))
            await trio.lowlevel.checkpoint()
        return tuple(found)

    # -- changing

    async def cancel(self, topic: str, partition: int, record_id: str) -> None:
        """Take back a record that waits."""
        staging = self._staged(topic, partition, record_id)

        def change() -> int:
            return staging.stage.cancel([lookup.to_change(staging.stage, record_id).number])

        await _carry_out(staging, change)

    async def reschedule(
        self,
        topic: str,
        partition: int,
        record_id: str,
        *,
        deliver_at_ms: int | None = None,
        delay_ms: int | None = None,
    ) -> int:
        """Move a record that waits to another time, which is returned; a delay counts from now."""
        staging = self._staged(topic, partition, record_id)
        if (deliver_at_ms is None) == (delay_ms is None):
            raise InvalidRequest("either a time to deliver at or a delay must be given, and not both")
        self._check_time(staging, deliver_at_ms, delay_ms)
        due: list[int] = []

        def change() -> int:
            stage = staging.stage
            number = lookup.to_change(stage, record_id).number
            if delay_ms is not None:
                due.append(stage.clock.wall_ms() + delay_ms)
                return stage.reschedule(number, stage.clock.now_ms() + delay_ms, relative=True)
            assert deliver_at_ms is not None
            due.append(deliver_at_ms)
            return stage.reschedule(number, deliver_at_ms, relative=False)

        await _carry_out(staging, change)
        return due[0]

    async def release_now(self, topic: str, partition: int, record_id: str) -> None:
        """Have a record that waits be due now; it is in the log, or its lane, a moment later."""
        await self.reschedule(topic, partition, record_id, delay_ms=0)

    def _check_time(self, staging: Staging, deliver_at_ms: int | None, delay_ms: int | None) -> None:
        longest_ms = staging.stage.config.delay_max_ms
        if delay_ms is not None and not 0 <= delay_ms <= longest_ms:
            raise InvalidRequest(f"a delay must be 0 to {longest_ms} ms (delay.max.ms), not {delay_ms}")
        latest_ms = self.releases.clock.now_ms() + longest_ms
        if deliver_at_ms is not None and not 0 <= deliver_at_ms <= latest_ms:
            raise InvalidRequest(
                f"a time to deliver at must be 0 to {latest_ms}, which is delay.max.ms={longest_ms} from now, "
                f"not {deliver_at_ms}"
            )

    # -- figures

    async def delay_statistics(self) -> DelayReport:
        """The sum over all topics, and that of each topic with a stage, by name."""
        parts = []
        for topic in await self._staged_topics():
            stages = []
            for staging in self._stages_of(topic):
                stages.append(delay_statistics(staging))
                await trio.lowlevel.checkpoint()
            parts.append(together(topic.name, stages))
        return DelayReport(together(None, parts), tuple(parts))

    async def priority_statistics(self, topic: str | None = None) -> tuple[PriorityStatistics, ...]:
        """Every prioritised partition, by topic and number."""
        topics = await self._staged_topics() if topic is None else [self._topic(topic)]
        found = []
        for each in topics:
            for staging in self._stages_of(each):
                if staging.stage.prioritised:
                    found.append(priority_statistics(each.name, staging, self.releases.rates))
            await trio.lowlevel.checkpoint()
        return tuple(found)

    # -- finding the stages

    async def _staged_topics(self) -> list[Topic]:
        found = []
        topics = sorted(self.releases.topics.view, key=lambda topic: topic.name)
        for walked, topic in enumerate(topics, 1):
            if self._stages_of(topic):
                found.append(topic)
            if walked % SLICE_TOPICS == 0:
                await trio.lowlevel.checkpoint()
        return found

    def _stages_of(self, topic: Topic) -> list[Staging]:
        return stages_of(self.releases.partitions.of_topic(topic.topic_id))

    def _topic(self, name: str) -> Topic:
        topic = self.releases.topics.by_name.get(name)
        if topic is None:
            raise UnknownTopicOrPartition(f"no topic is called {name!r}")
        return topic

    def _stages(self, name: str, partition: int | None) -> list[Staging]:
        topic = self._topic(name)
        if partition is None:
            return self._stages_of(topic)
        found = self.releases.partitions.get(topic.topic_id, partition)
        if found is None:
            raise UnknownTopicOrPartition(f"topic {name!r} has no partition {partition}")
        return stages_of([found])

    def _staged(self, name: str, partition: int, record_id: str) -> Staging:
        _check_id(record_id)
        stages = self._stages(name, partition)
        if not stages:
            raise _unknown(name, partition, record_id)
        return stages[0]


def _check_id(record_id: str) -> None:
    try:
        size = len(record_id.encode())
    except UnicodeEncodeError:
        raise InvalidRequest("an id must be text that UTF-8 can hold") from None
    if not 0 < size <= SCHEDULE_ID_BYTES_MAX:
        raise InvalidRequest(f"an id is 1 to {SCHEDULE_ID_BYTES_MAX} bytes long, not {size}")


def _unknown(topic: str, partition: int, record_id: str) -> NoSuchRecord:
    return NoSuchRecord(f"no record {record_id!r} is pending in partition {partition} of {topic!r}, nor remembered")


async def _carry_out(staging: Staging, change: Callable[[], int]) -> None:
    """Make a change of the stage when its turn has come, and wait until it is durable."""
    finished = trio.Event()
    errors: list[BrokerError] = []
    begun = given_up = False

    def durable(error: BrokerError | None) -> None:
        if error is not None:
            errors.append(error)
        finished.set()

    def operation() -> None:
        nonlocal begun
        if given_up:
            return
        begun = True
        try:
            offset = change()
        except BrokerError as error:
            durable(error)
        else:
            staging.store.when_durable_to(offset, float("inf"), durable)

    staging.submit(operation)
    with trio.move_on_after(CHANGED_WITHIN_S):
        try:
            await finished.wait()
        finally:
            given_up = True
    if not finished.is_set():
        outcome = "what was asked for may still become durable" if begun else "nothing has been changed"
        raise RequestTimedOut(f"the partition's stage did not get to it in {CHANGED_WITHIN_S:.0f} s; {outcome}")
    if errors:
        raise errors[0]
