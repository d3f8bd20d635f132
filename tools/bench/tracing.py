"""What tracing costs the broker: `python -m tools.bench.tracing`.

First the calls alone, in this process: what a batch, an answer and a commit pay, traced or not. Then a broker under a
steady load of records through a group, of which one in a hundred is traced, with `trace.enable` on and off by turns:
CPU seconds of its process. The best rounds count, for noise only ever adds.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from functools import partial

from attrs import frozen
from confluent_kafka import Consumer, Producer

from coordinators.topics import Topics, TopicSpec
from coordinators.tracing.settings import TraceSettings
from coordinators.tracing.tracing import Tracing
from engine.catalogue.memory import MemoryCatalogue
from engine.clock import SystemClock
from engine.config.resolve import BrokerSettings
from engine.files.memory import MemoryFiles
from engine.log.log import Log, LogConfig
from engine.partition.partition import Partition
from engine.partition.sync import SyncRounds
from engine.records.batch import whole
from engine.records.layout import BatchHeader, pack_record, seal_batch
from engine.workers import InlineWorkers
from tidegate.config_keys import BROKER_KEYS
from tools.bench.best import best_us
from tools.bench.brokers import tidegate_subject
from tools.bench.processes import cpu_s
from tools.bench.trial import make_topics

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE_ID}-b7ad6b7169203331-01".encode()
UNSAMPLED = TRACEPARENT[:-2] + b"00"
GROUP = "bench"
POLLS = 500


# -- the calls alone


def batch(count: int, size: int, every: int | None, header: bytes = TRACEPARENT) -> bytes:
    """So many records of this size, of which each `every`th has the header."""
    section = b"".join(
        pack_record(
            number,
            0,
            b"key-%d" % number,
            b"v" * size,
            [(b"traceparent", header)] if every is not None and number % every == every // 2 else [(b"plain", b"x")],
        )
        for number in range(count)
    )
    now_ms = time.time_ns() // 1_000_000
    fields = BatchHeader(0, 0, -1, 2, 0, 0, count - 1, now_ms, now_ms, -1, -1, -1, count)
    return seal_batch(fields, section)


def bench_tracing(**configs: str) -> tuple[Tracing, Topics, Partition]:
    """Tracing without bounds that a benchmark would run into, over a partition in memory."""
    catalogue, settings = MemoryCatalogue(), BrokerSettings(keys=BROKER_KEYS)
    spec = TopicSpec("t", 1, configs={k.replace("_", "."): v for k, v in configs.items()})
    catalogue.commit(Topics.load(catalogue, settings, 1, lambda size: b"\1" * size).plan_create([spec]).commit)
    topics = Topics.load(catalogue, settings, 1, lambda size: b"\1" * size)
    files = MemoryFiles()
    files.make_directories("/data/topics")
    log = Log.open("/data/topics/t/0", files=files, clock=SystemClock(), config=LogConfig(), clean=False)
    partition = Partition(b"\1" * 16, 0, log, SyncRounds(InlineWorkers(), lambda: None), sync_writes=False)
    unbounded = TraceSettings(max_per_second=10**9)
    return Tracing(SystemClock(), lambda size: b"\1" * size, unbounded), topics, partition


def calls(rounds: int) -> None:
    """Print what each call takes."""
    print(f"{'a batch that was appended':<58}{'us':>8}")
    for count, size in ((1, 100), (100, 100), (16, 1024), (1000, 900)):
        for label, every, header in (
            ("no header", None, TRACEPARENT),
            ("every record with a header that is not sampled", 1, UNSAMPLED),
            ("1 % of records traced", 100, TRACEPARENT),
        ):
            if every == 100 and count < 100:
                continue
            tracing, topics, partition = bench_tracing(trace_sample_per_second="0")
            sent = whole(batch(count, size, every, header))
            result = partition.write(sent)
            call = partial(tracing.received, topics.by_name["t"], partition, sent, result)
            print(f"{f'{count} x {size} bytes, {label}':<58}{best_us(call, rounds):>8.2f}", flush=True)


# -- a broker under load


@frozen
class Round:
    """What a round used."""

    cpu_s: float
    records: int
    traced: int


def load(*, tracing: bool, records_per_s: int, duration_s: float, size: int, settings: dict[str, str]) -> Round:
    """Records at a steady rate through a group; one in a hundred carries a sampled header."""
    with tidegate_subject("tidegate", {"log.trace.enable": str(tracing).lower(), **settings}) as subject:
        make_topics(subject.bootstrap, {"load": 3})
        producer = Producer(
            {"bootstrap.servers": subject.bootstrap, "linger.ms": 5, "client.id": "bench", "log_level": 0}
        )
        consumer = Consumer(
            {"bootstrap.servers": subject.bootstrap, "group.id": GROUP, "auto.offset.reset": "earliest",
             "auto.commit.interval.ms": 500, "log_level": 0}
        )  # fmt: skip
        consumer.subscribe(["load"])
        try:
            run(producer, consumer, records_per_s, 2.0, size)
            before = cpu_s(subject.pid)
            sent = run(producer, consumer, records_per_s, duration_s, size)
            return Round(cpu_s(subject.pid) - before, sent, sent // 100)
        finally:
            consumer.close()


def run(producer: Producer, consumer: Consumer, records_per_s: int, duration_s: float, size: int) -> int:
    """Send at the rate, read what comes; how many were sent."""
    value = b"x" * size
    per_step = max(records_per_s // 100, 1)
    began, sent, read = time.monotonic(), 0, 0
    for step in range(int(duration_s * 100)):
        for _ in range(per_step):
            header = TRACEPARENT if sent % 100 == 50 else None
            producer.produce(
                "load", value, key=b"k%d" % (sent % 97), headers=[("traceparent", header)] if header else None
            )
            sent += 1
        producer.poll(0)
        read += len(consumer.consume(POLLS, 0))
        due = began + (step + 1) / 100
        if (rest := due - time.monotonic()) > 0:
            time.sleep(rest)
    producer.flush(30)
    while read < sent and (taken := len(consumer.consume(POLLS, 1.0))):
        read += taken
    return sent


def broker(options: argparse.Namespace) -> None:
    """Print CPU with and without tracing, by turns."""
    used: dict[bool, list[float]] = {True: [], False: []}
    settings = dict(pair.split("=", 1) for pair in options.set)
    for number in range(options.rounds):
        for tracing in (False, True):
            done = load(
                tracing=tracing,
                records_per_s=options.rate,
                duration_s=options.seconds,
                size=options.size,
                settings=settings,
            )
            used[tracing].append(done.cpu_s)
            state = "on " if tracing else "off"
            print(
                f"round {number + 1}  tracing {state}  {json.dumps({'records': done.records, 'cpu_s': done.cpu_s})}",
                flush=True,
            )
    off, on = min(used[False]), min(used[True])
    middle_off, middle_on = (sorted(used[each])[options.rounds // 2] for each in (False, True))
    print(f"best: off {off:.2f} s, on {on:.2f} s: {100 * (on / off - 1):+.1f} %")
    print(f"median: off {middle_off:.2f} s, on {middle_on:.2f} s: {100 * (middle_on / middle_off - 1):+.1f} %")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.tracing", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured (default: 5)")
    parser.add_argument("--rate", type=int, default=20_000, help="records per second (default: 20,000)")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of a round (default: 10)")
    parser.add_argument("--size", type=int, default=200, help="bytes of a record's value (default: 200)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a broker key")
    parser.add_argument("--calls-only", action="store_true", help="without a broker")
    options = parser.parse_args(arguments)
    calls(options.rounds)
    if not options.calls_only:
        broker(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
