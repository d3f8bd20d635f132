"""Spans and points in time as people write them."""

from datetime import UTC, datetime

import pytest

from tools.cli.errors import UsageMistake
from tools.cli.times import away_text, duration_ms, moment_ms, moment_text, span_text

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500", 500), ("250ms", 250), ("90s", 90_000), ("1h30m", 5_400_000), ("1.5m", 90_000), ("2d", 172_800_000)],
)
def test_a_span_is_read(text: str, expected: int) -> None:
    assert duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "5 apples", "-5s", "1h 3", "5q"])
def test_what_is_no_span_is_told(text: str) -> None:
    with pytest.raises(UsageMistake, match="no span of time"):
        duration_ms(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW_MS),
        ("+10m", NOW_MS + 600_000),
        ("-1h", NOW_MS - 3_600_000),
        ("1700000000000", 1_700_000_000_000),
        ("1700000000", 1_700_000_000_000),
        ("2026-11-16T12:00:00Z", round(datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp() * 1_000)),
        ("2026-11-16T12:00", round(datetime(2026, 11, 16, 12).timestamp() * 1_000)),
    ],
)
def test_a_point_in_time_is_read(text: str, expected: int) -> None:
    assert moment_ms(text, NOW_MS) == expected


@pytest.mark.parametrize("text", ["", "noon", "2026-13-01", "+soon", "12"])
def test_what_is_no_point_in_time_is_told(text: str) -> None:
    with pytest.raises(UsageMistake, match="no point in time"):
        moment_ms(text, NOW_MS)


@pytest.mark.parametrize(
    ("span", "text"),
    [(None, "-"), (5, "5ms"), (1_000, "1s"), (2_500, "2.5s"), (90_000, "1m30s"), (5_400_000, "1h30m"), (-3_000, "-3s")],
)
def test_a_span_is_written_in_its_two_largest_units(span: int | None, text: str) -> None:
    assert span_text(span) == text


def test_a_point_in_time_is_written_in_utc() -> None:
    assert moment_text(1_700_000_000_123) == "2023-11-14 22:13:20.123Z"
    assert moment_text(None) == moment_text(-1) == "-"
    assert moment_text(2**62) == f"{2**62} ms", "as a client may have chosen it"


def test_it_is_told_how_far_away_something_is() -> None:
    assert away_text(NOW_MS + 60_000, NOW_MS) == "in 1m"
    assert away_text(NOW_MS - 60_000, NOW_MS) == "1m ago"
