"""What delay and priority cost and promise: `python -m tools.bench.delay [--records N] [--pending N]`.

Four measurements on a broker of their own: how late records are that fall due in the course of a while; how fast a pile
that falls due at one instant drains, and what others feel of it; what so many pending records take in memory, and how
long a restart takes with them after a kill; which shares the lanes of a prioritised partition get.
"""

import argparse
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from confluent_kafka import Consumer, Producer, TopicPartition

from tidegate import testing
from tidegate.testing import RunningBroker
from tools.bench.figures import Figures
from tools.bench.paced import PacedProducer
from tools.bench.processes import resident_mb
from tools.bench.trial import make_topics

LANES = ("critical", "high", "normal", "low", "background")
PATIENCE_S = 120.0


def lateness(broker: RunningBroker, records: int, span_s: float) -> Figures:
    """Records due evenly over `span_s`: how late each was in the hands of a consumer that was waiting."""
    make_topics(broker.bootstrap, {"late": 1})
    lead_s = 2 + records / 5_000
    start_ms = int((time.time() + lead_s) * 1000)
    dues = [start_ms + int(number * span_s * 1000 / records) for number in range(records)]
    _produce(broker, "late", [(str(due).encode(), {"tide-deliver-at": str(due)}) for due in dues])
    late_ms = sorted(
        arrived * 1000 - int(value) for value, arrived in _consume(broker, "late", records, span_s + lead_s)
    )
    return {
        "records": records,
        "early": sum(1 for each in late_ms if each < 0),
        "late_p50_ms": statistics.median(late_ms),
        "late_p99_ms": late_ms[int(len(late_ms) * 0.99)],
        "late_max_ms": late_ms[-1],
    }


def pile(broker: RunningBroker, records: int) -> Figures:
    """All due at one instant: how fast they come out, and how long producers of another topic wait meanwhile."""
    make_topics(broker.bootstrap, {"pile": 1, "others": 10})
    due_ms = int((time.time() + 4 + records / 12_000) * 1000)
    _produce(broker, "pile", [(b"x" * 100, {"tide-deliver-at": str(due_ms)})] * records)
    while time.time() * 1000 < due_ms - 500:
        time.sleep(0.05)
    others = PacedProducer(broker.bootstrap, "others", 10)
    drain_estimate_s = max(2.0, records / 30_000 + 1)
    load = threading.Thread(target=others.run, args=(500, drain_estimate_s))
    load.start()
    times = [arrived for _, arrived in _consume(broker, "pile", records, PATIENCE_S)]
    load.join()
    waits = sorted(others.latencies_ms)
    return {
        "records": records,
        "first_after_ms": times[0] * 1000 - due_ms,
        "drained_per_s": records / (times[-1] - due_ms / 1000),
        "others_p50_ms": statistics.median(waits),
        "others_p99_ms": waits[int(len(waits) * 0.99)],
    }


def pending(broker: RunningBroker, records: int) -> Figures:
    """So many records with ids wait for an hour: memory, and a restart after a kill."""
    make_topics(broker.bootstrap, {"pending": 1})
    headers = ({"tide-delay": "3600000", "tide-schedule-id": f"job-{number}"} for number in range(records))
    _produce(broker, "pending", ((b"x" * 100, each) for each in headers))
    figures = {"records": float(records), "resident_mb": resident_mb(broker.pid)}
    broker.kill()
    began = time.monotonic()
    broker.start()
    figures["restart_s"] = time.monotonic() - began
    figures["resident_after_mb"] = resident_mb(broker.pid)
    return figures


def shares(broker: RunningBroker, records: int) -> Figures:
    """Every lane has plenty: of the first fifth that is read, which share is of each lane?"""
    make_topics(broker.bootstrap, {"shares": 1})
    everything = [(lane.encode(), {"tide-priority": lane}) for lane in LANES for _ in range(records // len(LANES))]
    _produce(broker, "shares", everything)
    found = Counter(value.decode() for value, _ in _consume(broker, "shares", records // 5, PATIENCE_S))
    return {f"{lane}_percent": 100 * found[lane] / (records // 5) for lane in LANES}


def _produce(broker: RunningBroker, topic: str, records: Iterable[tuple[bytes, dict[str, str]]]) -> None:
    settings = {"bootstrap.servers": broker.bootstrap, "linger.ms": 20, "batch.size": 200_000, "log_level": 0}
    producer = Producer(settings)
    for value, headers in records:
        while True:
            try:
                producer.produce(topic, value, key=b"k", headers=headers, partition=0)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    if producer.flush(PATIENCE_S):
        raise SystemExit("records were not acknowledged in time")


def _consume(broker: RunningBroker, topic: str, count: int, patience_s: float) -> list[tuple[bytes, float]]:
    """So many values, each with the time at which it came."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "bench", "fetch.wait.max.ms": 100})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[tuple[bytes, float]] = []
    deadline = time.monotonic() + patience_s + PATIENCE_S
    try:
        while len(found) < count:
            message = consumer.poll(0.05)
            if message is not None and message.error() is None:
                found.append((message.value() or b"", time.time()))
            if time.monotonic() > deadline:
                raise SystemExit(f"only {len(found)} of {count} records arrived")
    finally:
        consumer.close()
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.delay", description=__doc__)
    parser.add_argument("--records", type=int, default=100_000, help="that fall due, and that wait in lanes")
    parser.add_argument("--span-s", type=float, default=60.0, help="over which they fall due")
    parser.add_argument("--pending", type=int, default=1_000_000, help="that wait for an hour")
    options = parser.parse_args(arguments)
    with testing.broker({"http.port": "0"}, timeout_s=PATIENCE_S) as broker:
        _print("records falling due over a while", lateness(broker, options.records, options.span_s))
        _print("a pile due at one instant", pile(broker, options.records))
        _print("shares of lanes", shares(broker, options.records))
        _print("pending records", pending(broker, options.pending))


def _print(title: str, figures: Figures) -> None:
    print(title)
    for name, value in figures.items():
        print(f"  {name:<20} {value:,.1f}", flush=True)


if __name__ == "__main__":
    main()
