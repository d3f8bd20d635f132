"""Many members of one group in this process, on one thread each, and when what happened to them.

Members are of confluent-kafka with the cooperative assignor (KIP-429). The clock is the same for all, so how long a
rebalance takes, and what is delivered while it runs, can be told exactly.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import define, field, frozen
from confluent_kafka import Consumer, Producer, TopicPartition

HEARTBEAT_MS = 200
"""How soon members notice a rebalance: the client's default is 3 s."""
POLL_S = 0.05


@frozen
class Delivery:
    """A record that reached a member."""

    at_s: float
    partition: int
    written_s: float


@define(eq=False)
class CrowdMember:
    """One consumer and its thread; it lets partitions go when it may."""

    name: str
    consumer: Consumer
    held: set[int] = field(factory=set)
    revoked: set[int] = field(factory=set)
    changed_s: float = 0.0
    deliveries: list[Delivery] = field(factory=list)
    errors: list[str] = field(factory=list)
    letting_go: threading.Event = field(factory=threading.Event)
    may_let_go: threading.Event = field(factory=threading.Event)
    _leaving: threading.Event = field(factory=threading.Event)
    _thread: threading.Thread | None = None

    def __attrs_post_init__(self) -> None:
        self.may_let_go.set()

    def start(self, topic: str) -> None:
        # Asked for now, so that the time to find the coordinator is not taken for the rebalance's.
        self.consumer.committed([TopicPartition(topic, 0)], 10)
        self._thread = threading.Thread(target=self._run, args=(topic,), name=self.name, daemon=True)
        self._thread.start()

    def leave(self) -> None:
        self._leaving.set()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join(30)

    def has_read_since(self, since_s: float, partition: int) -> bool:
        """Whether a record has come that was written after that."""
        recent = reversed(list(self.deliveries))
        return any(each.partition == partition and each.written_s > since_s for each in recent)

    def _run(self, topic: str) -> None:
        self.consumer.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked)
        while not self._leaving.is_set():
            message = self.consumer.poll(POLL_S)
            if message is None:
                continue
            if message.error() is not None:
                self.errors.append(str(message.error()))
            else:
                written_s = float((message.value() or b"0").decode())
                self.deliveries.append(Delivery(time.monotonic(), message.partition(), written_s))
        self.consumer.close()

    def _assigned(self, _: Consumer, places: list[Any]) -> None:
        self.held |= {place.partition for place in places}
        self.changed_s = time.monotonic()

    def _revoked(self, _: Consumer, places: list[Any]) -> None:
        self.letting_go.set()
        self.may_let_go.wait()
        gone = {place.partition for place in places}
        self.held -= gone
        self.revoked |= gone
        self.changed_s = time.monotonic()


@define(eq=False)
class Crowd:
    """The members of one group."""

    bootstrap: str
    group: str
    topic: str
    members: list[CrowdMember] = field(factory=list)

    def add(self) -> CrowdMember:
        member = CrowdMember(f"member-{len(self.members)}", Consumer(self._settings()))
        self.members.append(member)
        member.start(self.topic)
        return member

    def dismiss(self, member: CrowdMember) -> None:
        self.members.remove(member)
        member.leave()

    def _settings(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.bootstrap,
            "group.id": self.group,
            "partition.assignment.strategy": "cooperative-sticky",
            "auto.offset.reset": "latest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "session.timeout.ms": 30_000,
            "fetch.wait.max.ms": 100,
            "log_level": 0,
        }

    def forget_what_was(self) -> None:
        for member in self.members:
            member.revoked.clear()
            member.letting_go.clear()

    def wait_until_balanced(self, partitions: int, seconds: float = 60.0) -> float:
        """Every partition at one member, evenly; when the last of them changed hands."""
        deadline = time.monotonic() + seconds
        while not self.is_balanced(partitions):
            assert time.monotonic() < deadline, {member.name: sorted(member.held) for member in self.members}
            time.sleep(0.005)
        return max(member.changed_s for member in self.members)

    def is_balanced(self, partitions: int) -> bool:
        held = [partition for member in self.members for partition in list(member.held)]
        sizes = [len(member.held) for member in self.members]
        return sorted(held) == list(range(partitions)) and max(sizes) - min(sizes) <= 1


@contextmanager
def crowd(bootstrap: str, group: str, topic: str, size: int) -> Iterator[Crowd]:
    """A group of so many; all of them leave at the end."""
    everybody = Crowd(bootstrap, group, topic)
    try:
        for _ in range(size):
            everybody.add()
        yield everybody
    finally:
        for member in everybody.members:
            member.may_let_go.set()
            member.leave()
        for member in everybody.members:
            member.join()


@contextmanager
def steady_writes(bootstrap: str, topic: str, partitions: int, every_s: float) -> Iterator[None]:
    """A record to every partition again and again, that says when it was written."""
    stop = threading.Event()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})

    def write() -> None:
        while not stop.wait(every_s):
            for partition in range(partitions):
                producer.produce(topic, str(time.monotonic()), partition=partition)
            producer.flush(10)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)


def longest_gap_s(member: CrowdMember, partition: int, between: tuple[float, float]) -> float:
    """The longest time without a record of this partition."""
    start_s, end_s = between
    times = [each.at_s for each in list(member.deliveries) if each.partition == partition]
    inside = [start_s, *(at_s for at_s in times if start_s <= at_s <= end_s), end_s]
    return max(later - earlier for earlier, later in itertools.pairwise(inside))


def wait_for(condition: Callable[[], bool], members: Sequence[CrowdMember], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, {member.name: sorted(member.held) for member in members}
        time.sleep(0.01)
