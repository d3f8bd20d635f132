"""A staged record by its id: found while it is pending, remembered when it is gone."""

import pytest

from coordinators.release.lookup import NoSuchRecord, TooLate, ahead_ms, fate, find, to_change
from coordinators.release.pending_records import Fate
from engine.stage.config import ExtensionConfig
from tests.engine.logs import NOW_MS
from tests.engine.partition.staging_bench import Bench
from tests.engine.stage.world import record


def states(bench: Bench, *ids: str) -> list[str | None]:
    found = [find(bench.staging.stage.state, each) for each in ids]
    return [None if each is None else each.state for each in found]


def fates(bench: Bench, *ids: str) -> list[str]:
    return [fate(bench.staging.stage, each).fate for each in ids]


def test_a_delayed_record_is_found_by_its_schedule_id_and_by_its_number() -> None:
    bench = Bench()
    bench.produce(record("a", delay=1000, schedule_id="order-1"), record("b", delay=1000))
    bench.sync()
    assert states(bench, "order-1", "#0", "#1", "1", "#2", "2", "order-2") == ["waiting"] * 4 + [None] * 3
    assert fates(bench, "order-1", "#1", "#2") == ["PENDING", "PENDING", "UNKNOWN"]


def test_a_schedule_id_that_looks_like_a_number_is_taken_for_the_id() -> None:
    bench = Bench()
    bench.produce(record("a", delay=1000), record("b", delay=1000, schedule_id="#0"))
    bench.sync()
    found = find(bench.staging.stage.state, "#0")
    assert found is not None
    assert found.number == 1


def test_what_was_delivered_is_known_with_its_offset() -> None:
    bench = Bench()
    bench.produce(record("now"))
    bench.produce(record("a", delay=1000, schedule_id="x"), record("b", delay=1000))
    bench.sync()
    bench.pass_ms(1000)
    assert fate(bench.staging.stage, "x") == Fate("DELIVERED", 1, NOW_MS + 1000)
    assert fate(bench.staging.stage, "#1") == Fate("DELIVERED", 2, NOW_MS + 1000)
    with pytest.raises(TooLate, match="'x' is already DELIVERED at offset 1"):
        to_change(bench.staging.stage, "x")


def test_what_is_on_its_way_is_pending_and_cannot_be_taken_back() -> None:
    bench = Bench()
    bench.produce(record("a", delay=1000, schedule_id="x"), record("b", delay=1000))
    bench.sync()
    bench.clock.advance_ms(1000)
    bench.timers.run_due(bench.clock.monotonic())
    assert states(bench, "x", "#0", "#1") == ["releasing"] * 3
    assert fates(bench, "x", "#1") == ["PENDING", "PENDING"]
    with pytest.raises(TooLate, match="'#1' is releasing"):
        to_change(bench.staging.stage, "#1")


def test_what_was_cancelled_or_has_expired_is_known() -> None:
    bench = Bench()
    bench.produce(
        record("a", delay=1000, schedule_id="x"), record("b", delay=5000, expires_at=NOW_MS + 100, schedule_id="y")
    )
    bench.produce(record("", cancel="x"))
    bench.sync()
    bench.pass_ms(100)
    assert fates(bench, "x", "y") == ["CANCELLED", "EXPIRED"]
    with pytest.raises(TooLate, match="'y' is already EXPIRED"):
        to_change(bench.staging.stage, "y")


def test_what_an_open_transaction_has_staged_is_not_seen() -> None:
    bench = Bench()
    bench.produce(record("a", delay=1000, schedule_id="x"), producer_id=7, epoch=0, sequence=0, transactional=True)
    bench.sync()
    assert states(bench, "x", "#0") == [None, None]
    assert fates(bench, "x", "#0") == ["UNKNOWN", "UNKNOWN"]
    with pytest.raises(NoSuchRecord, match="no record 'x'"):
        to_change(bench.staging.stage, "x")
    bench.end(7, committed=True)
    bench.sync()
    assert states(bench, "x", "#0") == ["waiting", "waiting"]


def test_what_an_open_transaction_cancels_is_held() -> None:
    bench = Bench()
    bench.produce(record("a", delay=1000, schedule_id="x"))
    bench.produce(record("", cancel="x"), producer_id=7, epoch=0, sequence=0, transactional=True)
    bench.sync()
    assert states(bench, "x") == ["held"]
    with pytest.raises(TooLate, match="held by a transaction"):
        to_change(bench.staging.stage, "x")


def test_records_in_lanes_are_ready_one_by_one_of_a_run() -> None:
    bench = Bench(ExtensionConfig(priority_enable="true", priority_fetch_max_records=2))
    bench.produce(*(record(f"v{index}") for index in range(4)))
    bench.sync()
    first = next(bench.staging.stage.state.table.rows()).number
    ids = [f"#{first + index}" for index in range(5)]
    assert states(bench, *ids) == ["ready"] * 4 + [None]
    with pytest.raises(TooLate, match="is ready"):
        to_change(bench.staging.stage, ids[0])
    bench.partition.linearise(0, 1 << 20)
    assert states(bench, *ids) == ["releasing"] * 2 + ["ready"] * 2 + [None]
    bench.sync()
    assert states(bench, *ids) == [None] * 2 + ["ready"] * 2 + [None]


def test_what_expired_in_a_lane_is_not_pending_while_its_place_is_filled() -> None:
    bench = Bench(ExtensionConfig(priority_enable="true"))
    bench.produce(record("a", ttl=50, priority="high"), record("b", priority="high"))
    bench.sync()
    first = next(bench.staging.stage.state.table.rows()).number
    bench.clock.advance_ms(100)
    bench.partition.linearise(0, 1 << 20)
    assert states(bench, f"#{first}", f"#{first + 1}") == [None, "releasing"]
    assert fates(bench, f"#{first}") == ["EXPIRED"]


def test_a_due_time_by_the_wall_clock_moves_only_when_that_was_set() -> None:
    bench = Bench()
    assert ahead_ms(bench.staging.stage) == 0
    bench.clock.wall_ms += 3
    assert ahead_ms(bench.staging.stage) == 0
    bench.clock.wall_ms += 5_000
    assert ahead_ms(bench.staging.stage) == 5_003
