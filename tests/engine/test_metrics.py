"""Counting: histograms, families, and a register of who has figures."""

import pytest

from engine.metrics import Family, Histogram, Metrics, Sample


def test_a_value_on_a_bound_is_not_above_it() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 3.0):
        histogram.observe(value)
    assert list(histogram.buckets()) == [("1.0", 2), ("2.0", 4), ("+Inf", 5)]
    assert (histogram.count, histogram.total) == (5, 8.0)


def test_a_histogram_becomes_buckets_a_count_and_a_sum() -> None:
    histogram = Histogram((1.0,))
    histogram.observe(0.25)
    family = Family.histogram("took_seconds", "How long.", [({"api": "a"}, histogram)])
    assert list(family.samples) == [
        Sample({"api": "a", "le": "1.0"}, 1, "_bucket"),
        Sample({"api": "a", "le": "+Inf"}, 1, "_bucket"),
        Sample({"api": "a"}, 1, "_count"),
        Sample({"api": "a"}, 0.25, "_sum"),
    ]


def test_a_counter_is_named_as_one() -> None:
    with pytest.raises(AssertionError, match="_total"):
        Family.counter("things", "Things.", [])


def test_every_collector_is_asked_each_time_in_order() -> None:
    metrics, calls = Metrics(), []

    def collect() -> list[Family]:
        calls.append(1)
        return [Family.gauge("first", "First.", [({}, len(calls))])]

    metrics.register(collect)
    metrics.register(lambda: [None, Family.counter("second_total", "Second.", [({}, 7)])])
    for expected in (1, 2):
        found = [(family.name, family.kind, [s.value for s in family.samples]) for family in metrics.families()]
        assert found == [("first", "gauge", [expected]), ("second_total", "counter", [7])]
