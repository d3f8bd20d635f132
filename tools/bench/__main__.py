"""Measures Tidegate and Kafka side by side and prints the table: `make bench`, or `python -m tools.bench --help`.

After a run of all rows on all brokers docs/benchmarks.md, its plot and build/bench/benchmarks.md (every figure) are
written; `--page` does it after any other.
"""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tools.bench import page
from tools.bench.brokers import SUBJECTS, TIDEGATE_BEFORE, earlier_subject
from tools.bench.clients import LoadFailed, native
from tools.bench.machine import describe
from tools.bench.results import Results, ResultsUnreadable
from tools.bench.rows import BY_NAME, NATIVE, ROWS
from tools.bench.runner import Plan, run
from tools.bench.summary import before_table, text_table

QUICK = 0.01


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a measurement failed."""
    options = _parser().parse_args(arguments)
    if options.list:
        print("\n".join(f"{row.name:<24} {row.section}: {row.title} ({row.client})" for row in ROWS))
        return 0
    if not 0 < options.scale <= 1:
        sys.exit(f"error: --scale {options.scale:g} is not over 0 and up to 1")
    rows = tuple(BY_NAME[name] for name in options.rows)
    brokers = list(options.brokers)
    if options.before is not None:
        SUBJECTS[TIDEGATE_BEFORE] = partial(earlier_subject, options.before.resolve())
        brokers.insert(0, TIDEGATE_BEFORE)
    plan = Plan(rows, brokers, options.rounds, options.scale)
    results = _results(options.json, options.scale)
    if any(row.client == NATIVE for row in rows):
        _build()
    # So that a broker under test does not outlive a run that is ended from outside.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM; what was measured is saved"))
    failed = run(plan, results, lambda line: print(line, flush=True))
    print(text_table(results, rows))
    if options.before is not None:
        print(before_table(results, rows))
    print(f"every figure is in {results.path}")
    if options.page or (rows == ROWS and set(options.brokers) == set(SUBJECTS) and options.scale == 1):
        page.write(results)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each broker is measured (default: 3)")
    parser.add_argument("--rows", nargs="+", choices=BY_NAME, default=list(BY_NAME), metavar="ROW", help="see --list")
    parser.add_argument("--brokers", nargs="+", choices=SUBJECTS, default=list(SUBJECTS), metavar="BROKER")
    parser.add_argument("--before", type=Path, metavar="DIR", help="measure Tidegate of another checkout beside it")
    parser.add_argument("--scale", type=float, default=1.0, help="of all sizes, over 0 and up to 1 (default: 1)")
    parser.add_argument(
        "--quick", action="store_const", const=QUICK, dest="scale", help=f"--scale {QUICK}: a smoke test"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="results; what it holds already is not repeated")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks.md also if only a part was run")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    return parser


def _results(path: Path | None, scale: float) -> Results:
    """Those of a file to go on with, or new ones."""
    path = path or page.DETAILS / time.strftime("%Y-%m-%d-%H%M%S.json")
    if not path.exists():
        return Results(describe(), scale, path=path)
    try:
        results = Results.load(path)
    except ResultsUnreadable as error:
        sys.exit(f"error: {error}")
    if results.scale != scale:
        sys.exit(f"error: {path} holds figures of scale {results.scale:g}, not {scale:g}: name another file")
    return results


def _build() -> None:
    try:
        native.build()
    except LoadFailed as error:
        print(f"rows of the native client will fail: {error}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
