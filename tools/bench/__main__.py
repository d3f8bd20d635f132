"""Runs the benchmark and prints its table."""

import argparse
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from tools.bench.brokers import SUBJECTS, Subject
from tools.bench.limits import crowd, hundred_partitions
from tools.bench.loads import Figures, idle, produce, transact

LOADS: dict[str, Callable[[Subject], Figures]] = {
    "idle": idle,
    "produce-1k": partial(produce, records=1_000_000, size=1024, partitions=6, warm_up=200_000, producer={}),
    "unbatched": partial(
        produce,
        records=40_000,
        size=100,
        partitions=1,
        warm_up=10_000,
        producer={"batch.size": "1", "linger.ms": "0"},
    ),
    "transactions": partial(transact, records=500_000, size=100, partitions=6, warm_up=100_000, duration_ms=20),
    "partitions": hundred_partitions,
    "crowd": crowd,
}
Results = dict[str, dict[str, list[Figures]]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each broker is measured (default: 3)")
    parser.add_argument("--loads", nargs="+", choices=LOADS, default=list(LOADS), metavar="LOAD")
    parser.add_argument("--brokers", nargs="+", choices=SUBJECTS, default=["tidegate", "kafka"], metavar="BROKER")
    parser.add_argument("--json", metavar="FILE", help="write every figure there")
    options = parser.parse_args(arguments)
    results: Results = defaultdict(lambda: defaultdict(list))
    for number in range(options.rounds):
        for load in options.loads:
            for name in options.brokers:
                with SUBJECTS[name]() as subject:
                    figures = LOADS[load](subject)
                results[load][name].append(figures)
                shown = "  ".join(f"{key}={value:,.2f}" for key, value in figures.items())
                print(f"round {number + 1}  {load:<12} {name:<12} {shown}", flush=True)
    print(table(results, options.brokers))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=2)
    return 0


def table(results: Results, brokers: Sequence[str]) -> str:
    """Medians, and each broker's ratio to the last one named."""
    reference = brokers[-1]
    lines = ["", f"{'load':<12} {'figure':<14}" + "".join(f"{name:>14}" for name in brokers) + f"{'ratio':>10}"]
    for load, by_broker in results.items():
        for figure in by_broker[reference][0]:
            medians = [statistics.median(each[figure] for each in by_broker[name]) for name in brokers]
            ratio = medians[0] / medians[-1] if medians[-1] else float("nan")
            lines.append(
                f"{load:<12} {figure:<14}" + "".join(f"{value:>14,.2f}" for value in medians) + f"{ratio:>10.2f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
