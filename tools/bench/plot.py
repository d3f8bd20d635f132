"""Draws the ratios as SVG: a dot per row and way of running, on a logarithmic axis, with the goal as a tick.

Nothing but text is needed for that, so there is no plotting library. The picture is kept in the repository, so it is
kept small: what looks the same is one path.
"""

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from tools.bench.brokers import TIDEGATE, TIDEGATE_OS
from tools.bench.figures import kind_of
from tools.bench.results import Results
from tools.bench.rows import Row
from tools.bench.summary import OURS, Line, lines

# Drawn one below the other: those that nearly every row has.
PANELS = ("records_per_s", "cpu_s_per_1000", "p99_ms", "memory_mb")
LEAST, MOST = 0.05, 5.0
LEFT, WIDTH, LINE, HEAD = 220, 560, 16, 44
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5)
COLOURS = {TIDEGATE: "#0b6fa4", TIDEGATE_OS: "#e08a1e"}
NAMES = {TIDEGATE: "sync (default)", TIDEGATE_OS: "flush.mode=os"}


def draw(results: Results, rows: Sequence[Row]) -> str:
    """The whole picture; a row that was not measured on Kafka too is left out."""
    body: list[str] = []
    y = HEAD
    for figure in PANELS:
        found = [line for row in rows for line in lines(results, row) if line.figure == figure]
        found = [line for line in found if any(line.ratio(broker) is not None for broker in OURS)]
        if found:
            body += _panel(figure, found, y)
            y += (len(found) + 4) * LINE
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 40}" height="{y}" '
        'font-family="sans-serif" font-size="11">'
    )
    return "\n".join([opening, '<rect width="100%" height="100%" fill="white"/>', *_legend(), *body, "</svg>", ""])


def _x(ratio: float) -> float:
    within = min(max(ratio, LEAST), MOST)
    return LEFT + WIDTH * math.log(within / LEAST) / math.log(MOST / LEAST)


def _legend() -> list[str]:
    shown = ['<text x="10" y="18" font-size="14" font-weight="bold">Tidegate / Kafka</text>']
    for number, (broker, colour) in enumerate(COLOURS.items()):
        x = LEFT + number * 140
        shown.append(f'<circle cx="{x}" cy="14" r="4" fill="{colour}"/><text x="{x + 8}" y="18">{NAMES[broker]}</text>')
    x = LEFT + len(COLOURS) * 140
    return [*shown, f'<path d="M{x} 8v12" stroke="#c22" stroke-width="2"/><text x="{x + 8}" y="18">goal</text>']


def _panel(figure: str, found: Sequence[Line], y: float) -> list[str]:
    """The figure's rows: names, then all goals as one path and all dots of a colour as another."""
    kind = kind_of(figure)
    better = "more is better" if kind.more_is_better else "less is better"
    bottom = y + (len(found) + 1) * LINE
    shown = [f'<text x="10" y="{y}" font-weight="bold">{escape(kind.title)} ({better})</text>']
    for tick in TICKS:
        colour = "#888" if tick == 1 else "#ddd"
        shown.append(f'<path d="M{_x(tick):.0f} {y + 6}V{bottom}" stroke="{colour}"/>')
        shown.append(f'<text x="{_x(tick):.0f}" y="{bottom + 12}" text-anchor="middle" fill="#666">{tick:g}</text>')
    heights = {line.row.name: y + number * LINE for number, line in enumerate(found, 1)}
    names = [f'<text x="{LEFT - 12}" y="{height + 4}">{escape(name)}</text>' for name, height in heights.items()]
    goals: dict[str, None] = {}
    dots: dict[str, list[str]] = {broker: [] for broker in OURS}
    for line in found:
        height, goal = heights[line.row.name], line.row.goal(line.figure)
        for broker in OURS:
            ratio = line.ratio(broker)
            if ratio is not None:
                dots[broker].append(f"M{_x(ratio):.0f} {height}h0")
                if goal is not None:
                    goals[f"M{_x(goal.bound(broker)):.0f} {height - 5}v10"] = None
    shown += ['<g text-anchor="end">', *names, "</g>"]
    shown.append(f'<path d="{"".join(goals)}" stroke="#c22" stroke-width="2"/>')
    for broker, places in dots.items():
        shown.append(
            f'<path d="{"".join(places)}" stroke="{COLOURS[broker]}" stroke-width="8" stroke-linecap="round"/>'
        )
    return shown
