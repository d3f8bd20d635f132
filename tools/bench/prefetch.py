"""What a consumer's prefetch does to priorities: `python -m tools.bench.prefetch [--records N] [--work-ms N]`.

A pile of low records lies in the lanes and a consumer of confluent-kafka (librdkafka) reads it, with settings that
bound its prefetch more or less. Meanwhile critical records are sent, each when the one before has arrived: how many
low ones the application is still handed after the critical one was acknowledged, and how fast the pile is read.
"""

import argparse
import random
import statistics
import time
from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, Producer, TopicPartition

from tidegate import testing
from tidegate.testing import RunningBroker
from tools.bench.figures import Figures

Settings = Mapping[str, str | int | float | bool]
SETTINGS: Mapping[str, Settings] = {
    "defaults": {},
    "one queued": {"queued.min.messages": 1},
    "a fetch at a time": {"queued.min.messages": 1, "fetch.queue.backoff.ms": 1},
    "16 KiB at a time": {"queued.min.messages": 1, "fetch.queue.backoff.ms": 1, "fetch.message.max.bytes": 16_384},
    "4 KiB at a time": {"queued.min.messages": 1, "fetch.queue.backoff.ms": 1, "fetch.message.max.bytes": 4_096},
}
VALUE = b"x" * 100
CRITICAL = b"critical"
APART = 700
"""Low records between the arrival of a critical one and the sending of the next, on average."""
PATIENCE_S = 300.0


def measure(broker: RunningBroker, topic: str, settings: Settings, records: int, work_ms: float) -> Figures:
    """Read a pile; the application takes `work_ms` for each record."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    for _ in range(records):
        _send(producer, topic, VALUE, b"low")
    producer.flush(PATIENCE_S)
    reader = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": topic, "enable.auto.commit": False, **settings}
    )
    reader.assign([TopicPartition(topic, 0, 0)])
    try:
        return _read(reader, producer, topic, records, work_ms / 1000)
    finally:
        reader.close()


def _read(reader: Consumer, producer: Producer, topic: str, records: int, work_s: float) -> Figures:
    waits: list[int] = []
    read = since = 0
    is_sent = False
    chance, began_s, deadline_s = random.Random(1), 0.0, time.monotonic() + PATIENCE_S
    next_at = chance.randrange(APART, 2 * APART)
    while read < records:
        message = reader.poll(1.0)
        if time.monotonic() > deadline_s:
            raise SystemExit(f"only {read} of {records} records arrived")
        if message is None or message.error():
            continue
        began_s = began_s or time.monotonic()
        time.sleep(work_s)
        if message.value() == CRITICAL:
            waits.append(since)
            since, is_sent, next_at = 0, False, chance.randrange(2 * APART)
            continue
        read, since = read + 1, since + 1
        if not is_sent and since >= next_at:
            _send(producer, topic, CRITICAL, b"critical")
            producer.flush(PATIENCE_S)
            since, is_sent = 0, True
    took_s = time.monotonic() - began_s
    return {
        "per_s": read / took_s,
        "criticals": len(waits),
        "before_p50": statistics.median(waits) if waits else 0,
        "before_max": max(waits, default=0),
    }


def _send(producer: Producer, topic: str, value: bytes, priority: bytes) -> None:
    while True:
        try:
            producer.produce(topic, value, headers=[("tide-priority", priority)])
            producer.poll(0)
            return
        except BufferError:
            producer.poll(0.1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each of the settings and print a line for it."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.prefetch", description=__doc__)
    parser.add_argument("--records", type=int, default=20_000, help="low ones, of 100 bytes")
    parser.add_argument("--work-ms", type=float, default=0.0, help="that the application takes for each")
    options = parser.parse_args(arguments)
    with testing.broker({"http.port": "0"}, timeout_s=PATIENCE_S) as broker:
        for number, (name, settings) in enumerate(SETTINGS.items()):
            found = measure(broker, f"prefetch-{number}", settings, options.records, options.work_ms)
            print(f"{name:<20} " + "  ".join(f"{key} {value:,.0f}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
