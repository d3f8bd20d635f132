"""Makes docs/benchmarks.md and its plot, and a page of every figure: `python -m tools.bench.page RESULTS.json`.

What goes into docs/ is the summary: how to run it, the ratios, the machine. Every figure of every row, with its goal
and what the profile says (notes.toml, by hand), goes to build/bench/benchmarks.md, beside the results.
"""

import argparse
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.bench.brokers import KAFKA, TIDEGATE, TIDEGATE_OS
from tools.bench.figures import kind_of
from tools.bench.plot import draw
from tools.bench.results import Results, ResultsUnreadable
from tools.bench.rows import BY_NAME, ROWS, Row
from tools.bench.summary import OURS, Line, bound_by, lines, tally

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTES = Path(__file__).resolve().parent / "notes.toml"
DETAILS = Path("build/bench")
PAGE, PLOT = "benchmarks.md", "benchmarks.svg"
TITLES = {TIDEGATE: "Tidegate", TIDEGATE_OS: "`flush.mode=os`", KAFKA: "Kafka"}
OVERVIEW = ("records_per_s", "cpu_s_per_1000", "p99_ms", "memory_mb")
INTRODUCTION = """\
# Benchmarks

<!-- Written by `python -m tools.bench.page`. -->

Tidegate and Apache Kafka on the same machine, in turn, each measurement on a freshly started and warmed-up broker with
an empty directory, the same client and the same load. `make bench` runs all of it, prints the table and writes the
summary to docs/benchmarks.md and every figure to build/bench/benchmarks.md;
`make bench BENCH_ARGS="--rows unbatched-java --rounds 1"` runs a part.

Figures are medians over the rounds; a ratio is Tidegate / Kafka. A measurement during which the host took over a
tenth of a core away is made again, at most twice; the least disturbed counts. Kafka does not sync before it
acknowledges; Tidegate does by default (*sync*), and does not with `log.flush.mode=os` (*os*). ✓ and ✗ say whether a
ratio keeps to its goal.
Clients: *Java* is Kafka's own tool (ProducerPerformance, ConsumerPerformance, EndToEndLatency), *native* the load
generator of `tools/bench/native`: requests encoded beforehand and answers that are only counted, or franz-go where a
client's own behaviour matters. A Java client's CPU includes the start of its virtual machine.
"""


def load_notes(path: Path = NOTES) -> dict[str, str]:
    """By row, what holds it back; a name that is no row is an error."""
    notes: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8"))
    if unknown := sorted(set(notes) - set(BY_NAME)):
        raise SystemExit(f"{path.name} has notes on rows that do not exist: {', '.join(unknown)}")
    return {name: note.strip() for name, note in notes.items()}


def summary(results: Results) -> str:
    """The page for docs/: how to run it, the ratios, the machine."""
    parts = [INTRODUCTION]
    if not results.measurements:
        return f"{INTRODUCTION}\n**Nothing has been measured since the rows were last changed: run `make bench`.**\n"
    if results.scale < 1:
        parts.append(
            f"**Sizes were {results.scale:g} of those named: these figures show that it runs, nothing else.**\n"
        )
    met, judged = tally(results, ROWS)
    parts.append(f"{results.rounds()}, {met} of {judged} goals met.\n\n![The ratios]({PLOT})\n")
    parts += _overview(results)
    parts.append("\n## The machine\n\n| | |\n|---|---|")
    parts += [f"| {name} | {value} |" for name, value in results.machine.items()]
    return "\n".join(parts) + "\n"


def details(results: Results, notes: dict[str, str]) -> str:
    """Every figure of every row, with its goal and what holds it back."""
    parts = [
        "# Benchmarks: every figure\n",
        '"Limit" names the core that was full, with the cores that broker and client used.',
    ]
    sections = dict.fromkeys(row.section for row in ROWS)
    for section in sections:
        found = [text for row in ROWS if row.section == section for text in _row(results, row, notes)]
        if found:
            parts += [f"\n## {section}", *found]
    return "\n".join(parts) + "\n"


def _overview(results: Results) -> Iterator[str]:
    """The figures that nearly every row has, as ratios: sync / os."""
    yield "## Ratios at a glance\n"
    yield "Tidegate / Kafka, with sync and with `flush.mode=os`; ✗ is short of the goal.\n"
    yield f"| row | client | {' | '.join(kind_of(figure).title for figure in OVERVIEW)} | goals met |"
    yield f"|---|---|{'---:|' * (len(OVERVIEW) + 1)}"
    for row in ROWS:
        found = {line.figure: line for line in lines(results, row)}
        cells = [_pair(found[figure]) if figure in found else "" for figure in OVERVIEW]
        met, judged = tally(results, (row,))
        if judged:
            shown = f"{met} of {judged} {'✓' if met == judged else '✗'}"
            yield f"| {row.name} | {row.client} | {' | '.join(cells)} | {shown} |"


def _pair(line: Line) -> str:
    shown = []
    for broker in OURS:
        ratio, met = line.ratio(broker), line.met(broker)
        if ratio is not None:
            shown.append(f"{ratio:.2f}{' ✗' if met is False else ''}")
    return " / ".join(shown)


def _row(results: Results, row: Row, notes: dict[str, str]) -> Iterator[str]:
    found = list(lines(results, row))
    errors = results.errors(row.name)
    if not found and not errors:
        return
    client = "" if row.client == "none" else f" ({row.client} client)"
    yield f"\n### {row.name}\n\n{row.title[0].upper()}{row.title[1:]}{client}.\n"
    brokers = [name for name in row.brokers if any(name in line.medians for line in found)]
    ours = [name for name in brokers if name in OURS and KAFKA in brokers]
    if found:
        heads = [TITLES[name] for name in brokers] + [
            head for name in ours for head in (f"ratio {'os' if name == TIDEGATE_OS else 'sync'}", "goal")
        ]
        yield f"| | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}"
        for line in found:
            yield _line(line, brokers, ours)
    yield from _below(results, row, brokers, errors)
    missed = any(
        line.met(name) is False or (line.absolute(name) or ("", True))[1] is False for line in found for name in OURS
    )
    if missed or row.name in notes:
        yield f"\nHeld back by: {notes.get(row.name, 'not looked into yet.')}"


def _below(results: Results, row: Row, brokers: Sequence[str], errors: dict[str, str]) -> Iterator[str]:
    limits = [f"{TITLES[name]}: {limit}" for name in brokers if (limit := bound_by(results, row, name))]
    if limits:
        yield f"\nLimit: {'; '.join(limits)}."
    for broker, error in errors.items():
        yield f"\n{TITLES[broker]} failed: `{error.splitlines()[0] if error else ''}`"


def _line(line: Line, brokers: Sequence[str], ours: Sequence[str]) -> str:
    cells = [_value(line, name) for name in brokers]
    for name in ours:
        ratio, met = line.ratio(name), line.met(name)
        mark = "" if met is None else " ✓" if met else " ✗"
        cells += [f"{ratio:.2f}{mark}" if ratio is not None else "", line.goal(name)]
    return f"| {line.title} | {' | '.join(cells)} |"


def _value(line: Line, broker: str) -> str:
    if broker not in line.medians:
        return ""
    shown = f"{line.medians[broker]:,.{kind_of(line.figure).digits}f}"
    absolute = line.absolute(broker) if broker in OURS else None
    return f"{shown} (goal {absolute[0]} {'✓' if absolute[1] else '✗'})" if absolute else shown


def write(results: Results, docs: Path = DOCS, beside: Path = DETAILS) -> None:
    """The summary and its plot into one folder, every figure into another."""
    docs.joinpath(PAGE).write_text(summary(results), encoding="utf-8")
    docs.joinpath(PLOT).write_text(draw(results, ROWS), encoding="utf-8")
    beside.mkdir(parents=True, exist_ok=True)
    beside.joinpath(PAGE).write_text(details(results, load_notes()), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Read results, write the pages."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.page", description=__doc__)
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    parser.add_argument("--docs", type=Path, default=DOCS, metavar="DIR", help="where the summary goes (default: docs)")
    parser.add_argument(
        "--details", type=Path, default=DETAILS, metavar="DIR", help=f"where every figure goes (default: {DETAILS})"
    )
    options = parser.parse_args(arguments)
    try:
        write(Results.load(options.results), options.docs, options.details)
    except (FileNotFoundError, ResultsUnreadable) as error:
        sys.exit(f"error: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
