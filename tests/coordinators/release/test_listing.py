"""Pending records listed and counted, page by page, with others going on meanwhile."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import trio_test

import coordinators.release.listing as listing_module
from coordinators.release.listing import (
    LIMIT_MAX,
    SLICE_ROWS,
    Window,
    count,
    count_between,
    page,
    shown_record,
)
from coordinators.release.pending_records import Header, PendingPage
from engine.errors import InvalidRequest, StorageError
from engine.stage.config import ExtensionConfig
from engine.workers import InlineWorkers
from tests.engine.logs import NOW_MS
from tests.engine.partition.staging_bench import Bench
from tests.engine.stage.world import Record, record


async def listed(bench: Bench, **window: Any) -> PendingPage:
    return await page([bench.staging], Window(**window), InlineWorkers())


def delayed(bench: Bench, *delays: int) -> None:
    for delay in delays:
        bench.produce(record(f"v{delay}", delay=delay, schedule_id=f"in {delay}"))
    bench.sync()


@trio_test
async def test_everything_about_a_record_is_shown() -> None:
    bench = Bench()
    headers = ((b"tide-deliver-at", b"%d" % (NOW_MS + 500)), (b"tide-priority", b"low"), (b"trace", None))
    bench.config = ExtensionConfig(priority_enable="false")
    bench.staging.stage.configure(bench.config)
    bench.produce(Record(b"value", (*headers, (b"tide-ttl", b"99")), b"key", NOW_MS - 5))
    bench.sync()
    (shown,) = (await listed(bench)).records
    assert (shown.partition, shown.id, shown.number, shown.state) == (0, "#0", 0, "waiting")
    assert (shown.due_ms, shown.created_ms, shown.expires_ms, shown.ttl_ms) == (NOW_MS + 500, NOW_MS - 5, None, 99)
    assert (shown.key, shown.headers[1:3]) == (b"key", (Header("tide-priority", b"low"), Header("trace", None)))
    assert shown.size_bytes > len(b"keyvalue")
    found = await shown_record(bench.staging, 0, InlineWorkers())
    assert found is not None
    assert found[1] == b"value"


@trio_test
async def test_the_earliest_come_first_and_pages_follow_one_another() -> None:
    bench = Bench()
    delayed(bench, 500, 100, 400, 200, 300)
    first = await listed(bench, limit=2)
    assert ([each.id for each in first.records], first.next_skip) == (["in 100", "in 200"], 2)
    last = await listed(bench, limit=3, skip=2)
    assert ([each.id for each in last.records], last.next_skip) == (["in 300", "in 400", "in 500"], None)
    assert (await listed(bench, skip=7)) == PendingPage((), 5, None)


@trio_test
async def test_records_can_be_listed_as_they_came_and_by_when_they_are_due() -> None:
    bench = Bench()
    delayed(bench, 500, 100, 400)
    by_number = await listed(bench, order="number", skip=1, limit=1)
    assert ([each.id for each in by_number.records], by_number.total, by_number.next_skip) == (["in 100"], 3, 2)
    between = await listed(bench, due_from_ms=NOW_MS + 100, due_until_ms=NOW_MS + 500)
    assert ([each.id for each in between.records], between.total) == (["in 100", "in 400"], 2)
    later = await listed(bench, order="number", due_from_ms=NOW_MS + 101)
    assert [each.id for each in later.records] == ["in 500", "in 400"]


@trio_test
async def test_when_it_is_due_is_told_by_the_wall_clock_also_after_that_was_set() -> None:
    bench = Bench()
    delayed(bench, 60_000)
    bench.clock.wall_ms += 3_600_000
    (shown,) = (await listed(bench)).records
    assert shown.due_ms == bench.clock.now_ms() + 60_000


@trio_test
async def test_only_what_waits_for_its_time_is_listed() -> None:
    bench = Bench()
    delayed(bench, 100, 1000)
    bench.produce(record("u", delay=10), producer_id=7, epoch=0, sequence=0, transactional=True)
    bench.produce(record("p", priority="high"), record("r"))
    bench.sync()
    assert await count([bench.staging]) == 2
    bench.pass_ms(200)
    assert [each.id for each in (await listed(bench)).records] == ["in 1000"]
    assert await count([bench.staging]) == 1


@trio_test
async def test_records_are_counted_by_due_time() -> None:
    bench = Bench()
    delayed(bench, 100, 200, 300)
    counts = [0, 0]
    await count_between([bench.staging], lambda due_ms: int(due_ms >= NOW_MS + 200), counts)
    assert counts == [1, 2]


@trio_test
async def test_a_page_ends_when_it_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_module, "PAGE_BYTES", 100)
    bench = Bench()
    bench.produce(*(record("v", key=b"k" * 60, delay=10 + index) for index in range(5)))
    bench.sync()
    first = await listed(bench)
    assert (len(first.records), first.next_skip) == (2, 2)
    assert (await listed(bench, skip=4)).next_skip is None


@pytest.mark.parametrize(
    ("window", "reason"),
    [
        ({"limit": 0}, "limit must be 1 to 1000, not 0"),
        ({"limit": LIMIT_MAX + 1}, "not 1001"),
        ({"skip": -1}, "skip must not be negative, and is -1"),
        ({"order": "size"}, "order must be due or number, not 'size'"),
        ({"skip": 10_000}, "at most 10000 records"),
    ],
)
def test_what_cannot_be_listed_is_refused(window: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason):
        Window(**window).check()


async def turns_of_another_task(work: Callable[[], Awaitable[object]]) -> int:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await work()
        nursery.cancel_scope.cancel()
    return turns


@trio_test
async def test_others_go_on_while_many_rows_are_walked() -> None:
    bench = Bench()
    for _ in range(5):
        bench.produce(*(record("v", delay=60_000) for _ in range(SLICE_ROWS)))
    bench.sync()
    assert await turns_of_another_task(lambda: listed(bench, limit=1)) >= 4
    assert await turns_of_another_task(lambda: count([bench.staging])) >= 4


@trio_test
async def test_a_record_that_goes_between_walk_and_reading_is_left_out() -> None:
    bench = Bench()
    delayed(bench, 100, 200)

    class Cancelling(InlineWorkers):
        def submit(self, job: Any, done: Any) -> None:
            bench.produce(record("", cancel="in 200"))
            bench.sync()
            super().submit(job, done)

    found = await page([bench.staging], Window(), Cancelling())
    assert [each.id for each in found.records] == ["in 100"]


@trio_test
async def test_a_record_of_a_run_is_shown_by_itself() -> None:
    bench = Bench(ExtensionConfig(priority_enable="true"))
    bench.produce(*(record(f"v{index}", created_ms=NOW_MS + index) for index in range(3)))
    bench.sync()
    first = next(bench.staging.stage.state.table.rows()).number
    found = await shown_record(bench.staging, first + 2, InlineWorkers())
    assert found is not None
    assert (found[0].id, found[0].created_ms, found[0].state, found[1]) == (f"#{first + 2}", NOW_MS + 2, "ready", b"v2")


@trio_test
async def test_a_record_that_cannot_be_read_is_an_error_of_the_disk() -> None:
    bench = Bench()
    delayed(bench, 100)
    bench.staging.stage.state.table.update(0, position=1 << 20)
    with pytest.raises(StorageError, match="0 bytes of a staged record"):
        await listed(bench)
