"""A crowd of workers on one topic: how long until all are members, how fast jobs go through, how long one waits.

    python -m tools.bench.share_crowd --workers 1000 --records 20000
    python -m tools.bench.share_crowd --broker kafka

Every worker is a `tidegate.work` worker with a connection and a session of its own, all in one process, which is busy
itself: compare brokers with each other, by the same numbers of workers and records. Bounded by `--seconds`.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import trio
from attrs import define, field
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.cimpl import NewTopic

from tidegate import testing
from tidegate.work import JobLost, Worker, worker
from tools.reference.broker import reference_kafka

TOPIC, GROUP = "crowd", "crowd"
SETTINGS = {"group.share.max.size": "1000", "group.share.max.share.sessions": "4000", "max.connections.per.ip": "4000"}
LOOK_AGAIN_S = 0.1


@define(eq=False)
class Crowd:
    """What the workers have seen."""

    bootstrap: str
    wanted: int
    began: float = field(factory=time.monotonic)
    workers: list[Worker] = field(factory=list)
    given: set[tuple[int, int]] = field(factory=set)
    again: int = 0
    lost: int = 0
    delays_ms: list[float] = field(factory=list)
    busy: set[int] = field(factory=set)
    """Workers that have had a job."""
    settled: int = 0
    done: trio.Event = field(factory=trio.Event)

    async def work(self, number: int) -> None:
        """One worker's life."""
        mine = worker(TOPIC, group=GROUP, bootstrap=self.bootstrap, max_in_flight=5)
        self.workers.append(mine)
        async with mine:
            async for job in mine:
                now_ms = time.time() * 1000
                place = (job.partition, job.offset)
                self.again += place in self.given
                self.given.add(place)
                self.busy.add(number)
                self.delays_ms.append(now_ms - float(job.value or b"0"))
                try:
                    await job.ack()
                except JobLost:
                    self.lost += 1
                    continue
                self.settled += 1
                if len(self.given) >= self.wanted and self.settled >= self.wanted:
                    self.done.set()

    def figures(self) -> dict[str, float]:
        """What is told in the end."""
        delays = sorted(self.delays_ms) or [0.0]
        return {
            "jobs": len(self.given),
            "settled": self.settled,
            "handed out again": self.again,
            "lost": self.lost,
            "workers that had a job": len(self.busy),
            "seconds": round(time.monotonic() - self.began, 2),
            "jobs per second": round(self.settled / max(time.monotonic() - self.began, 0.001), 1),
            "p50 ms from produce to hand-out": round(delays[len(delays) // 2], 1),
            "p99 ms from produce to hand-out": round(delays[int(len(delays) * 0.99)], 1),
        }


def prepare(bootstrap: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, partitions, 1)])[TOPIC].result(30)
    entry = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, GROUP, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


def produce(bootstrap: str, records: int, rate: float) -> None:
    """Jobs that say when they were made, at a rate."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
    began = time.monotonic()
    for number in range(records):
        ahead = began + number / rate - time.monotonic()
        if ahead > 0.005:
            producer.poll(ahead)
        producer.produce(TOPIC, b"%.3f" % (time.time() * 1000), partition=-1, key=b"%d" % number)
    producer.flush(30)


async def run(bootstrap: str, options: argparse.Namespace) -> dict[str, float]:
    """Everybody joins, jobs are made, and it ends with the last one or the time."""
    crowd = Crowd(bootstrap, options.records)
    figures: dict[str, float] = {"workers": options.workers, "out of time": 1}
    with trio.move_on_after(options.seconds):
        async with trio.open_nursery() as nursery:
            began = time.monotonic()
            for number in range(options.workers):
                nursery.start_soon(crowd.work, number)
                await trio.sleep(options.join_s / options.workers)
            while not all(each.is_assigned for each in crowd.workers):  # noqa: ASYNC110 - nothing tells of that
                await trio.sleep(LOOK_AGAIN_S)
            figures["seconds until all have partitions"] = round(time.monotonic() - began, 2)
            crowd.began = time.monotonic()
            await trio.to_thread.run_sync(produce, bootstrap, options.records, options.rate, abandon_on_cancel=True)
            figures["seconds of producing"] = round(time.monotonic() - crowd.began, 2)
            await crowd.done.wait()
            figures["out of time"] = 0
            nursery.cancel_scope.cancel()
    return figures | crowd.figures()


@contextmanager
def broker(kind: str, bootstrap: str | None) -> Iterator[str]:
    if bootstrap is not None:
        yield bootstrap
    elif kind == "kafka":
        with reference_kafka(SETTINGS, heap="1g") as kafka:
            yield kafka.bootstrap
    else:
        with testing.broker(SETTINGS, timeout_s=60) as running:
            yield running.bootstrap


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it, and say the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.share_crowd", description=__doc__)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=1000.0, help="records per second (default: 1000)")
    parser.add_argument(
        "--join-s", type=float, default=10.0, help="how long it takes until all are started (default: 10)"
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="the bound of it all (default: 120)")
    parser.add_argument("--broker", choices=("tidegate", "kafka"), default="tidegate")
    parser.add_argument("--bootstrap", help="a broker that runs already")
    options = parser.parse_args(arguments)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with broker(options.broker, options.bootstrap) as bootstrap:
        prepare(bootstrap, options.partitions)
        figures = trio.run(run, bootstrap, options)
    print(json.dumps({"broker": options.broker, **figures}, indent=2))
    return int(figures["out of time"])


if __name__ == "__main__":
    sys.exit(main())
