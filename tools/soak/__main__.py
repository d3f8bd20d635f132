"""Runs a crash campaign and says what it found; the status is 1 if anything was lost, doubled or reordered."""

import argparse
import sys
from collections.abc import Sequence

from tools.soak.crash import crash_campaign


def main(arguments: Sequence[str] | None = None) -> int:
    """Crash, check, report."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--cycles", type=int, default=1000, help="how often the broker is killed (default: 1000)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    report = crash_campaign(options.cycles, options.seed)
    print(
        f"{report.cycles} crashes, {report.sent:,} records sent, {report.acknowledged:,} acknowledged, "
        f"slowest start {report.slowest_start_s:.2f} s: {'clean' if report.verdict.clean else report.verdict}"
    )
    return 0 if report.verdict.clean else 1


if __name__ == "__main__":
    sys.exit(main())
