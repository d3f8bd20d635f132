"""Figures about stages: told from what is counted, without a walk over what is pending."""

from coordinators.release.rates import LaneRates
from coordinators.release.stage_statistics import delay_statistics, next_due_ms, priority_statistics, together
from engine.stage.config import ExtensionConfig
from tests.engine.logs import NOW_MS
from tests.engine.partition.staging_bench import Bench
from tests.engine.stage.world import record


def test_what_waits_and_what_became_of_the_rest_is_counted() -> None:
    bench = Bench()
    bench.produce(record("a", delay=100), record("b", delay=2000, schedule_id="x"), record("c", delay=3000, ttl=1))
    bench.produce(record("d", delay=9000, schedule_id="x"))
    bench.produce(record("", cancel="nobody"))
    bench.produce(record("e", delay=5000, expires_at=NOW_MS + 50))
    bench.sync()
    bench.pass_ms(110)
    found = delay_statistics(bench.staging)
    assert (found.pending, found.staged, found.released, found.replaced, found.expired) == (2, 6, 1, 1, 1)
    assert (found.cancelled, found.unknown_cancels, found.late_cancels) == (0, 1, 0)
    assert found.next_due_ms == NOW_MS + 3000
    assert found.pending_bytes == bench.staging.stage.state.table.bytes > 0
    assert (sum(found.lateness.counts), found.lateness.sum_ms) == (1, 10)
    assert found.lateness.counts[found.lateness.bounds_ms.index(10)] == 1


def test_a_delayed_record_is_as_late_as_it_enters_its_lane() -> None:
    bench = Bench(ExtensionConfig(priority_enable="true"))
    bench.produce(record("a", delay=100))
    bench.sync()
    bench.pass_ms(107)
    found = delay_statistics(bench.staging).lateness
    assert (sum(found.counts), found.sum_ms) == (1, 7)


def test_the_next_due_time_is_that_of_a_record_which_still_waits() -> None:
    bench = Bench()
    assert next_due_ms(bench.staging.stage) is None
    bench.produce(record("a", delay=100, schedule_id="x"), record("b", deliver_at=NOW_MS + 7_000_000))
    bench.produce(record("c", delay=200_000))
    bench.sync()
    assert next_due_ms(bench.staging.stage) == NOW_MS + 100
    bench.produce(record("", cancel="x"))
    bench.sync()
    assert next_due_ms(bench.staging.stage) == NOW_MS + 200_000
    bench.pass_ms(200_000)
    assert next_due_ms(bench.staging.stage) == NOW_MS + 7_000_000


def test_stages_are_summed() -> None:
    benches = [Bench(), Bench()]
    for delay, bench in zip((300, 200), benches, strict=True):
        bench.produce(record("a", delay=delay), record("b", delay=1000))
        bench.sync()
        bench.pass_ms(delay)
    total = together("t", [delay_statistics(bench.staging) for bench in benches])
    assert (total.topic, total.pending, total.released, total.next_due_ms) == ("t", 2, 2, NOW_MS + 1000)
    assert sum(total.lateness.counts) == 2
    nothing = together(None, [])
    assert (nothing.pending, nothing.next_due_ms, sum(nothing.lateness.counts)) == (0, None, 0)


def test_lanes_are_told_critical_first() -> None:
    bench = Bench(ExtensionConfig(priority_enable="true", priority_fetch_max_records=1))
    rates = LaneRates(lambda: [bench.staging], bench.clock, bench.timers)
    rates.start()
    bench.produce(record("a", priority="critical"), record("b", priority="low"), record("c", priority=3))
    bench.sync()
    bench.pass_ms(10_000)
    bench.partition.linearise(0, 1 << 20)
    found = priority_statistics("t", bench.staging, rates)
    assert (found.topic, found.partition, found.ready) == ("t", 0, (0, 0, 0, 2, 0))
    assert found.in_flight == (1, 0, 0, 0, 0)
    assert (found.enqueued, found.dequeued) == ((1, 0, 0, 2, 0), (1, 0, 0, 0, 0))
    assert (found.enqueue_rate, found.dequeue_rate) == ((0.1, 0.0, 0.0, 0.2, 0.0), (0.1, 0.0, 0.0, 0.0, 0.0))
    assert found.oldest_age_ms == (None, None, None, 10_000, None)
    assert found.last_served_ms == (NOW_MS + 10_000, None, None, None, None)
    assert found.starved_turns == (0,) * 5
    bench.sync()
    assert priority_statistics("t", bench.staging, rates).in_flight == (0,) * 5


def test_when_a_lane_was_served_is_told_by_the_wall_clock() -> None:
    bench = Bench(ExtensionConfig(priority_enable="true"))
    rates = LaneRates(lambda: [bench.staging], bench.clock, bench.timers)
    bench.produce(record("a", priority="critical"))
    bench.sync()
    bench.partition.linearise(0, 1 << 20)
    bench.sync()
    bench.clock.wall_ms += 1_000_000
    assert priority_statistics("t", bench.staging, rates).last_served_ms[0] == NOW_MS + 1_000_000


def test_nothing_is_late_before_it_could_be_released() -> None:
    """A time of delivery long ago counts from receipt, what a transaction has kept back from its end."""
    bench = Bench()
    bench.produce(record("long ago", deliver_at=1), record("a day ago", deliver_at=NOW_MS - 86_400_000, ttl=60_000))
    bench.sync()
    bench.pass_ms(3)
    bench.produce(record("committed late", delay=10), producer_id=1, epoch=0, sequence=0, transactional=True)
    bench.produce(record("held", delay=20, schedule_id="x"))
    bench.produce(record("", cancel="x"), producer_id=2, epoch=0, sequence=0, transactional=True)
    bench.sync()
    bench.pass_ms(100_000)
    bench.end(1, committed=True)
    bench.end(2, committed=False)
    bench.sync()
    bench.pass_ms(2)
    assert set(bench.values()) == {b"long ago", b"a day ago", b"committed late", b"held"}
    found = delay_statistics(bench.staging).lateness
    assert (sum(found.counts), found.sum_ms) == (4, 2 * 3 + 2 * 2)
