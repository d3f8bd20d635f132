"""Medians, ratios and verdicts."""

from tools.bench.results import Measurement, Results
from tools.bench.rows import BY_NAME, Row
from tools.bench.summary import Line, before_table, bound_by, lines, tally, text_table

ROW = BY_NAME["latency-10k"]
BUSY = {"broker_busy": 0.5, "broker_thread_busy": 0.4, "client_busy": 0.3}


def _results(row: Row, **figures: dict[str, list[float]]) -> Results:
    """Figures by broker, a value per round."""
    results = Results({})
    for broker, rounds in figures.items():
        name = broker.replace("_", "-")
        for number, values in enumerate(zip(*rounds.values(), strict=True), 1):
            results.add(Measurement(row.name, name, number, dict(zip(rounds, values, strict=True))))
    return results


def _line(results: Results, row: Row, figure: str) -> Line:
    return next(line for line in lines(results, row) if line.figure == figure)


def test_a_ratio_is_of_medians_and_judged_by_its_mode() -> None:
    results = _results(
        ROW, tidegate={"p99_ms": [9, 4, 3]}, tidegate_os={"p99_ms": [4, 4, 4]}, kafka={"p99_ms": [5, 5, 5]}
    )
    line = _line(results, ROW, "p99_ms")
    assert line.ratio("tidegate") == line.ratio("tidegate-os") == 0.8
    assert (line.met("tidegate"), line.met("tidegate-os")) == (True, False)
    assert (line.goal("tidegate"), line.goal("tidegate-os")) == ("≤ 1", "≤ 0.7")


def test_more_is_better_for_throughput() -> None:
    row = BY_NAME["produce-1k-native"]
    results = _results(row, tidegate={"records_per_s": [110]}, kafka={"records_per_s": [100]})
    line = _line(results, row, "records_per_s")
    assert line.goal("tidegate") == "≥ 1.2"
    assert line.met("tidegate") is False


def test_an_absolute_goal_needs_no_kafka() -> None:
    results = _results(ROW, tidegate={"p99_ms": [4]}, tidegate_os={"p99_ms": [5]})
    line = _line(results, ROW, "p99_ms")
    assert line.absolute("tidegate") == ("< 5", True)
    assert line.absolute("tidegate-os") == ("< 5", False)
    assert line.met("tidegate") is None
    assert tally(results, (ROW,)) == (1, 2)


def test_nothing_is_divided_by_nothing() -> None:
    row = BY_NAME["idle"]
    results = _results(row, tidegate={"idle_cpu_percent": [1]}, kafka={"idle_cpu_percent": [0]})
    assert _line(results, row, "idle_cpu_percent").ratio("tidegate") is None


def test_the_full_core_is_named() -> None:
    for changed, who in (
        ({}, "nobody"),
        ({"broker_thread_busy": 0.95, "broker_busy": 1.1}, "a broker thread"),
        ({"client_busy": 1.2}, "the client"),
        ({"broker_busy": 1.1, "client_busy": 0.8}, "both cores"),
    ):
        results = _results(ROW, kafka={name: [value] for name, value in (BUSY | changed).items()})
        assert bound_by(results, ROW, "kafka").startswith(who)


def test_the_table_shows_ratios_and_failures() -> None:
    results = _results(ROW, tidegate={"p99_ms": [8]}, kafka={"p99_ms": [4]})
    results.add(Measurement(ROW.name, "tidegate-os", 1, error="it broke"))
    shown = text_table(results, (ROW,))
    assert "2.00!" in shown
    assert "tidegate-os: it broke" in shown
    assert "0 of 2 goals met" in shown


def test_an_earlier_checkout_is_compared_with_this_one() -> None:
    results = _results(ROW, tidegate={"p99_ms": [6], "client_busy": [1]}, kafka={"p99_ms": [4]})
    results.add(Measurement(ROW.name, "tidegate-before", 1, {"p99_ms": 8.0, "client_busy": 1.0}))
    (_, line) = before_table(results, (ROW,)).splitlines()
    assert line.split()[-3:] == ["8.00", "6.00", "0.75"]
