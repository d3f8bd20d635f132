"""Charts: what is drawn, where, and what is told on hover."""

import re

from tools.pipelines import charts
from tools.pipelines.charts import Span, Spread
from tools.pipelines.scales import count_text, duration_text

START = 1_794_830_400.0


def rectangles(drawn: str) -> list[dict[str, float]]:
    return [
        {name: float(value) for name, value in re.findall(r'\b(x|y|width|height)="([\d.]+)"', each)}
        for each in re.findall(r"<rect [^>]*>", drawn)
    ]


def test_lines_have_axes_a_legend_and_told_points() -> None:
    drawn = charts.lines(
        {"a<b": [(START, 1.0), (START + 10, 4.0)], "c": [(START, 2.0), (START + 10, 0.0)]}, "rows", count_text
    )
    assert drawn.count("<polyline") == 2
    assert "a&lt;b: 4 at 2026-11-16 12:00:10 UTC" in drawn
    assert ">rows</text>" in drawn
    assert ">12:00:10</text>" in drawn
    assert drawn.count("<i class=") == 2


def test_a_single_point_is_drawn_too() -> None:
    drawn = charts.lines({"a": [(START, 3.0)]}, "rows", count_text)
    assert drawn.count("<circle") == 1
    assert "nan" not in drawn


def test_a_higher_value_stands_higher_by_powers_of_ten() -> None:
    points = [(START + n, 10.0**n) for n in range(4)]
    drawn = charts.lines({"a": points}, "time", duration_text, logarithmic=True)
    heights = [float(y) for y in re.findall(r'<circle[^>]*cy="([\d.]+)"', drawn)]
    steps = [above - below for below, above in zip(heights[1:], heights, strict=False)]
    assert all(abs(step - steps[0]) < 0.2 for step in steps)
    assert steps[0] > 0


def test_stacks_stand_upon_each_other() -> None:
    drawn = charts.stacks({"a": [(START, 2.0), (START + 1, 0.0)], "b": [(START, 1.0)]}, 1.0, "letters", count_text)
    below, above = rectangles(drawn)
    assert abs(above["y"] + above["height"] - below["y"]) < 0.2
    assert abs(below["height"] - 2 * above["height"]) < 0.2


def test_spreads_reach_from_the_median_to_the_largest() -> None:
    drawn = charts.spreads(
        [Spread("orders, hold", 1, 0.01, 0.1, 0.5, 1.0), Spread("zero", 0, 0, 0, 0, 0)], duration_text
    )
    assert "orders, hold: p50 10 ms, p95 100 ms, p99 500 ms, largest 1 s" in drawn
    assert rectangles(drawn)[0]["width"] > 100
    assert ">10 ms</text>" in drawn


def test_spans_follow_each_other() -> None:
    drawn = charts.spans(
        [("orders-0 @ 7", [Span("publish", 0, 1), Span("hold", 1, 5)])], ("publish", "hold"), duration_text
    )
    first, second = rectangles(drawn)
    assert abs(first["x"] + first["width"] - second["x"]) < 0.2
    assert abs(second["width"] - 4 * first["width"]) < 0.5
    assert "orders-0 @ 7, hold: 4 s" in drawn


def test_heat_is_stronger_for_more() -> None:
    drawn = charts.heat(
        {"0": [(START, 1.0), (START + 1, 10.0)], "1": [(START, 0.0), (START + 1, 5.0)]}, 1.0, count_text
    )
    assert re.findall(r'fill-opacity="([\d.]+)"', drawn) == ["0.15", "1.00", "0.06", "0.53"]
    assert "1: 5 at 2026-11-16 12:00:01 UTC" in drawn
