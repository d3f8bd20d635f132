"""Reports that a person looks at: one HTML file with charts and tables, which needs nothing else and loads nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 240, 64, 12, 12, 26
COLOURS = ("#2a6fdb", "#d9822b", "#2b9a66", "#b83280", "#6b5bd2", "#8a8d91", "#c23030", "#00838f")
STYLE = """
:root { color-scheme: light dark; --bar: #2a6fdb33;
  --ink: #1c2127; --soft: #5f6b7c; --line: #d3d8de; --back: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #99a3b0; --line: #39424e; --back: #171b21; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
p { color: var(--soft); margin: .2rem 0 .6rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--soft); font-weight: 500; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); } td.number, th.number { text-align: right; }
td.bar { background: linear-gradient(90deg, var(--bar) var(--share), transparent 0); }
svg { width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; } .grid { stroke: var(--line); }
.legend span { display: inline-block; margin-right: 1rem; }
.legend i { display: inline-block; width: .8rem; height: .2rem;
  margin-right: .35rem; vertical-align: middle; }
.scroll { overflow-x: auto; }
"""

Points = Sequence[tuple[float, float]]
Cell = str | int | float | None


@dataclass
class Report:
    """Sections are added in order; `html` is the whole file."""

    title: str
    subtitle: str = ""
    _parts: list[str] = field(default_factory=list)

    def heading(self, text: str, note: str = "") -> None:
        self._parts.append(f"<h2>{escape(text)}</h2>" + (f"<p>{escape(note)}</p>" if note else ""))

    def lines(self, series: Mapping[str, Points], unit: str = "") -> None:
        """A chart over time: x in epoch seconds, y from zero."""
        drawn = {name: points for name, points in series.items() if points}
        self._parts.append(_chart(drawn, unit) if drawn else "<p>Nothing to draw.</p>")

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[Cell]], bar: int | None = None) -> None:
        """A table; the cells of column `bar` are underlaid with their share of the largest."""
        self._parts.append(_table(headers, rows, bar) if rows else "<p>None.</p>")

    def html(self) -> str:
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(self.title)}</title>\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<style>{STYLE}</style></head><body>\n<h1>{escape(self.title)}</h1><p>{escape(self.subtitle)}</p>\n"
            + "\n".join(self._parts)
            + "\n</body></html>\n"
        )


def _table(headers: Sequence[str], rows: Sequence[Sequence[Cell]], bar: int | None) -> str:
    numeric = [all(isinstance(row[place], int | float | None) for row in rows) for place in range(len(headers))]
    largest = max((float(row[bar] or 0) for row in rows), default=0.0) if bar is not None else 0.0
    head = "".join(
        f'<th class="number">{escape(name)}</th>' if number else f"<th>{escape(name)}</th>"
        for name, number in zip(headers, numeric, strict=True)
    )
    body = ""
    for row in rows:
        cells = ""
        for place, cell in enumerate(row):
            classes = ["number"] if numeric[place] else []
            style = ""
            if place == bar and largest:
                classes.append("bar")
                style = f' style="--share: {100 * float(cell or 0) / largest:.1f}%"'
            cells += f'<td class="{" ".join(classes)}"{style}>{escape(_text(cell))}</td>'
        body += f"<tr>{cells}</tr>\n"
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:,.1f}" if abs(cell) < 1000 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def _chart(series: Mapping[str, Points], unit: str) -> str:
    times = [x for points in series.values() for x, _ in points]
    first, last = min(times), max(times)
    top = nice_top(max(y for points in series.values() for _, y in points))
    inner = WIDTH - LEFT - RIGHT

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - first) / (last - first) if last > first else 0.5
        return LEFT + across * inner, HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    parts = []
    for step in range(5):
        value = top * step / 4
        _, y = place(first, value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_short(value)} {escape(unit)}</text>')
    for x, anchor in ((first, "start"), ((first + last) / 2, "middle"), (last, "end")):
        at, _ = place(x, 0)
        label = datetime.fromtimestamp(x, UTC).strftime("%Y-%m-%d %H:%M")
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{label}</text>')
    legend = ""
    for index, (name, points) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        places = [place(x, y) for x, y in sorted(points)]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        if len(places) < 60:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>' for x, y in places]
        legend += f'<span><i style="background:{colour}"></i>{escape(name)}</span>'
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg><p class="legend">{legend}</p>'


def nice_top(value: float) -> float:
    """A round number at or above the value, so that the grid has round labels."""
    if value <= 0:
        return 1.0
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(power * step for step in (1, 2, 4, 5, 8, 10, 20) if power * step >= value)


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
