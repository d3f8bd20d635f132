"""What clients do to the cluster while it suffers, with the settings that they have by default.

Each workload is a thread with clients of its own. Those of `tools/soak` (delays, priorities, transactions over both)
are used as they are, but with a client's default patience; the others here are only of a cluster's interest.
"""

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from attrs import define, field
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tools.soak import staged_workloads as soak

PACE_S = 0.02
RETRY_S = 0.1
SOURCE = "chaos-plain"
COPIES = ("chaos-copied", "chaos-twin")
SOURCE_PARTITIONS = 6


class Actor:
    """Something that goes on in a thread until it is told to stop."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        self.bootstrap = bootstrap
        self.chance = random.Random(seed)
        self.stopping = threading.Event()
        self.failures: list[str] = []

    def run(self) -> None:
        """Until `stopping` is set."""
        try:
            self.work()
        except Exception as error:
            self.failures.append(f"{type(self).__name__}: {error!r}")
            raise

    def work(self) -> None:
        raise NotImplementedError


class Plain(Actor):
    """An idempotent producer with default settings; notes when each partition was acknowledged."""

    def __init__(self, bootstrap: str, seed: int, topic: str = SOURCE, partitions: int = SOURCE_PARTITIONS) -> None:
        super().__init__(bootstrap, seed)
        self.topic, self.partitions = topic, partitions
        self.sent: dict[int, list[bytes]] = defaultdict(list)
        self.acknowledged: list[tuple[int, bytes]] = []
        self.acked_s: dict[int, list[float]] = defaultdict(list)

    def work(self) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "log_level": 0})
        number = 0
        while not self.stopping.is_set():
            for partition in range(self.partitions):
                mark = b"%d" % number
                self.sent[partition].append(mark)
                producer.produce(self.topic, mark, partition=partition, on_delivery=self._delivered)
                number += 1
            next_s = time.monotonic() + PACE_S
            while (left_s := next_s - time.monotonic()) > 0:
                producer.poll(left_s)
        if left := producer.flush(60):
            self.failures.append(f"{left} records were neither acknowledged nor refused in time")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        partition, value = message.partition(), message.value()
        assert partition is not None
        assert value is not None
        if error is None:
            self.acknowledged.append((partition, value))
            self.acked_s[partition].append(time.monotonic())
        else:
            self.failures.append(f"Plain: {error}")


class Loop(Actor):
    """Consume, transform, produce: every record of the source to both copies, with its offset, in a transaction."""

    def __init__(
        self, bootstrap: str, seed: int, source: str = SOURCE, copies: Sequence[str] = COPIES, name: str = "chaos-loop"
    ) -> None:
        super().__init__(bootstrap, seed)
        self.source, self.copies, self.name = source, copies, name
        self.committed = self.given_up = self.aborted = self.restarts = 0
        self.troubles: list[str] = []

    def summary(self) -> str:
        """What it did, and what it was told last."""
        told = most_told(self.troubles)
        ends = f"{self.committed} transactions committed, {self.given_up} given up, {self.aborted} had to be aborted"
        return f"{ends}, {self.restarts} producers lost {told}"

    def work(self) -> None:
        while not self.stopping.is_set():
            try:
                self._live()
            except KafkaException as error:
                # A new producer of the same name takes over, as a program that is started again does.
                self.troubles.append(str(error))
                self.restarts += 1
                time.sleep(RETRY_S)

    def _live(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": self.name,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "log_level": 0,
            }
        )
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "transactional.id": self.name,
                # Where the only node that it is connected to goes, it forgets all nodes otherwise, its coordinator
                # with them, and hangs (docs/reliability.md).
                "metadata.recovery.strategy": "none",
                "log_level": 0,
            }
        )
        try:
            # First of all: what an earlier producer of the name has left is ended before anybody asks where to go on.
            self._patiently(producer.init_transactions)
            consumer.subscribe([self.source])
            while not self.stopping.is_set():
                messages = [message for message in consumer.consume(200, timeout=0.3) if message.error() is None]
                if messages:
                    self._one(consumer, producer, messages)
        finally:
            consumer.close()

    def _one(self, consumer: Consumer, producer: Producer, messages: list[Message]) -> None:
        producer.begin_transaction()
        try:
            for message in messages:
                for topic in self.copies:
                    producer.produce(topic, message.value(), partition=message.partition() or 0)
                producer.poll(0)
            places = _next_places(messages)
            self._patiently(
                lambda s: producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), s)
            )
            if self.chance.random() < 0.15:
                raise _ChangedMind
            self._patiently(producer.commit_transaction)
            self.committed += 1
        except (_ChangedMind, KafkaException) as error:
            if isinstance(error, KafkaException):
                self.troubles.append(str(error))
                if not error.args[0].txn_requires_abort():
                    raise
            self._patiently(producer.abort_transaction)
            self.given_up += isinstance(error, _ChangedMind)
            self.aborted += isinstance(error, KafkaException)
            self._patiently(lambda s: _rewind(consumer, s))

    def _patiently(self, call: Any) -> None:
        while True:
            try:
                call(30.0)
                return
            except KafkaException as error:
                if not error.args[0].retriable() and error.args[0].code() != KafkaError.NOT_COORDINATOR:
                    raise
                time.sleep(RETRY_S)


def most_told(troubles: Sequence[str]) -> str:
    """The errors that a client got most often."""
    return "; ".join(f"{count} x {text}" for text, count in Counter(troubles).most_common(3))


class _ChangedMind(Exception):
    """The transaction is given up for no reason at all."""


def _next_places(messages: list[Message]) -> list[TopicPartition]:
    ends = {(message.topic(), message.partition()): (message.offset() or 0) + 1 for message in messages}
    return [TopicPartition(topic or "", partition or 0, end) for (topic, partition), end in ends.items()]


def _rewind(consumer: Consumer, timeout_s: float) -> None:
    """librdkafka asks for the coordinator anew when it is told NOT_COORDINATOR, and leaves trying again to its user."""
    assigned = consumer.assignment()
    for place in consumer.committed(assigned, timeout=timeout_s):
        if place.error is not None:
            raise KafkaException(place.error)
        consumer.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))


class Member(Actor):
    """A member of a consumer group that commits what it has read; notes what was read again below a commit."""

    def __init__(self, bootstrap: str, seed: int, group: "GroupHistory") -> None:
        super().__init__(bootstrap, seed)
        self.group = group
        self.troubles: list[str] = []

    def work(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": self.group.name,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        consumer.subscribe([self.group.topic])
        try:
            while not self.stopping.is_set():
                messages = consumer.consume(200, timeout=0.3)
                read = [message for message in messages if message.error() is None]
                self.troubles += [str(message.error()) for message in messages if message.error() is not None]
                if read:
                    self.group.note(read)
                    self._commit(consumer, _next_places(read))
        finally:
            consumer.close()

    def _commit(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        try:
            done = consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            self.troubles.append(f"commit: {error}")
        else:
            for place in done or ():
                if place.error is None:
                    self.group.committed(place.partition, place.offset)


@define(eq=False)
class GroupHistory:
    """What the members of a group have read and committed together."""

    topic: str = SOURCE
    name: str = "chaos-members"
    read: dict[int, list[bytes]] = field(factory=lambda: defaultdict(list))
    ends: dict[int, int] = field(factory=dict)
    repeated: list[tuple[int, int, int]] = field(factory=list)
    """(partition, offset read, offset that had been committed before)."""
    lock: threading.Lock = field(factory=threading.Lock)

    def note(self, messages: list[Message]) -> None:
        with self.lock:
            for message in messages:
                partition, offset = message.partition() or 0, message.offset() or 0
                if offset < self.ends.get(partition, 0):
                    self.repeated.append((partition, offset, self.ends[partition]))
                self.read[partition].append(message.value() or b"")

    def committed(self, partition: int, offset: int) -> None:
        with self.lock:
            self.ends[partition] = max(offset, self.ends.get(partition, 0))


class _DefaultPatience:
    """A client's own settings, and a pace that a busy machine can keep."""

    stopping: threading.Event

    def settings(self) -> dict[str, Any]:
        kept = ("bootstrap.servers", "enable.idempotence", "transactional.id", "transaction.timeout.ms", "log_level")
        return {key: value for key, value in super().settings().items() if key in kept}  # type: ignore[misc]

    def step(self) -> None:
        super().step()  # type: ignore[misc]
        self.stopping.wait(PACE_S)


class Delayed(_DefaultPatience, soak.Delayed):
    """Delays of all lengths."""


class Cancelling(_DefaultPatience, soak.Cancelling):
    """Schedules and cancellations."""


class Prioritised(_DefaultPatience, soak.Prioritised):
    """Lanes."""


class Transactional(_DefaultPatience, soak.Transactional):
    """Transactions over held records."""


STAGED: tuple[type[soak.StagedWorkload], ...] = (Delayed, Cancelling, Prioritised, Transactional)
