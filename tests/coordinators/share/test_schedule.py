"""The schedule of a window: it is right whatever happens to the runs, and stays small."""

import pytest

from coordinators.share.acks import AckBatch
from coordinators.share.runs import ACQUIRED, AVAILABLE, OffsetRun
from coordinators.share.schedule import SPARE, Schedule
from tests.coordinators.share.windows import NOW_MS, Bench, rules

ACCEPT, RELEASE, RENEW = 1, 2, 4


def acquired(first: int, lock_until: float) -> OffsetRun:
    return OffsetRun(first, first, ACQUIRED, 1, "m", lock_until)


def test_locks_run_out_in_their_order_and_only_those_that_are_still_held() -> None:
    schedule, late, early, settled = Schedule(), acquired(0, 30.0), acquired(1, 20.0), acquired(2, 10.0)
    for run in (late, early, settled):
        schedule.enter(run)
    settled.state = AVAILABLE
    assert schedule.next_lock == 20.0
    assert schedule.overdue(25.0) == [early]
    assert schedule.overdue(40.0) == [late]
    assert schedule.next_lock is None


def test_a_lock_that_was_renewed_counts_once_and_later() -> None:
    schedule, run = Schedule(), acquired(0, 30.0)
    schedule.enter(run)
    run.lock_until = 45.0
    schedule.enter(run)
    schedule.enter(run)
    assert schedule.overdue(44.0) == []
    assert schedule.overdue(45.0) == [run]


def test_what_waits_is_ready_when_its_time_has_come_the_lowest_offset_first() -> None:
    schedule = Schedule()
    for first, not_before_ms in ((7, 0), (3, 2_000), (5, 1_000)):
        run = OffsetRun(first, first, AVAILABLE, not_before_ms=not_before_ms)
        schedule.waiting += bool(not_before_ms)
        schedule.enter(run)
    found = [schedule.first_ready(now_ms) for now_ms in (999, 1_000, 2_000)]
    assert [run.first for run in found if run is not None] == [7, 5, 3]
    assert schedule.waiting == 0


def test_it_stays_small_while_a_lock_is_renewed_for_ever() -> None:
    bench = Bench(rules(max_record_locks=2_000))
    bench.take("m1", 5, strict=True)
    for _ in range(10_000):
        bench.seconds += 0.001
        bench.window.acknowledge("m1", [AckBatch(0, 4, [RENEW])], bench.settings, bench.now)
    assert len(bench.window.schedule) <= 3 * SPARE
    assert bench.window.next_time(bench.now) == pytest.approx(30.0)


def test_it_stays_small_while_records_come_and_go() -> None:
    bench = Bench(rules(retry_backoff_ms=500), log_end=10_000)
    for _ in range(400):
        bench.seconds += 0.1
        for first, last, _count in bench.take("m1", 25, strict=True):
            bench.settle(first, last, RELEASE if first % 3 else ACCEPT)
    assert len(bench.window.schedule) <= 2 * len(bench.window.runs) + 6 * SPARE
    waiting = bench.window.in_backoff(bench.now.wall_ms)
    walked = sum(run.length for run in bench.window.runs if run.not_before_ms > NOW_MS + int(bench.seconds * 1000))
    assert waiting == walked
