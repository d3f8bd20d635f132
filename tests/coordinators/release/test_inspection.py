"""What operators see and do: over all partitions of a topic, one change after the other, durable when answered."""

import errno
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import trio_test, wait_all_tasks_blocked

import coordinators.release.inspection as inspection_module
from coordinators.release.inspection import Inspection
from coordinators.release.listing import Window
from coordinators.release.lookup import NoSuchRecord, TooLate
from coordinators.release.pending_records import DueBucket, Fate
from coordinators.topic_view import Topic
from engine.errors import InvalidRequest, RequestTimedOut, StorageError, UnknownTopicOrPartition
from engine.workers import InlineWorkers
from tests.coordinators.conftest import Desk
from tests.coordinators.release.test_releases import Bench
from tests.engine.logs import NOW_MS
from tests.engine.stage.world import record

DAY_MS = 86_400_000


class Office(Bench):
    """A node with its stages, and an operator."""

    @property
    def inspection(self) -> Inspection:
        return Inspection(self.releases, InlineWorkers())

    async def done(self, change: Callable[..., Awaitable[Any]], *arguments: Any, **options: Any) -> Any:
        """What a change gives, once what it writes has been synced."""
        outcome: list[Any] = []

        async def run() -> None:
            try:
                outcome.append(await change(*arguments, **options))
            except Exception as error:
                outcome.append(error)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await wait_all_tasks_blocked()
            self.sync()
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    async def ids(self, topic: str = "t", **window: Any) -> list[tuple[int, str]]:
        page = await self.inspection.list_pending(topic, Window(**window))
        return [(each.partition, each.id) for each in page.records]


async def filled(desk: Desk, **configs: str) -> tuple[Office, Topic]:
    """A topic of three partitions, with records due in 1, 2 and 3 s in two of them."""
    office = Office(desk)
    topic = await office.create("t", 3, **configs)
    office.hold(topic, record("b", delay=2000, schedule_id="second"), index=0)
    office.hold(topic, record("a", delay=1000, schedule_id="first"), record("c", delay=3000), index=2)
    return office, topic


@trio_test
async def test_records_of_all_partitions_are_listed_by_due_time(desk: Desk) -> None:
    office, _ = await filled(desk)
    assert await office.ids() == [(2, "first"), (0, "second"), (2, "#1")]
    assert await office.ids(limit=1, skip=1) == [(0, "second")]
    assert await office.ids(order="number") == [(0, "second"), (2, "first"), (2, "#1")]
    assert await office.inspection.count_pending("t") == 3
    assert await office.inspection.count_pending("t", 2) == 2
    assert await office.inspection.count_pending("t", 1) == 0


@trio_test
async def test_records_are_counted_between_edges(desk: Desk) -> None:
    office, _ = await filled(desk)
    edges = [NOW_MS + 1000, NOW_MS + 2000]
    found = await office.inspection.histogram("t", edges)
    assert found == (DueBucket(None, edges[0], 0), DueBucket(edges[0], edges[1], 1), DueBucket(edges[1], None, 2))
    by_itself = await office.inspection.histogram("t")
    assert (by_itself[0], sum(each.records for each in by_itself)) == (DueBucket(None, NOW_MS, 0), 3)
    for nonsense in ([], [2, 1], [1, 1], list(range(101))):
        with pytest.raises(InvalidRequest, match="1 to 100 times in rising order"):
            await office.inspection.histogram("t", nonsense)


@trio_test
async def test_one_record_is_looked_at_with_its_value_and_later_its_fate(desk: Desk) -> None:
    office, _ = await filled(desk)
    found = await office.inspection.look("t", 2, "first")
    assert (found.fate, found.value, found.offset) == ("PENDING", b"a", None)
    assert found.record is not None
    assert (found.record.id, found.record.due_ms) == ("first", NOW_MS + 1000)
    office.pass_ms(1000)
    gone = await office.inspection.look("t", 2, "first")
    assert (gone.fate, gone.offset, gone.at_ms, gone.record) == ("DELIVERED", 0, NOW_MS + 1000, None)
    for partition, record_id in ((2, "second"), (1, "first"), (2, "#7")):
        with pytest.raises(NoSuchRecord, match=f"partition {partition} of 't'"):
            await office.inspection.look("t", partition, record_id)


@trio_test
async def test_an_id_is_looked_for_in_all_partitions(desk: Desk) -> None:
    office, topic = await filled(desk)
    office.hold(topic, record("d", delay=5000, schedule_id="first"), index=1)
    office.pass_ms(1000)
    found = await office.inspection.find("t", "first")
    assert [(each.partition, each.fate, each.offset) for each in found] == [(1, "PENDING", None), (2, "DELIVERED", 0)]
    assert await office.inspection.find("t", "nobody") == ()
    assert office.inspection.fate("t", 1, "first") == Fate("PENDING")
    assert office.inspection.fate("t", 0, "first") == Fate("UNKNOWN")


@trio_test
async def test_a_cancelled_record_is_never_released(desk: Desk) -> None:
    office, topic = await filled(desk)
    await office.done(office.inspection.cancel, "t", 2, "first")
    await office.done(office.inspection.cancel, "t", 2, "#1")
    assert await office.ids() == [(0, "second")]
    assert office.inspection.fate("t", 2, "first") == Fate("CANCELLED", None, NOW_MS)
    office.pass_ms(5000)
    assert office.partition(topic, 2).log.end_offset == 0
    with pytest.raises(TooLate, match="'first' is already CANCELLED"):
        await office.done(office.inspection.cancel, "t", 2, "first")
    with pytest.raises(TooLate, match="'second' is already DELIVERED at offset 0"):
        await office.done(office.inspection.cancel, "t", 0, "second")


@trio_test
async def test_a_change_is_answered_when_it_is_durable(desk: Desk) -> None:
    office, _ = await filled(desk)
    async with trio.open_nursery() as nursery:
        answered = trio.Event()

        async def cancel() -> None:
            await office.inspection.cancel("t", 2, "first")
            answered.set()

        nursery.start_soon(cancel)
        await wait_all_tasks_blocked()
        assert not answered.is_set()
        office.sync()
        await wait_all_tasks_blocked()
        assert answered.is_set()
    office.files.crash()
    office.restart()
    await office.controller.replicas.open_all(clean=False)
    await office.releases.open_all(clean=False)
    assert await office.ids() == [(0, "second"), (2, "#1")]


@trio_test
async def test_a_record_is_moved_to_another_time_or_delay(desk: Desk) -> None:
    office, topic = await filled(desk)
    move = office.inspection.reschedule
    assert await office.done(move, "t", 2, "first", deliver_at_ms=NOW_MS + 60_000) == NOW_MS + 60_000
    assert await office.done(move, "t", 0, "second", delay_ms=10) == NOW_MS + 10
    assert await office.ids() == [(0, "second"), (2, "#1"), (2, "first")]
    office.pass_ms(10)
    assert office.inspection.fate("t", 0, "second").fate == "DELIVERED"
    office.pass_ms(3000)
    assert await office.ids() == [(2, "first")]
    office.pass_ms(57_000)
    assert office.partition(topic, 2).log.end_offset == 2


@trio_test
async def test_a_record_is_released_now(desk: Desk) -> None:
    office, _ = await filled(desk)
    await office.done(office.inspection.release_now, "t", 2, "#1")
    office.pass_ms(0)
    assert office.inspection.fate("t", 2, "#1") == Fate("DELIVERED", 0, NOW_MS)
    with pytest.raises(TooLate, match="DELIVERED"):
        await office.done(office.inspection.release_now, "t", 2, "#1")


@trio_test
async def test_what_cannot_be_is_refused_by_name(desk: Desk) -> None:
    office, _ = await filled(desk, delay_max_ms=str(DAY_MS))
    move = office.inspection.reschedule
    for options, reason in (
        ({}, "either"),
        ({"deliver_at_ms": 1, "delay_ms": 1}, "not both"),
        ({"delay_ms": -1}, r"0 to 86400000 ms \(delay.max.ms\), not -1"),
        ({"delay_ms": DAY_MS + 1}, "not 86400001"),
        ({"deliver_at_ms": -1}, "not -1"),
        ({"deliver_at_ms": NOW_MS + DAY_MS + 1}, f"0 to {NOW_MS + DAY_MS}"),
    ):
        with pytest.raises(InvalidRequest, match=reason):
            await move("t", 2, "first", **options)
    for record_id in ("", "x" * 250, "\ud800"):
        with pytest.raises(InvalidRequest, match="an id"):
            await office.inspection.cancel("t", 2, record_id)
    with pytest.raises(UnknownTopicOrPartition, match="no topic is called 'other'"):
        await office.inspection.count_pending("other")
    with pytest.raises(UnknownTopicOrPartition, match="'t' has no partition 3"):
        await office.inspection.cancel("t", 3, "first")
    with pytest.raises(NoSuchRecord, match="'#0' is pending in partition 1"):
        await office.inspection.cancel("t", 1, "#0")


@trio_test
async def test_a_change_that_fails_on_disk_says_so(desk: Desk) -> None:
    office, _ = await filled(desk)
    office.files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
    with pytest.raises(StorageError, match="offline"):
        await office.done(office.inspection.cancel, "t", 2, "first")


@trio_test
async def test_a_stage_that_does_not_get_to_it_changes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection_module, "CHANGED_WITHIN_S", 0.01)
    office, topic = await filled(desk)
    staged = office.staged(topic, 2)
    office.clock.advance_ms(1000)
    office.timers.run_due(office.clock.monotonic())
    with pytest.raises(RequestTimedOut, match="nothing has been changed"):
        await office.inspection.cancel("t", 2, "#1")
    office.sync()
    assert not staged.in_the_way
    assert await office.ids(limit=5) == [(0, "second"), (2, "#1")]
    with pytest.raises(RequestTimedOut, match="may still become durable"):
        await office.inspection.cancel("t", 2, "#1")


@trio_test
async def test_figures_are_told_by_topic_and_partition(desk: Desk) -> None:
    office, _ = await filled(desk)
    plain = await office.create("plain")
    lanes = await office.create("lanes", 2)
    office.hold(lanes, record("a", priority="critical"), index=1)
    report = await office.inspection.delay_statistics()
    total, topics = report.all, report.topics
    assert [(each.topic, each.pending, each.next_due_ms) for each in topics] == [
        ("lanes", 0, None),
        ("t", 3, NOW_MS + 1000),
    ]
    assert (total.topic, total.pending, total.staged) == (None, 3, 4)
    (found,) = await office.inspection.priority_statistics()
    assert (found.topic, found.partition, found.ready) == ("lanes", 1, (1, 0, 0, 0, 0))
    assert await office.inspection.priority_statistics("lanes") == (found,)
    assert await office.inspection.priority_statistics(plain.name) == ()
    with pytest.raises(UnknownTopicOrPartition):
        await office.inspection.priority_statistics("other")
