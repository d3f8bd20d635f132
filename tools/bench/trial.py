"""One load on one broker: topics for it, sizes as asked for, and what the broker and its clients use meanwhile."""

import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager

from attrs import define, field
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tools.bench.brokers import Subject
from tools.bench.figures import Figures
from tools.bench.processes import cpu_s, forget_peak, peak_resident_mb, stolen_s, thread_cpu_s

PATIENCE_S = 120.0


@define(eq=False)
class Trial:
    """What a load is given. `scale` is 1.0 for the sizes of the table, less for a quick look."""

    subject: Subject
    scale: float = 1.0

    @property
    def bootstrap(self) -> str:
        """The broker's address."""
        return self.subject.bootstrap

    def scaled(self, count: int, least: int = 1) -> int:
        """A size of the table, made smaller for a quick look."""
        return max(least, int(count * self.scale))

    def topics(self, topics: Mapping[str, int]) -> None:
        """Make topics with so many partitions each, in one request, and wait until all of them can be used."""
        make_topics(self.bootstrap, topics, self.subject.factor)
        wait_for_leaders(self.bootstrap, topics)

    @contextmanager
    def measured(self) -> "Iterator[Meter]":
        """Count what broker and clients use inside a `with` block."""
        meter = Meter(self.subject.pids)
        meter.begin()
        yield meter
        meter.end()


@define(eq=False)
class Meter:
    """CPU time and memory of a broker's processes, and CPU time of the clients that were run meanwhile."""

    pids: Sequence[int]
    seconds: float = 0.0
    cpu_s: float = 0.0
    client_cpu_s: float = 0.0
    busiest_thread_s: float = 0.0
    peak_mb: float = 0.0
    stolen_s: float = 0.0
    _threads: dict[str, float] = field(factory=dict)

    def begin(self) -> None:
        """From here on."""
        for pid in self.pids:
            forget_peak(pid)
        self._threads = self._thread_cpu_s()
        self.seconds, self.cpu_s, self.client_cpu_s = -time.monotonic(), -sum(map(cpu_s, self.pids)), -_children_s()
        self.stolen_s = -stolen_s()

    def end(self) -> None:
        """Up to here."""
        self.seconds += time.monotonic()
        self.cpu_s += sum(map(cpu_s, self.pids))
        self.client_cpu_s += _children_s()
        self.stolen_s += stolen_s()
        used = self._thread_cpu_s()
        self.busiest_thread_s = max((used[each] - self._threads.get(each, 0.0) for each in used), default=0.0)
        self.peak_mb = sum(map(peak_resident_mb, self.pids))

    def _thread_cpu_s(self) -> dict[str, float]:
        return {thread: used for pid in self.pids for thread, used in thread_cpu_s(pid).items()}

    def figures(self, found: Figures) -> Figures:
        """What a load generator found, with what it cost; `records` and `seconds` in it are those of the load."""
        figures = dict(found)
        records = figures.pop("records")
        seconds = figures.pop("seconds", self.seconds) or self.seconds
        figures.pop("requests", None)
        return figures | {
            "cpu_s": self.cpu_s,
            "cpu_s_per_1000": self.cpu_s / records * 1000,
            "memory_mb": self.peak_mb,
            "client_cpu_s": self.client_cpu_s,
            "broker_busy": self.cpu_s / seconds,
            "broker_thread_busy": self.busiest_thread_s / seconds,
            # Not by the load's own seconds: a Java client's virtual machine starts outside of them.
            "client_busy": self.client_cpu_s / self.seconds,
            "stolen": self.stolen_s / self.seconds,
        }


def make_topics(bootstrap: str, topics: Mapping[str, int], factor: int = 1) -> None:
    """Make topics with so many partitions each, in one request."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    made = admin.create_topics(
        [NewTopic(name, count, factor) for name, count in topics.items()], request_timeout=PATIENCE_S
    )
    for future in made.values():
        future.result(PATIENCE_S)


def wait_for_leaders(bootstrap: str, topics: Mapping[str, int]) -> None:
    """Kafka answers CreateTopics before its partitions take records, which a client that does not retry would feel."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    wanted = [TopicPartition(name, number) for name, count in topics.items() for number in range(count)]
    deadline = time.monotonic() + PATIENCE_S
    while wanted:
        asked = admin.list_offsets(dict.fromkeys(wanted, OffsetSpec.latest()), request_timeout=PATIENCE_S)
        wanted = [partition for partition, future in asked.items() if not _succeeds(future)]
        if wanted and time.monotonic() > deadline:
            raise TimeoutError(f"{len(wanted)} partitions have no leader after {PATIENCE_S:g} s")


def _succeeds(future: "Future[object]") -> bool:
    try:
        future.result(PATIENCE_S)
    except KafkaException:
        return False
    return True


def _children_s() -> float:
    # Brokers are children too, but they count only once they have ended, which they do not during a measurement.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
