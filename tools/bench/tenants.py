"""Whether one tenant's load is felt by another: the p99 of a quiet tenant's producer, alone and beside one that sends
and reads as fast as its limits let it.

    python -m tools.bench.tenants
    python -m tools.bench.tenants --rounds 5 --seconds 20 --rate 5000000

Rounds of all are taken in turn, for a machine is not the same from one minute to the next. The noisy tenant has
processes of its own, and is at its limits, with the burst that they allow behind it, before anything is measured. They
stand back behind everybody else's (`nice`), as if they were on another machine, and their broker takes processors and
the disk from everybody all the same: so there is a control, the same noise at another broker of the machine. What is
more than that is this broker's doing. Ends with status 1 if the quiet tenant's p99 is
more than half above that of the control, by the medians of the rounds. It ends by itself.
"""

import argparse
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tidegate import testing
from tools.bench.paced import PacedProducer
from tools.bench.processes import stand_back
from tools.cli.door import Door

QUIET, NOISY = "quiet", "noisy"
TOPIC = "orders"
PARTITIONS = 3
MOST_RATIO = 1.5
SETTLE_S = 12.0
VALUE_BYTES = 1_000
MODULE = "tools.bench.tenants"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each measurement")
    parser.add_argument("--records", type=int, default=200, help="of the quiet tenant, in a second")
    parser.add_argument("--rate", type=int, default=5_000_000, help="of the noisy tenant, bytes in a second each way")
    parser.add_argument("--noise", metavar="BOOTSTRAP", help=argparse.SUPPRESS)
    parser.add_argument("--reads", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.noise:
        stand_back()
        _read(given.noise, given.seconds) if given.reads else _write(given.noise, given.seconds)
        return 0
    found = measure(given.rounds, given.seconds, given.records, given.rate)
    print(json.dumps(found, indent=1))
    return 0 if found["ratio"] <= MOST_RATIO else 1


def measure(rounds: int, seconds: float, records: int, rate: int) -> dict[str, float]:
    """All three, in turn; p99s in milliseconds."""
    alone: list[float] = []
    control: list[float] = []
    beside: list[float] = []
    with _broker(rate) as (door, ports), _broker(rate) as (_, other_ports):
        quiet, noisy = (f"127.0.0.1:{ports[name]}" for name in (QUIET, NOISY))
        elsewhere = f"127.0.0.1:{other_ports[NOISY]}"
        for bootstrap in (quiet, noisy, elsewhere):
            admin = AdminClient({"bootstrap.servers": bootstrap})
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
        PacedProducer(quiet, TOPIC, PARTITIONS).run(records, 3.0, size=VALUE_BYTES)
        for _ in range(rounds):
            alone.append(_p99(quiet, records, seconds))
            with _noise(elsewhere, SETTLE_S + seconds + 10):
                time.sleep(SETTLE_S)
                control.append(_p99(quiet, records, seconds))
            with _noise(noisy, SETTLE_S + seconds + 10):
                time.sleep(SETTLE_S)
                before = door.read("tenants", NOISY)["usage"]
                began = time.monotonic()
                beside.append(_p99(quiet, records, seconds))
                spent, after = time.monotonic() - began, door.read("tenants", NOISY)["usage"]
            sent, read = ((after[name] - before[name]) / spent for name in ("produced_bytes", "consumed_bytes"))
    return {
        "alone_p99_ms": round(statistics.median(alone), 2),
        "beside_p99_ms": round(statistics.median(beside), 2),
        "control_p99_ms": round(statistics.median(control), 2),
        "ratio": round(statistics.median(beside) / statistics.median(control), 2),
        "ratio_to_alone": round(statistics.median(beside) / statistics.median(alone), 2),
        "noisy_produced_bytes_per_s": round(sent),
        "noisy_consumed_bytes_per_s": round(read),
        "noisy_throttled_ms": after["throttled_ms"],
        "rounds": rounds,
    }


def _p99(bootstrap: str, records: int, seconds: float) -> float:
    producer = PacedProducer(bootstrap, TOPIC, PARTITIONS)
    producer.run(records, seconds, size=VALUE_BYTES)
    # What comes before the connections are there is not what is asked about.
    return statistics.quantiles(producer.latencies_ms[records:], n=100)[98]


@contextmanager
def _broker(rate: int) -> Iterator[tuple[Door, dict[str, int]]]:
    """A broker with two tenants, a listener of each; of the noisy one what it may."""
    names = {"PLAINTEXT": "", "QUIET": QUIET, "NOISY": NOISY}
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    settings = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
    }
    for tenant in filter(None, names.values()):
        settings |= {f"listener.name.{tenant}.tenant": tenant, f"listener.name.{tenant}.tenant.rewrite": "true"}
    with testing.broker(settings, timeout_s=60) as broker:
        door = Door(str(broker.http_url), None, 30.0)
        door.tenant_change("POST", None, {"name": QUIET})
        limits = {"producer_byte_rate": rate, "consumer_byte_rate": rate, "request_rate": 500}
        door.tenant_change("POST", None, {"name": NOISY, "limits": limits})
        yield door, {tenant: ports[name] for name, tenant in names.items() if tenant}


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at now."""
    with ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]


@contextmanager
def _noise(bootstrap: str, seconds: float) -> Iterator[None]:
    """Processes of the noisy tenant: one that writes, one that reads all of it."""
    command = [sys.executable, "-m", MODULE, "--noise", bootstrap, "--seconds", str(seconds)]
    running = [subprocess.Popen([*command, *more]) for more in ([], ["--reads"])]
    try:
        yield
    finally:
        for each in running:
            each.terminate()
            each.wait()


def _write(bootstrap: str, seconds: float) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})
    value, until = b"x" * VALUE_BYTES, time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            producer.produce(TOPIC, value)
        except BufferError:
            producer.poll(0.05)
        producer.poll(0)


def _read(bootstrap: str, seconds: float) -> None:
    settings = {"bootstrap.servers": bootstrap, "group.id": f"noise-{time.time_ns()}", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "log_level": 0})
    consumer.subscribe([TOPIC])
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        consumer.consume(1_000, 0.5)
    consumer.close()


if __name__ == "__main__":
    sys.exit(main())
