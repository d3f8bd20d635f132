"""How long a crowd of strangers keeps the event loop from everybody else, in time of the processor: so it is the same
on a busy machine as on a quiet one.

    python -m tools.bench.passes handshakes --rate 500
    python -m tools.bench.passes passwords

The broker is in this process, the crowd that of `strangers.py`. In a pass the loop gives everybody a turn who has
something to do; who is let in waits for the pass that is under way, and for its own. `loop_share` is how much of one
processor the loop took. Ends with status 1 if a pass of a hundred takes longer than 3 ms. It ends by itself.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import trio
from attrs import define, field

from tidegate.broker import Broker
from tidegate.config import BrokerConfig
from tidegate.dev_certificates import Authority
from tools.bench.crowd import Told
from tools.bench.strangers import SETTLE_S, crowd, furnish, settings_of, write_certificate
from tools.bench.tenants import free_ports

KINDS = ("handshakes", "passwords")
MOST_P99_MS = 3.0


@define(eq=False)
class Passes(trio.abc.Instrument):
    """How long each pass of a loop was, in seconds of its thread's processor time."""

    took_s: list[float] = field(factory=list, init=False)
    _began: float | None = field(default=None, init=False)

    def after_io_wait(self, timeout: float) -> None:  # noqa: ARG002
        """A pass begins."""
        self._began = time.thread_time()

    def before_io_wait(self, timeout: float) -> None:  # noqa: ARG002
        """It has ended."""
        if self._began is not None:
            self.took_s.append(time.thread_time() - self._began)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.passes", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rate", type=int, default=500, help="of the crowd, connections in a second")
    parser.add_argument("--jobs", type=int, default=2, help="processes of the crowd")
    given = parser.parse_args(arguments)
    found = trio.run(measure, given.kind, given.seconds, given.rate, given.jobs)
    print(json.dumps(found, indent=1))
    return 0 if found["p99_ms"] <= MOST_P99_MS else 1


async def measure(kind: str, seconds: float, rate: int, jobs: int) -> dict[str, float]:
    """A broker in this loop beside a crowd, for so long."""
    with TemporaryDirectory() as scratch:
        directory = Path(scratch)
        keystore, trusted = directory / "broker.pem", directory / "ca.pem"
        authority = Authority.make()
        trusted.write_bytes(authority.identity.certificate_pem)
        write_certificate(authority, keystore)
        inside, outside = (f"127.0.0.1:{port}" for port in free_ports(2))
        settings: dict[str, object] = {
            **settings_of(inside, outside, keystore),
            "log.dirs": str(directory / "data"),
            "http.port": 0,
        }
        async with Broker(BrokerConfig.load(values=settings)) as broker:
            await trio.to_thread.run_sync(furnish, inside)
            # As the program does: what was loaded is never looked at again.
            gc.freeze()
            return await _beside(broker, kind, outside, trusted, seconds, rate, jobs)


async def _beside(
    broker: Broker, kind: str, address: str, trusted: Path, seconds: float, rate: int, jobs: int
) -> dict[str, float]:
    passes = Passes()
    told: list[Told] = []

    def come() -> None:
        with crowd(kind, address, trusted, seconds + 2 * SETTLE_S, rate, jobs) as came:
            pass
        told.extend(came)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, come)
        while not broker.server.connections:  # noqa: ASYNC110
            await trio.sleep(0.05)
        trio.lowlevel.add_instrument(passes)
        began, used = time.monotonic(), time.thread_time()
        await trio.sleep(seconds)
        share = (time.thread_time() - used) / (time.monotonic() - began)
        trio.lowlevel.remove_instrument(passes)
    cuts = statistics.quantiles(passes.took_s, n=100)
    return {
        "reached_per_s": round(sum(each["reached_per_s"] for each in told)),
        "loop_share": round(share, 2),
        "p50_ms": round(cuts[49] * 1000, 2),
        "p99_ms": round(cuts[98] * 1000, 2),
        "longest_ms": round(max(passes.took_s) * 1000, 2),
    }


if __name__ == "__main__":
    sys.exit(main())
