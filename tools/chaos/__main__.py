"""Runs faults under load and says what they found; the status is 1 if anything is wrong."""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tools.chaos.campaign import run
from tools.chaos.cluster import NODE_IDS, ChaosCluster
from tools.chaos.disk import small_disk
from tools.chaos.faults import ETCD_FAULTS, FAULTS, Begin
from tools.chaos.network import network
from tools.chaos.network_faults import DISK_FAULTS, NETWORK_FAULTS
from tools.chaos.others import OTHERS
from tools.chaos.workloads import STAGED


def main(arguments: Sequence[str] | None = None) -> int:
    """Faults, checks, report."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos", description=__doc__)
    parser.add_argument("--faults", type=int, default=300, help="how many (default: 300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="names of faults, separated by commas")
    parser.add_argument("--target", default="tidegate", choices=("tidegate", "kafka"), help="or Kafka, to compare")
    parser.add_argument("--etcd-members", type=int, default=3, choices=(1, 3))
    parser.add_argument("--no-network", action="store_true", help="on loopback, without cuts")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a broker key of all nodes")
    parser.add_argument("--without", default="", help="workloads that are left out: Loop, Delayed, Transactional, ...")
    parser.add_argument(
        "--clients",
        default="",
        help=f"beside librdkafka's, separated by commas: none, {', '.join(OTHERS)} (default: all that are installed)",
    )
    parser.add_argument("--keep", type=Path, help="where data and logs are kept")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-chaos-", ignore_cleanup_errors=True))
        cluster = _cluster(stack, options.keep or Path(scratch), options)
        clients = _clients(options.clients)
        known = _known(cluster)
        plan = _plan(known, options.only, options.faults, random.Random(options.seed))
        stack.enter_context(cluster)
        _say(f"{options.faults} faults, seed {options.seed}, nodes {cluster.bootstrap}; faults: {', '.join(known)}")
        _say(f"clients beside librdkafka's: {', '.join(clients) or 'none'}")
        staged = [kind.__name__ for kind in STAGED] if options.target == "kafka" else []
        leave_out = (*options.without.split(","), *staged)
        report = run(cluster, plan, options.seed, _say, leave_out=leave_out, clients=clients)
    assert report.verdict is not None
    _say(f"{report.faults} faults; {report.distribution()}; {report.verdict.summary()}")
    return 0 if report.verdict.clean else 1


def _cluster(stack: ExitStack, directory: Path, options: argparse.Namespace) -> ChaosCluster:
    directory.mkdir(parents=True, exist_ok=True)
    if options.target == "kafka":
        return ChaosCluster.of_kafka(directory)
    made = None if options.no_network else stack.enter_context(network(NODE_IDS))
    if made is None:
        _say("without a network of its own: nothing is cut or slow (that needs root and ip)")
    last = NODE_IDS[-1]
    disk = stack.enter_context(small_disk(directory / f"node-{last}"))
    if disk is None:
        _say("without a small disk: none is full (that needs root and mount)")
    settings = dict(text.split("=", 1) for text in options.set)
    disks = {} if disk is None else {last: disk}
    return ChaosCluster.make(directory, etcd_members=options.etcd_members, settings=settings, network=made, disks=disks)


def _clients(wanted: str) -> list[str]:
    """The names of those that are asked for, or of all that are installed."""
    if not wanted:
        return [name for name, other in OTHERS.items() if other.is_installed()]
    names = [name for name in wanted.split(",") if name != "none"]
    if unknown := set(names) - set(OTHERS):
        raise SystemExit(f"no such client: {', '.join(sorted(unknown))}; there are {', '.join(OTHERS)}")
    return names


def _known(cluster: ChaosCluster) -> dict[str, tuple[int, Begin]]:
    """The faults that can be had here."""
    return {
        **FAULTS,
        **(ETCD_FAULTS if len(cluster.etcd.members) > 1 else {}),
        **(NETWORK_FAULTS if cluster.network is not None else {}),
        **(DISK_FAULTS if cluster.disks else {}),
    }


def _plan(known: Mapping[str, tuple[int, Begin]], only: str | None, count: int, chance: random.Random) -> list[Begin]:
    names = only.split(",") if only else list(known)
    unknown = set(names) - set(known)
    if unknown:
        raise SystemExit(f"no such fault: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return [known[name][1] for name in chance.choices(names, [known[name][0] for name in names], k=count)]


def _say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
