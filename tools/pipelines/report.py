"""Reports that a person looks at: one HTML file with figures, charts and tables, which needs nothing else and loads
nothing. Light or dark is as the reader's machine has it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from tools.pipelines import charts
from tools.pipelines.charts import Points, Span, Spread
from tools.pipelines.scales import Format, count_text, time_text

_LIGHT = ("#2563c9", "#c96a12", "#1f8a5b", "#a8327d", "#6551cc", "#7a828c", "#c23030", "#0c7f8c")
_DARK = ("#6ea3ff", "#f0a04b", "#4fc28d", "#e37bbd", "#a595ff", "#a7b0bc", "#ff7b72", "#4cc3d1")


def _palette(colours: Sequence[str]) -> str:
    return " ".join(f"--c{number}: {colour};" for number, colour in enumerate(colours))


STYLE = f"""
:root {{ color-scheme: light dark; --ink: #1c2127; --soft: #5b6675; --line: #dde1e6; --back: #ffffff; --card: #f6f8fa;
  {_palette(_LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e8eb; --soft: #9aa5b3; --line: #323b47; --back: #14181d;
  --card: #1c222a; {_palette(_DARK)} }} }}
{" ".join(f".k{number} {{ --c: var(--c{number}); }}" for number in range(charts.COLOURS))}
* {{ box-sizing: border-box; }}
body {{ font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; color: var(--ink); background: var(--back);
  max-width: 70rem; margin: 2.5rem auto; padding: 0 1.25rem; }}
h1 {{ font-size: 1.6rem; line-height: 1.2; margin: 0; }}
h2 {{ font-size: 1.15rem; margin: 2.6rem 0 .2rem; }} h3 {{ font-size: .95rem; margin: 1rem 0 .2rem; }}
p {{ color: var(--soft); margin: .2rem 0 .7rem; }}
.cards {{ display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.3rem 0 0; }}
.cards div {{ background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .6rem 1rem;
  flex: 1 1 9rem; }}
.cards b {{ display: block; font-size: 1.35rem; font-weight: 600; line-height: 1.35; white-space: nowrap;
  overflow: hidden; text-overflow: ellipsis; font-variant-numeric: tabular-nums; }}
.cards span {{ color: var(--soft); font-size: .85rem; display: block; }}
.empty {{ border: 1px dashed var(--line); border-radius: 8px; padding: 1rem 1.2rem; color: var(--soft); }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .92rem; }}
th {{ text-align: left; color: var(--soft); font-weight: 500; white-space: nowrap; }}
th, td {{ padding: .3rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }}
td.number, th.number {{ text-align: right; white-space: nowrap; }}
td.code {{ font: .82rem/1.7 ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }}
td.bar {{ background: linear-gradient(90deg, color-mix(in srgb, var(--c0) 22%, transparent) var(--share),
  transparent 0); background-size: 100% 78%; background-repeat: no-repeat; background-position: 0 50%; }}
.scroll {{ overflow-x: auto; margin-top: .6rem; }}
.pair {{ display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.25rem; }}
@media (max-width: 50rem) {{ .pair {{ grid-template-columns: 1fr; }} }}
figure {{ margin: .3rem 0 0; }} svg {{ width: 100%; height: auto; display: block; }}
svg text {{ fill: var(--soft); font-size: 12px; }} svg text.label {{ fill: var(--ink); }}
svg .grid {{ stroke: var(--line); }} svg .line {{ fill: none; stroke: var(--c); stroke-width: 2; }}
svg .area {{ fill: var(--c); opacity: .12; }} svg circle, svg rect {{ fill: var(--c); }}
svg rect.cell {{ fill: var(--c0); }} svg .thin {{ stroke: var(--c); stroke-width: 1.5; opacity: .6; }}
svg .tick {{ stroke: var(--c); stroke-width: 2.5; }}
.legend {{ font-size: .87rem; margin: .2rem 0 0; }} .legend span {{ display: inline-block; margin-right: 1.1rem; }}
.legend i {{ display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; background: var(--c);
  margin-right: .4rem; vertical-align: -1px; }}
footer {{ margin-top: 3rem; color: var(--soft); font-size: .85rem; border-top: 1px solid var(--line);
  padding-top: .6rem; }}
"""

Cell = str | int | float | None


@dataclass(frozen=True)
class Column:
    """A column of a table. With `text` it holds numbers, with `bar` they are underlaid with their share of the largest;
    `code` is for what is copied."""

    title: str
    text: Format | None = None
    bar: bool = False
    code: bool = False


@dataclass
class Report:
    """Sections are added in order; `html` is the whole file."""

    title: str
    subtitle: str = ""
    written_s: float = field(default_factory=time.time)
    _parts: list[str] = field(default_factory=list)

    def figures(self, *told: tuple[str, str, str]) -> None:
        """The few numbers that matter most: what it is, the number, a word on it."""
        cards = "".join(
            f"<div><span>{escape(name)}</span><b>{escape(value)}</b><span>{escape(note)}</span></div>"
            for name, value, note in told
        )
        self._parts.append(f'<div class="cards">{cards}</div>')

    def heading(self, text: str, note: str = "") -> None:
        self._parts.append(f"<h2>{escape(text)}</h2>" + (f"<p>{escape(note)}</p>" if note else ""))

    def nothing(self, text: str) -> None:
        """Where there is nothing to see: why, and what would change that."""
        self._parts.append(f'<p class="empty">{escape(text)}</p>')

    def lines(self, series: Mapping[str, Points], axis: str, text: Format = count_text) -> None:
        """A chart over time."""
        self._parts.append(charts.lines(series, axis, text))

    def stacks(self, series: Mapping[str, Points], step_s: float, axis: str) -> None:
        """Counts per step of time, upon each other."""
        self._parts.append(charts.stacks(series, step_s, axis, count_text))

    def pair(self, drawn: Sequence[tuple[str, Mapping[str, Points]]], axis: str, text: Format) -> None:
        """Charts side by side, each with a title; logarithmic."""
        each = (
            f"<div><h3>{escape(title)}</h3>"
            f"{charts.lines(series, axis, text, logarithmic=True, width=charts.HALF)}</div>"
            for title, series in drawn
        )
        self._parts.append(f'<div class="pair">{"".join(each)}</div>')

    def spreads(self, rows: Sequence[Spread], text: Format) -> None:
        self._parts.append(charts.spreads(rows, text))

    def spans(self, rows: Sequence[tuple[str, Sequence[Span]]], names: Sequence[str], text: Format) -> None:
        self._parts.append(charts.spans(rows, names, text))

    def heat(self, rows: Mapping[str, Points], step_s: float, text: Format = count_text) -> None:
        self._parts.append(charts.heat(rows, step_s, text))

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
        head = "".join(
            f'<th class="number">{escape(each.title)}</th>' if each.text else f"<th>{escape(each.title)}</th>"
            for each in columns
        )
        largest = [_largest(rows, place) if each.bar else 0.0 for place, each in enumerate(columns)]
        body = "".join(
            "<tr>" + "".join(_cell(*each) for each in zip(columns, row, largest, strict=True)) + "</tr>\n"
            for row in rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>"
        self._parts.append(f'<div class="scroll">{table}</div>')

    def html(self) -> str:
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(self.title)}</title>\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<style>{STYLE}</style></head><body>\n<h1>{escape(self.title)}</h1><p>{escape(self.subtitle)}</p>\n"
            + "\n".join(self._parts)
            + f"\n<footer>Written {time_text(self.written_s)} UTC by a Tidegate pipeline. All times are UTC."
            "</footer></body></html>\n"
        )


def _largest(rows: Sequence[Sequence[Cell]], place: int) -> float:
    return max((float(row[place] or 0) for row in rows), default=0.0)


def _cell(column: Column, cell: Cell, largest: float) -> str:
    classes = [
        name for name, has in (("number", column.text), ("code", column.code), ("bar", column.bar and largest)) if has
    ]
    style = f' style="--share: {100 * float(cell or 0) / largest:.1f}%"' if "bar" in classes else ""
    if cell is None:
        shown = ""
    else:
        shown = column.text(float(cell)) if column.text else str(cell)
    marked = f' class="{" ".join(classes)}"' if classes else ""
    return f"<td{marked}{style}>{escape(shown)}</td>"
