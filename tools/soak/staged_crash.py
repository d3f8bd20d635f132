"""kill -9 at random instants while records wait for their time, their turn or their transaction.

All workloads of `staged_workloads` run at once. One consumer reads everything as it comes, one observer asks for the
ends of all partitions again and again, both through all crashes. In the end the log is read a second time, and
`staged_history` judges.
"""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from attrs import define, field, frozen
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tidegate import testing
from tools.soak.crash import kill_again_and_again
from tools.soak.staged_history import History, Read, StagedVerdict, judge_staged, missing
from tools.soak.staged_workloads import PARTITIONS, WORKLOADS, StagedWorkload

SETTLE_S = 20.0
"""How long after the last record is due it may take until it is read."""
ASK_EVERY_S = 0.02
LONGEST_LIFE_S = 1.5
"""Between two kills: long enough for whole transactions, and for records to fall due."""


@frozen
class StagedCrashReport:
    """What a campaign did and found."""

    cycles: int
    sent: int
    read: int
    ends_asked: int
    slowest_start_s: float
    verdict: StagedVerdict


@define(eq=False)
class Reader:
    """Reads every partition as records come, and notes when."""

    bootstrap: str
    places: Sequence[TopicPartition]
    read: list[Read] = field(factory=list)
    failures: list[str] = field(factory=list)
    stopping: threading.Event = field(factory=threading.Event)

    def run(self) -> None:
        consumer = _consumer(self.bootstrap, "read_committed")
        consumer.assign(list(self.places))
        while not self.stopping.is_set():
            self.read.extend(_read(consumer))
        consumer.close()


@define(eq=False)
class EndObserver:
    """Asks where every partition ends, all records and committed ones."""

    bootstrap: str
    places: Sequence[TopicPartition]
    history: History
    stopping: threading.Event = field(factory=threading.Event)

    def run(self) -> None:
        consumers = {level: _consumer(self.bootstrap, level) for level in ("read_committed", "read_uncommitted")}
        while not self.stopping.wait(ASK_EVERY_S):
            for level, consumer in consumers.items():
                for place in self.places:
                    # The broker may be away.
                    with suppress(KafkaException):
                        _, end = consumer.get_watermark_offsets(place, timeout=2)
                        self.history.ends[place.topic, place.partition, level].append(end)
        for consumer in consumers.values():
            consumer.close()


def staged_crash_campaign(
    cycles: int, seed: int, workloads: Sequence[type[StagedWorkload]] = WORKLOADS
) -> StagedCrashReport:
    """Kill and restart a broker `cycles` times while the workloads run."""
    chance = random.Random(seed)
    with testing.broker(timeout_s=60) as broker:
        places = _make_topics(broker.bootstrap, workloads)
        history = History()
        works = [kind(broker.bootstrap, seed + index) for index, kind in enumerate(workloads)]
        reader = Reader(broker.bootstrap, places)
        observer = EndObserver(broker.bootstrap, places, history)
        with _running(observer), _running(reader):
            with _running(*works):
                _wait_until_at_work(works)
                slowest_s = kill_again_and_again(broker, cycles, chance, LONGEST_LIFE_S)
            failures = [failure for work in works for failure in work.failures]
            if failures:
                raise RuntimeError(f"the workloads could not go on: {failures[:3]}")
            history.sent = [record for work in works for record in work.history.sent]
            wait_until_read(history, reader)
        history.read = reader.read
        history.reread = read_again(broker.bootstrap, places, len(history.read))
    ends_asked = sum(map(len, history.ends.values()))
    return StagedCrashReport(cycles, len(history.sent), len(history.read), ends_asked, slowest_s, judge_staged(history))


def _make_topics(bootstrap: str, workloads: Sequence[type[StagedWorkload]]) -> list[TopicPartition]:
    topics = {name: config for kind in workloads for name, config in kind.TOPICS.items()}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [NewTopic(name, PARTITIONS, 1, config=config) for name, config in topics.items()]
    for made in admin.create_topics(wanted).values():
        made.result(30)
    return [TopicPartition(name, index, OFFSET_BEGINNING) for name in topics for index in range(PARTITIONS)]


@contextmanager
def _running(*actors: StagedWorkload | Reader | EndObserver) -> Iterator[None]:
    threads = [threading.Thread(target=actor.run) for actor in actors]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for actor in actors:
            actor.stopping.set()
        for thread in threads:
            thread.join()


def _wait_until_at_work(works: Sequence[StagedWorkload]) -> None:
    """Connecting takes a while, and the broker is not to be killed for nothing."""
    deadline = time.monotonic() + SETTLE_S
    while not all(work.is_at_work() for work in works) and time.monotonic() < deadline:
        time.sleep(0.05)


def wait_until_read(history: History, reader: Reader) -> None:
    """Until nothing is missing; what stays missing is for the judge to name."""
    last_due_s = max((record.due_s for record in history.sent), default=0.0)
    deadline = last_due_s + SETTLE_S
    while time.monotonic() < deadline:
        if time.monotonic() > last_due_s and not missing(history.sent, list(reader.read)):
            break
        time.sleep(0.1)
    # What should not come at all gets the time to come.
    time.sleep(0.5)


def _consumer(bootstrap: str, isolation: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "fetch.wait.max.ms": 50,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 100,
            "topic.metadata.refresh.interval.ms": 1000,
            "log_level": 0,
        }
    )


def _read(consumer: Consumer) -> Iterator[Read]:
    messages = consumer.consume(1000, timeout=0.05)
    now_s = time.monotonic()
    for message in messages:
        error = message.error()
        if error is None:
            yield _as_read(message, now_s)
        elif not error.retriable():
            raise KafkaException(error)


def _as_read(message: Message, now_s: float) -> Read:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return Read((topic, partition), offset, message.value() or b"", now_s)


def read_again(bootstrap: str, places: Sequence[TopicPartition], count: int) -> list[Read]:
    consumer = _consumer(bootstrap, "read_committed")
    consumer.assign(list(places))
    found: list[Read] = []
    deadline = time.monotonic() + SETTLE_S
    while len(found) < count and time.monotonic() < deadline:
        found.extend(_read(consumer))
    found.extend(_read(consumer))
    consumer.close()
    return found
