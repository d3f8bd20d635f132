"""Runs crash campaigns and says what they found; the status is 1 if any of them found anything wrong."""

import argparse
import sys
from collections.abc import Sequence

from tools.soak.crash import crash_campaign
from tools.soak.end_crash import end_crash_campaign
from tools.soak.staged_crash import staged_crash_campaign


def main(arguments: Sequence[str] | None = None) -> int:
    """Crash, check, report."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--cycles", type=int, default=1000, help="how often the broker is killed (default: 1000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--workload",
        choices=("idempotent", "staged", "ends", "all"),
        default="all",
        help="plain records; delay, cancel, priority and transactions with them; the ends of prioritised partitions "
        "that are told after every acknowledgement; or one after the other (default)",
    )
    options = parser.parse_args(arguments)
    clean = True
    for name, campaign in CAMPAIGNS.items():
        if options.workload in (name, "all"):
            clean = campaign(options.cycles, options.seed) and clean
    return 0 if clean else 1


def _idempotent(cycles: int, seed: int) -> bool:
    report = crash_campaign(cycles, seed)
    print(
        f"idempotent: {report.cycles} crashes, {report.sent:,} records sent, {report.acknowledged:,} acknowledged, "
        f"slowest start {report.slowest_start_s:.2f} s: {'clean' if report.verdict.clean else report.verdict}"
    )
    return report.verdict.clean


def _staged(cycles: int, seed: int) -> bool:
    report = staged_crash_campaign(cycles, seed)
    print(
        f"staged: {report.cycles} crashes, {report.sent:,} records sent, {report.read:,} read, "
        f"{report.ends_asked:,} ends compared, slowest start {report.slowest_start_s:.2f} s: {report.verdict.summary()}"
    )
    return report.verdict.clean


def _ends(cycles: int, seed: int) -> bool:
    report = end_crash_campaign(cycles, seed)
    print(
        f"ends: {report.cycles} crashes, {report.acknowledged:,} records acknowledged, {report.ends_asked:,} ends "
        f"compared, {report.switches:,} switches, {report.overtaken:,} records overtaken, slowest start "
        f"{report.slowest_start_s:.2f} s: {'clean' if report.clean else report.short[:5]}"
    )
    return report.clean


CAMPAIGNS = {"idempotent": _idempotent, "staged": _staged, "ends": _ends}


if __name__ == "__main__":
    sys.exit(main())
