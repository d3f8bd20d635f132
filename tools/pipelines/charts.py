"""Charts as SVG inside HTML: they need no script and no network, follow light and dark, and tell figures on hover.

Colours are those of the page's style (`--c0` and on), so that a series has the same one in light and in dark.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from tools.pipelines.scales import Format, linear_marks, logarithmic_marks, time_marks, time_text

WIDE, HALF = 1060, 520
COLOURS = 8
DOTS = 100
"""A line of more points has no dots, which would hide it."""

Points = Sequence[tuple[float, float]]
"""(epoch seconds, value)"""


@dataclass(frozen=True)
class Span:
    """A part of a bar: what it is, and from when to when, in seconds from the bar's beginning."""

    name: str
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Spread:
    """How values of one kind are spread: half of them are below `middle`, 95 of 100 below `most`, and so on."""

    label: str
    colour: int
    middle: float
    most: float
    nearly_all: float
    largest: float


@dataclass(frozen=True)
class _Plane:
    """Where values are drawn."""

    width: int
    height: int
    left: int
    top: int
    across: Callable[[float], float]
    down: Callable[[float], float]


def lines(
    series: Mapping[str, Points], axis: str, text: Format, *, logarithmic: bool = False, width: int = WIDE
) -> str:
    """Values over time, a line per series; `axis` says what is measured and in what."""
    values = [y for points in series.values() for _, y in points]
    times = [x for points in series.values() for x, _ in points]
    first, last = min(times), max(times)
    if first == last:
        first, last = first - 30, last + 30
    plane, marks = _plane(width, 260, (first, last), values, logarithmic=logarithmic)
    parts = _grid(plane, marks, text, (first, last), axis)
    for index, points in enumerate(series.values()):
        parts.append(_line(plane, sorted(points), index, alone=len(series) == 1))
    for index, (name, points) in enumerate(series.items()):
        parts += _dots(plane, points, index, lambda x, y, name=name: f"{name}: {text(y)} at {time_text(x)} UTC")  # type: ignore[misc]
    return _figure(plane, parts, axis, _legend(series))


def stacks(series: Mapping[str, Points], step_s: float, axis: str, text: Format) -> str:
    """What was counted per step of time, a column per step, the series upon each other."""
    heights: dict[float, float] = {}
    for points in series.values():
        for x, y in points:
            heights[x] = heights.get(x, 0.0) + y
    first, last = min(heights), max(heights) + step_s
    plane, marks = _plane(WIDE, 240, (first, last), list(heights.values()), whole=True)
    parts = _grid(plane, marks, text, (first, last), axis)
    wide = max(plane.across(first + step_s) - plane.across(first) - 1, 1)
    below = dict.fromkeys(heights, 0.0)
    for index, (name, points) in enumerate(series.items()):
        for x, y in points:
            if y:
                top, foot = plane.down(below[x] + y), plane.down(below[x])
                below[x] += y
                told = f"{name}: {text(y)} from {time_text(x)} UTC"
                parts.append(
                    f'<rect class="k{index % COLOURS}" x="{plane.across(x):.1f}" y="{top:.1f}" width="{wide:.1f}" '
                    f'height="{foot - top:.1f}"><title>{escape(told)}</title></rect>'
                )
    return _figure(plane, parts, axis, _legend(series))


def spreads(rows: Sequence[Spread], text: Format) -> str:
    """Where the values of each row lie, on one logarithmic axis: a bar from p50 to p95, a line to the largest."""
    known = [value for row in rows for value in (row.middle, row.largest) if value > 0] or [1e-3]
    marks = logarithmic_marks(max(min(known), max(known) / 1e7), max(known))
    low, high = math.log10(marks[0]), math.log10(marks[-1])
    left, right, row_height = 190, 24, 30
    height = 30 + row_height * len(rows) + 26

    def across(value: float) -> float:
        place = (math.log10(max(value, marks[0])) - low) / (high - low)
        return left + place * (WIDE - left - right)

    parts = _columns([(across(mark), text(mark)) for mark in marks], height)
    for number, row in enumerate(rows):
        y = 30 + row_height * number + row_height / 2
        told = f"{row.label}: p50 {text(row.middle)}, p95 {text(row.most)}, p99 {text(row.nearly_all)}, "
        begin, end = across(row.middle), across(row.most)
        parts.append(
            f'<g class="k{row.colour}"><title>{escape(told + f"largest {text(row.largest)}")}</title>'
            f'<text class="label" x="{left - 12}" y="{y + 4:.1f}" text-anchor="end">{escape(row.label)}</text>'
            f'<line class="thin" x1="{begin:.1f}" x2="{across(row.largest):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<rect x="{begin:.1f}" y="{y - 7:.1f}" width="{max(end - begin, 2):.1f}" height="14" rx="3"/>'
            f'<line class="tick" x1="{across(row.nearly_all):.1f}" x2="{across(row.nearly_all):.1f}" '
            f'y1="{y - 7:.1f}" y2="{y + 7:.1f}"/></g>'
        )
    note = '<p class="legend">bar: p50 to p95 &nbsp; upright mark: p99 &nbsp; line: up to the largest</p>'
    return f'<figure><svg viewBox="0 0 {WIDE} {height}" role="img">{"".join(parts)}</svg>{note}</figure>'


def spans(rows: Sequence[tuple[str, Sequence[Span]]], names: Sequence[str], text: Format) -> str:
    """A bar per row, of the spans that it consists of; `names` gives each kind of span its colour."""
    longest = max((each.end_s for _, parts in rows for each in parts), default=0.0)
    marks = linear_marks(longest, 6)
    left, right, row_height = 190, 24, 24
    height = 30 + row_height * len(rows) + 26

    def across(value: float) -> float:
        return left + value / marks[-1] * (WIDE - left - right)

    parts = _columns([(across(mark), text(mark)) for mark in marks], height)
    for number, (label, pieces) in enumerate(rows):
        y = 30 + row_height * number + row_height / 2
        parts.append(
            f'<text class="label" x="{left - 12}" y="{y + 4:.1f}" text-anchor="end">{escape(_cut(label, 27))}</text>'
        )
        for piece in pieces:
            begin, end = across(piece.begin_s), across(piece.end_s)
            told = f"{label}, {piece.name}: {text(piece.end_s - piece.begin_s)}"
            parts.append(
                f'<rect class="k{names.index(piece.name)}" x="{begin:.1f}" y="{y - 7:.1f}" '
                f'width="{max(end - begin, 1):.1f}" height="14" rx="2"><title>{escape(told)}</title></rect>'
            )
    figure = f'<svg viewBox="0 0 {WIDE} {height}" role="img">{"".join(parts)}</svg>'
    return f"<figure>{figure}{_legend(names)}</figure>"


def heat(rows: Mapping[str, Points], step_s: float, text: Format) -> str:
    """A row per name, a cell per step of time; the darker, the more of all."""
    times = [x for points in rows.values() for x, _ in points]
    first, last = min(times), max(times) + step_s
    largest = max((y for points in rows.values() for _, y in points), default=0.0) or 1.0
    left, right, row_height = 64, 12, max(8, min(24, 360 // max(1, len(rows))))
    height = 8 + row_height * len(rows) + 26

    def across(value: float) -> float:
        return left + (value - first) / (last - first) * (WIDE - left - right)

    wide = max(across(first + step_s) - across(first) - 1, 1)
    parts = []
    for number, (name, points) in enumerate(rows.items()):
        y = 8 + row_height * number
        if row_height >= 12 or number % 4 == 0:
            middle = y + row_height / 2 + 4
            parts.append(f'<text x="{left - 8}" y="{middle:.1f}" text-anchor="end">{escape(name)}</text>')
        parts += [
            f'<rect class="cell" x="{across(x):.1f}" y="{y}" width="{wide:.1f}" height="{row_height - 1}" '
            f'fill-opacity="{0.06 + 0.94 * value / largest:.2f}"><title>{escape(name)}: {escape(text(value))} '
            f"at {time_text(x)} UTC</title></rect>"
            for x, value in points
        ]
    parts += _times(across, (first, last), height - 8, left + 20, WIDE - right)
    return f'<figure><svg viewBox="0 0 {WIDE} {height}" role="img">{"".join(parts)}</svg></figure>'


def _plane(
    width: int,
    height: int,
    times: tuple[float, float],
    values: Sequence[float],
    *,
    logarithmic: bool = False,
    whole: bool = False,
) -> tuple[_Plane, list[float]]:
    left, right, top, bottom = 64, 16, 26, 28
    first, last = times
    if logarithmic:
        positive = [value for value in values if value > 0] or [1.0]
        marks = logarithmic_marks(min(positive), max(positive))
    else:
        marks = linear_marks(max(values, default=0.0), 4, whole=whole)

    def across(value: float) -> float:
        return left + (value - first) / (last - first) * (width - left - right)

    def share(value: float) -> float:
        if not logarithmic:
            return value / marks[-1]
        low, high = math.log10(marks[0]), math.log10(marks[-1])
        return (math.log10(max(value, marks[0])) - low) / (high - low)

    def down(value: float) -> float:
        return height - bottom - share(value) * (height - top - bottom)

    return _Plane(width, height, left, top, across, down), marks


def _grid(plane: _Plane, marks: Sequence[float], text: Format, times: tuple[float, float], axis: str) -> list[str]:
    parts = [f'<text class="axis" x="0" y="12">{escape(axis)}</text>']
    for mark in marks:
        y = plane.down(mark)
        parts.append(f'<line class="grid" x1="{plane.left}" x2="{plane.width - 16}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{plane.left - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(text(mark))}</text>')
    return parts + _times(plane.across, times, plane.height - 8, plane.left, plane.width - 16)


def _times(
    across: Callable[[float], float], times: tuple[float, float], y: float, left: float, right: float
) -> list[str]:
    """Labels of the time axis, as many as have room, none of them over an edge."""
    marks = time_marks(*times, most=max(2, int((right - left) / 120)))
    if not marks:
        marks = [((times[0] + times[1]) / 2, time_text((times[0] + times[1]) / 2)[11:])]
    placed = [(min(max(across(at), left + 16), right - 24), label) for at, label in marks]
    return [f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{label}</text>' for x, label in placed]


def _columns(marks: Sequence[tuple[float, str]], height: int) -> list[str]:
    """Upright lines of a grid with their labels below."""
    return [
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="22" y2="{height - 24}"/>'
        f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{escape(label)}</text>'
        for x, label in marks
    ]


def _line(plane: _Plane, points: Points, index: int, *, alone: bool) -> str:
    drawn = " ".join(f"{plane.across(x):.1f},{plane.down(y):.1f}" for x, y in points)
    area = ""
    if alone and len(points) > 1:
        floor = plane.height - 28
        ends = f"{plane.across(points[-1][0]):.1f},{floor} {plane.across(points[0][0]):.1f},{floor}"
        area = f'<polygon class="area k{index % COLOURS}" points="{drawn} {ends}"/>'
    return f'{area}<polyline class="line k{index % COLOURS}" points="{drawn}"/>'


def _dots(plane: _Plane, points: Points, index: int, told: Callable[[float, float], str]) -> list[str]:
    if len(points) > DOTS:
        return []
    radius = 3.5 if len(points) == 1 else 2.5
    return [
        f'<circle class="k{index % COLOURS}" cx="{plane.across(x):.1f}" cy="{plane.down(y):.1f}" r="{radius}">'
        f"<title>{escape(told(x, y))}</title></circle>"
        for x, y in points
    ]


def _figure(plane: _Plane, parts: Sequence[str], axis: str, legend: str) -> str:
    head = f'<svg viewBox="0 0 {plane.width} {plane.height}" role="img" aria-label="{escape(axis)}">'
    return f"<figure>{head}{''.join(parts)}</svg>{legend}</figure>"


def _legend(names: Sequence[str] | Mapping[str, Points]) -> str:
    if len(names) == 1 and isinstance(names, Mapping):
        return f'<p class="legend">{escape(next(iter(names)))}</p>'
    keys = (f'<span><i class="k{index % COLOURS}"></i>{escape(name)}</span>' for index, name in enumerate(names))
    return f'<p class="legend">{"".join(keys)}</p>'


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
