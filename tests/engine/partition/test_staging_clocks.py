"""A partition with a stage, and the clocks that its records wait by: set, stopped, started anew."""

import pytest

from engine.clock import ManualClock
from engine.log.types import Receipt
from tests.engine.logs import NOW_MS
from tests.engine.partition.staging_bench import Bench
from tests.engine.stage.world import record


def test_what_fell_due_during_downtime_is_released_at_once_in_order_of_its_time() -> None:
    bench = Bench()
    bench.produce(record("second", delay=200), record("first", delay=100), record("third", delay=60_000))
    bench.sync()
    bench.clock.advance_ms(10_000)
    bench.open()
    bench.pass_ms(0)
    assert bench.values() == [b"first", b"second"]


def test_delays_and_points_in_time_keep_one_order_after_downtime() -> None:
    bench = Bench()
    now_ms = bench.clock.now_ms()
    # Many more points in time than delays in the first seconds, and the reverse in the last.
    dues = [(number * 10, number % 5 == 0 if number < 600 else number % 5 > 0) for number in range(1_000)]
    for due_ms, relative in reversed(dues):
        when = {"delay": due_ms} if relative else {"deliver_at": now_ms + due_ms}
        bench.produce(record(str(due_ms), **when))
    bench.sync()
    bench.clock.advance_ms(60_000)
    bench.open()
    for _ in range(50):
        bench.pass_ms(0)
    assert bench.values() == [str(due_ms).encode() for due_ms, _ in dues]


def test_a_step_of_the_wall_clock_does_not_release_early() -> None:
    bench = Bench()
    bench.produce(record("by delay", delay=10_000))
    bench.produce(record("by time", deliver_at=bench.clock.now_ms() + 10_000))
    bench.sync()
    bench.clock.wall_ms += 3_600_000
    bench.pass_ms(1_000)
    assert bench.values() == [b"by time"]
    bench.clock.wall_ms -= 7_200_000
    bench.pass_ms(8_999)
    assert bench.values() == [b"by time"]
    bench.pass_ms(1)
    assert bench.values() == [b"by time", b"by delay"]


def test_a_step_of_the_clock_is_known_after_a_restart() -> None:
    bench = Bench()
    bench.produce(record("later", delay=10_000))
    bench.sync()
    bench.clock.wall_ms += 3_600_000
    bench.staging.watch_clock()
    bench.sync()
    bench.open()
    bench.pass_ms(9_000)
    assert bench.values() == []
    bench.pass_ms(1_000)
    assert bench.values() == [b"later"]


@pytest.mark.parametrize("step_ms", [16_000, -6_000])
@pytest.mark.parametrize("restarts", [1, 3])
def test_a_clock_that_is_set_while_the_broker_is_down_moves_no_delay(step_ms: int, restarts: int) -> None:
    bench = Bench(clock=ManualClock(NOW_MS, 5_000.0, boot="b00t"))
    bench.produce(record("by delay", delay=25_000))
    bench.produce(record("by time", deliver_at=NOW_MS + 20_000 + restarts * step_ms))
    bench.sync()
    for _ in range(restarts):
        bench.clock.wall_ms += step_ms
        bench.clock.advance_ms(3_000)
        bench.open()
        bench.sync()
    bench.pass_ms(25_000 - restarts * 3_000 - 1)
    assert bench.values() == [b"by time"]
    bench.pass_ms(1)
    assert bench.values() == [b"by time", b"by delay"]


def test_after_a_start_of_the_machine_delays_go_by_the_wall_clock() -> None:
    bench = Bench(clock=ManualClock(NOW_MS, 5_000.0, boot="b00t"))
    bench.produce(record("by delay", delay=25_000))
    bench.sync()
    bench.clock = ManualClock(NOW_MS + 9_000, 1.0, boot="another")
    bench.open()
    bench.pass_ms(15_999)
    assert bench.values() == []
    bench.pass_ms(1)
    assert bench.values() == [b"by delay"]


def test_what_was_staged_before_the_machine_started_is_kept_from_later_steps_within_a_second() -> None:
    bench = Bench(clock=ManualClock(NOW_MS, 5_000.0, boot="b00t"))
    bench.produce(record("by delay", delay=25_000))
    bench.sync()
    bench.clock = ManualClock(NOW_MS + 9_000, 1.0, boot="another")
    bench.open()
    bench.staging.watch_clock()
    bench.sync()
    bench.clock.wall_ms += 60_000
    bench.open()
    bench.pass_ms(15_999)
    assert bench.values() == []
    bench.pass_ms(1)
    assert bench.values() == [b"by delay"]


def test_a_clock_that_was_set_before_the_first_record_was_staged_leaves_its_number_right() -> None:
    bench = Bench(clock=ManualClock(NOW_MS, 5_000.0, boot="b00t"))
    bench.clock.wall_ms += 3_600_000
    (receipt,) = bench.produce(record("now"), record("later", delay=1_000))
    assert isinstance(receipt, Receipt)
    assert receipt.staged_number == 3, "two events about the clocks come first"
    bench.sync()
    assert bench.values() == [b"now"]
    bench.pass_ms(1_000)
    assert bench.values() == [b"now", b"later"]
