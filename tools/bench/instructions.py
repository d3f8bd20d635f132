"""The guard of the hot path: what a request costs in a fixed load, against what was recorded.

    python -m tools.bench.instructions            # count, and compare with the record
    python -m tools.bench.instructions --record   # count, and let this be the record
    python -m tools.bench.instructions --rules    # count with and without an authorizer and a thousand rules

Instructions are counted with callgrind, which noise does not touch; where there is no Valgrind, CPU time is taken. Both
are compared as multiples of a calibration loop's, so that another build of Python or another machine does not matter;
the record is kept per version of Python in instructions.json. After a change that is meant to cost or save that much,
record anew and commit the file.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.bench import callgrind
from tools.bench.replay import CALIBRATION, LENGTH, PIECES, RULED, RULES, loads

RECORD = Path(__file__).resolve().parent / "instructions.json"
ROOT = Path(__file__).resolve().parents[2]
COUNTED, TIMED = "instructions", "cpu_us"
# Instructions hardly vary; CPU time on a busy machine does, and then only a gross loss can be seen.
TOLERANCES = {COUNTED: 0.15, TIMED: 0.5}
PATIENCE_S = 300.0

Costs = dict[str, float]


PLAIN = (sys.executable, "-m", "tools.bench.replay", "counted")
MOST_FOR_RULES = 0.02
"""What asking for rights may add to a produce."""


def rules_add(without: Costs) -> Costs:
    """What an authorizer with a thousand rules adds to each load, as a share of what it costs without."""
    return changes(count((*PLAIN, RULED)), without)


def count(program: Sequence[str] = PLAIN) -> Costs:
    """Instructions per request, by load, and per round of the calibration loop."""
    with tempfile.TemporaryDirectory(prefix="tidegate-callgrind-") as directory:
        out = Path(directory) / "counts"
        _run(callgrind.command(out, program))
        counts = callgrind.counts(out)
    names = [CALIBRATION, *(load.name for load in loads())]
    # A piece begins with the dump that ends what came before it.
    every = PIECES + 1
    if len(counts) < every * len(names):
        raise RuntimeError(f"callgrind wrote {len(counts)} counts instead of {every * len(names)}")
    return {
        name: statistics.median(counts[every * place + 1 : every * (place + 1)]) / LENGTH
        for place, name in enumerate(names)
    }


def clock() -> Costs:
    """The same in microseconds of CPU time."""
    spent = json.loads(_run([sys.executable, "-m", "tools.bench.replay", "timed"]))
    return {name: seconds * 1e6 for name, seconds in spent.items()}


def measure() -> tuple[str, Costs]:
    """The best that can be had here: its kind, and costs by load."""
    return (COUNTED, count()) if callgrind.available() else (TIMED, clock())


def recorded(kind: str, path: Path = RECORD) -> Costs | None:
    """The record for this version of Python; None if there is none."""
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found: Costs | None = record.get(_version(), {}).get(kind)
    return found


def record(kind: str, costs: Costs, path: Path = RECORD) -> None:
    """Let these be the record for this version of Python."""
    whole = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    digits = 0 if kind == COUNTED else 2
    whole.setdefault(_version(), {})[kind] = {name: round(cost, digits) for name, cost in costs.items()}
    path.write_text(json.dumps(whole, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def changes(costs: Costs, before: Costs) -> dict[str, float]:
    """By load, the relative change of its cost as a multiple of the calibration loop's."""
    scale = costs[CALIBRATION] / before[CALIBRATION]
    return {name: costs[name] / (before[name] * scale) - 1 for name in before if name != CALIBRATION}


def complaints(kind: str, costs: Costs, before: Costs) -> list[str]:
    """The loads that cost more or less than was recorded, beyond what is tolerated; less is to be recorded too."""
    tolerance = TOLERANCES[kind]
    return [
        f"{name}: {costs[name]:,.0f} {kind} per request, {100 * change:+.1f} % against the record"
        for name, change in changes(costs, before).items()
        if abs(change) > tolerance
    ]


def _version() -> str:
    return ".".join(platform.python_version_tuple()[:2])


def _run(command: Sequence[str]) -> str:
    # Which slot of a dict a string falls into depends on the hash's seed.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=PATIENCE_S, cwd=ROOT
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with status {done.returncode}: {done.stderr[-1500:]}")
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and record or compare."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.instructions", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--record", action="store_true", help="let this be the record for this version of Python")
    parser.add_argument("--cpu", action="store_true", help="take CPU time also where instructions can be counted")
    parser.add_argument("--rules", action="store_true", help="compare a broker that has rules with one that has none")
    options = parser.parse_args(arguments)
    if options.rules:
        added = rules_add(count())
        for name, share in added.items():
            print(f"{name:<16} {100 * share:+.2f} % with {RULES:,} rules")
        return 1 if added["produce-small"] > MOST_FOR_RULES else 0
    kind, costs = (TIMED, clock()) if options.cpu else measure()
    before = recorded(kind)
    relative = changes(costs, before) if before else {}
    for name, cost in costs.items():
        shown = f"{100 * relative[name]:+.1f} %" if name in relative else ""
        print(f"{name:<16} {cost:>12,.1f} {kind} {shown}")
    if options.record:
        record(kind, costs)
        return 0
    if before is None:
        sys.exit(f"nothing is recorded for Python {_version()}: --record does it")
    return 1 if complaints(kind, costs, before) else 0


if __name__ == "__main__":
    sys.exit(main())
