"""Rates of lanes: differences over the last minute, whenever somebody asks."""

import pytest

import coordinators.release.rates as rates_module
from coordinators.release.rates import INTERVAL_S, LaneRates
from engine.stage.config import ExtensionConfig
from tests.engine.partition.staging_bench import Bench
from tests.engine.stage.world import record

PRIORITISED = ExtensionConfig(priority_enable="true")


def rates_of(*benches: Bench) -> LaneRates:
    rates = LaneRates(lambda: [bench.staging for bench in benches], benches[0].clock, benches[0].timers)
    rates.start()
    return rates


def fill(bench: Bench, count: int, priority: str = "critical") -> None:
    bench.produce(*(record("v", priority=priority) for _ in range(count)))
    bench.sync()


def test_what_entered_and_left_is_told_per_second_and_lane() -> None:
    bench = Bench(PRIORITISED)
    rates = rates_of(bench)
    fill(bench, 20)
    fill(bench, 10, "background")
    bench.pass_ms(10_000)
    assert rates.rates(bench.staging) == ((2.0, 0.0, 0.0, 0.0, 1.0), (0.0,) * 5)
    bench.partition.linearise(0, 1 << 20)
    bench.sync()
    assert rates.rates(bench.staging) == ((2.0, 0.0, 0.0, 0.0, 1.0), (2.0, 0.0, 0.0, 0.0, 1.0))


def test_what_happened_more_than_a_minute_ago_no_longer_counts() -> None:
    bench = Bench(PRIORITISED)
    rates = rates_of(bench)
    fill(bench, 30)
    for _ in range(14):
        bench.pass_ms(5_000)
    assert rates.rates(bench.staging)[0] == (0.0,) * 5


def test_what_was_there_before_the_start_does_not_count() -> None:
    bench = Bench(PRIORITISED)
    fill(bench, 30)
    rates = rates_of(bench)
    bench.pass_ms(5_000)
    assert rates.rates(bench.staging)[0] == (0.0,) * 5


def test_a_stage_made_since_the_last_look_counts_from_then_on() -> None:
    bench = Bench(PRIORITISED)
    stages: list[object] = []
    rates = LaneRates(lambda: stages, bench.clock, bench.timers)  # type: ignore[arg-type, return-value]
    rates.start()
    bench.pass_ms(2_000)
    stages.append(bench.staging)
    fill(bench, 30)
    assert rates.rates(bench.staging)[0][0] == 15.0
    bench.pass_ms(4_000)
    assert rates.rates(bench.staging)[0][0] == 5.0


def test_many_stages_are_looked_at_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates_module, "SLICE_STAGES", 2)
    benches = [Bench(PRIORITISED) for _ in range(5)]
    rates = rates_of(*benches)
    assert len(rates._notes) == 2
    for _ in range(3):
        benches[0].pass_ms(10)
    assert len(rates._notes) == 5


def test_a_stage_that_is_gone_is_forgotten() -> None:
    bench, other = Bench(PRIORITISED), Bench(PRIORITISED)
    stages = [bench.staging, other.staging]
    rates = LaneRates(lambda: stages, bench.clock, bench.timers)
    rates.start()
    del stages[1]
    bench.pass_ms(int(INTERVAL_S * 1000))
    assert list(rates._notes) == [bench.staging]
