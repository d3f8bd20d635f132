"""Numbers as people read them, and axes with round marks."""

import pytest

from tools.pipelines import scales
from tools.pipelines.scales import bytes_text, count_text, duration_text, linear_marks, logarithmic_marks, time_marks

NOON = 1_794_830_400  # 2026-11-16 12:00 UTC


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(0, "0"), (7, "7"), (1234, "1,234"), (0.25, "0.25"), (12.34, "12.3"), (123_456, "123k"), (2_500_000, "2.5M")],
)
def test_counts(value: float, wanted: str) -> None:
    assert count_text(value) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (58_912, "58.9 kB"), (3.2e9, "3.2 GB")]
)
def test_bytes(value: float, wanted: str) -> None:
    assert bytes_text(value) == wanted


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [
        (0, "0"),
        (0.000_131, "131 µs"),
        (0.0019, "1.9 ms"),
        (0.9999, "1 s"),
        (2.2, "2.2 s"),
        (72.24, "72.2 s"),
        (192, "3 min 12 s"),
        (7500, "2 h 5 min"),
        (3600, "1 h"),
        (273_600, "3 d 4 h"),
    ],
)
def test_durations(seconds: float, wanted: str) -> None:
    assert duration_text(seconds) == wanted


def test_shares_factors_and_nouns() -> None:
    assert scales.percent_text(0.0389) == "3.9 %"
    assert scales.factor_text(1.128) == "1.13x"
    assert (scales.some(1, "topic"), scales.some(1200, "topic")) == ("1 topic", "1,200 topics")
    assert (scales.per_text(60.0), scales.per_text(5.0)) == ("minute", "5 s")


def test_a_span_names_a_day_once() -> None:
    assert scales.span_text(NOON, NOON + 90) == "2026-11-16 12:00:00 to 12:01:30 UTC"
    assert scales.span_text(NOON, NOON + 86_400) == "2026-11-16 12:00:00 to 2026-11-17 12:00:00 UTC"


@pytest.mark.parametrize(
    ("highest", "wanted"),
    [
        (0, [0, 1]),
        (0.3, [0, 0.1, 0.2, 0.3]),
        (7, [0, 2, 4, 6, 8]),
        (161, [0, 50, 100, 150, 200]),
        (9200, [0, 2500, 5000, 7500, 10_000]),
    ],
)
def test_linear_axes_end_at_round_numbers(highest: float, wanted: list[float]) -> None:
    assert linear_marks(highest, 4) == pytest.approx(wanted)


@pytest.mark.parametrize(("highest", "wanted"), [(2, [0, 1, 2]), (9, [0, 5, 10]), (8, [0, 2, 4, 6, 8])])
def test_what_is_counted_has_no_halves(highest: float, wanted: list[float]) -> None:
    assert linear_marks(highest, 4, whole=True) == pytest.approx(wanted)


def test_logarithmic_axes_are_powers_of_ten() -> None:
    assert logarithmic_marks(0.003, 4) == pytest.approx([0.001, 0.01, 0.1, 1, 10])
    assert logarithmic_marks(1, 1) == pytest.approx([1, 10])


@pytest.mark.parametrize(
    ("first", "last", "wanted"),
    [
        (NOON + 1, NOON + 31, ["12:00:05", "12:00:10", "12:00:15", "12:00:20", "12:00:25", "12:00:30"]),
        (NOON, NOON + 3600, ["12:00", "12:10", "12:20", "12:30", "12:40", "12:50", "13:00"]),
        (NOON, NOON + 6 * 86_400, ["Nov 17", "Nov 18", "Nov 19", "Nov 20", "Nov 21", "Nov 22"]),
        (NOON, NOON + 90_000, ["Nov 16 12:00", "Nov 16 18:00", "Nov 17 00:00", "Nov 17 06:00", "Nov 17 12:00"]),
    ],
)
def test_times_are_round_and_told_apart(first: float, last: float, wanted: list[str]) -> None:
    assert [label for _, label in time_marks(first, last)] == wanted
