"""kill -9 at random instants while writers ask where their partition ends after every acknowledgement.

Each writer has a partition of a prioritised topic to itself and sends a few records at a time, of all lanes, some with
a time to live. Every one takes an offset, be it as a hole: so the end that is told after an acknowledgement is never
below the number of records acknowledged so far, and never below an end told before. Meanwhile `priority.enable` is
switched, records are read, and expire.

That a record is later read behind an end that was told after its acknowledgement is no fault: others have overtaken it.
Those are counted.
"""

import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from attrs import define, field, frozen
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tidegate import testing
from tools.soak.crash import kill_again_and_again
from tools.soak.staged_workloads import PRIORITIES

TOPIC = "soak-ends"
PARTITIONS = 3
SWITCH_EVERY_S = 0.3
SETTLE_S = 20.0
PATIENCE_S = 300.0
"""On a busy machine the broker is away for longer than it lives."""
LONGEST_LIFE_S = 2.0
"""Between two kills: the clients find the broker again in the first few tenths."""
_CLIENT: dict[str, str | int | float | bool] = {
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 100,
    "log_level": 0,
    # A client that forgets the broker as soon as it is away needs longer to come back than the broker lives.
    "metadata.recovery.strategy": "none",
}


@frozen
class Short:
    """An end that cannot be: below what was acknowledged, or below what was told before."""

    partition: int
    isolation: str
    acknowledged: int
    told: int
    end: int


@frozen
class EndReport:
    """What a campaign did and found."""

    cycles: int
    acknowledged: int
    ends_asked: int
    switches: int
    overtaken: int
    slowest_start_s: float
    short: tuple[Short, ...]

    @property
    def clean(self) -> bool:
        return not self.short


@define(eq=False)
class Actor:
    """Something that goes on in a thread until it is told to stop."""

    bootstrap: str
    stopping: threading.Event = field(factory=threading.Event)
    failures: list[str] = field(factory=list)

    def run(self) -> None:
        try:
            self.work()
        except Exception as error:
            self.failures.append(f"{type(self).__name__}: {error!r}")
            raise

    def work(self) -> None:
        raise NotImplementedError


@define(eq=False)
class EndWriter(Actor):
    """Writes one partition, and asks where it ends."""

    partition: int = 0
    seed: int = 0
    acknowledged: int = 0
    asked: int = 0
    short: list[Short] = field(factory=list)
    ends: dict[bytes, int] = field(factory=dict)
    """By record, the first end that was told after it was acknowledged."""

    def work(self) -> None:
        chance = random.Random(self.seed)
        settings = {"bootstrap.servers": self.bootstrap, **_CLIENT}
        producer = Producer(
            {**settings, "enable.idempotence": True, "message.timeout.ms": 300_000, "retry.backoff.ms": 20}
        )
        levels = ("read_committed", "read_uncommitted")
        consumers = {level: Consumer({**settings, "group.id": "unused", "isolation.level": level}) for level in levels}
        told = dict.fromkeys(levels, 0)
        while not self.stopping.is_set():
            marks = self._send(producer, chance)
            for level, consumer in consumers.items():
                told[level] = self._ask(consumer, level, told[level])
            for mark in marks:
                self.ends[mark] = told["read_uncommitted"]
        for consumer in consumers.values():
            consumer.close()

    def _send(self, producer: Producer, chance: random.Random) -> list[bytes]:
        """Send a few, and return once they are acknowledged."""
        marks = [b"%d-%d" % (self.partition, self.acknowledged + index) for index in range(chance.randrange(1, 5))]
        for mark in marks:
            headers: list[tuple[str, str | bytes | None]] = []
            if chance.random() < 0.7:
                headers.append(("tide-priority", chance.choice(PRIORITIES)))
            if chance.random() < 0.3:
                headers.append(("tide-ttl", b"%d" % chance.choice((1, 20, 200))))
            producer.produce(TOPIC, mark, partition=self.partition, headers=headers, on_delivery=self._delivered)
        wanted = self.acknowledged + len(marks)
        deadline = time.monotonic() + PATIENCE_S
        while self.acknowledged < wanted and time.monotonic() < deadline:
            producer.poll(0.05)
        if self.acknowledged < wanted:
            raise RuntimeError(f"{wanted - self.acknowledged} records are not acknowledged: {self.failures[:1]}")
        return marks

    def _delivered(self, error: object, _: Message) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.failures.append(str(error))

    def _ask(self, consumer: Consumer, level: str, told: int) -> int:
        place = TopicPartition(TOPIC, self.partition)
        while not self.stopping.is_set():
            # The broker may be away.
            with suppress(KafkaException):
                end = int(consumer.get_watermark_offsets(place, timeout=2)[1])
                self.asked += 1
                if end < max(told, self.acknowledged):
                    self.short.append(Short(self.partition, level, self.acknowledged, told, end))
                return max(end, told)
        return told


@define(eq=False)
class Switcher(Actor):
    """Switches priorities on and off."""

    seed: int = 0
    switches: int = 0

    def work(self) -> None:
        chance = random.Random(self.seed)
        admin = AdminClient({"bootstrap.servers": self.bootstrap, **_CLIENT})
        while not self.stopping.wait(chance.uniform(0.05, SWITCH_EVERY_S)):
            value = chance.choice(("true", "true", "auto", "false"))
            entry = ConfigEntry("priority.enable", value, incremental_operation=AlterConfigOpType.SET)
            resource = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[entry])
            with suppress(KafkaException):
                for done in admin.incremental_alter_configs([resource], request_timeout=2).values():
                    done.result(3)
                    self.switches += 1


@define(eq=False)
class EndReader(Actor):
    """Reads now and then, so that lanes fill and are emptied."""

    seed: int = 0
    offsets: dict[bytes, int] = field(factory=dict)

    def work(self) -> None:
        chance = random.Random(self.seed)
        settings = {"bootstrap.servers": self.bootstrap, "group.id": "unused", "enable.auto.commit": False, **_CLIENT}
        consumer = Consumer({**settings, "queued.min.messages": 1, "fetch.wait.max.ms": 20})
        consumer.assign([TopicPartition(TOPIC, index, OFFSET_BEGINNING) for index in range(PARTITIONS)])
        while not self.stopping.is_set():
            # Slower than the writers at times, so that records overtake each other.
            self.stopping.wait(chance.choice((0, 0, 0.05, 0.3)))
            for message in consumer.consume(20, timeout=0.05):
                value, offset = message.value(), message.offset()
                if message.error() is None and value is not None and offset is not None:
                    self.offsets[value] = offset
        consumer.close()


def end_crash_campaign(cycles: int, seed: int) -> EndReport:
    """Kill and restart a broker `cycles` times while ends are asked for."""
    with testing.broker(timeout_s=60) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **_CLIENT})
        topic = NewTopic(TOPIC, PARTITIONS, 1, config={"priority.enable": "true", "message.ttl.ms": "1000"})
        admin.create_topics([topic])[TOPIC].result(30)
        writers = [EndWriter(broker.bootstrap, partition=index, seed=seed + index) for index in range(PARTITIONS)]
        switcher, reader = Switcher(broker.bootstrap, seed=seed), EndReader(broker.bootstrap, seed=seed)
        actors: Sequence[Actor] = [*writers, switcher, reader]
        threads = [threading.Thread(target=actor.run) for actor in actors]
        for thread in threads:
            thread.start()
        try:
            _wait_until_at_work(writers)
            slowest_s = kill_again_and_again(broker, cycles, random.Random(seed), LONGEST_LIFE_S)
        finally:
            for actor in actors:
                actor.stopping.set()
            for thread in threads:
                thread.join()
    failures = [failure for actor in actors for failure in actor.failures]
    if failures:
        raise RuntimeError(f"the campaign could not go on: {failures[:3]}")
    ends = {mark: end for writer in writers for mark, end in writer.ends.items()}
    return EndReport(
        cycles,
        sum(writer.acknowledged for writer in writers),
        sum(writer.asked for writer in writers),
        switcher.switches,
        sum(reader.offsets.get(mark, -1) >= end for mark, end in ends.items()),
        slowest_s,
        tuple(short for writer in writers for short in writer.short),
    )


def _wait_until_at_work(writers: Sequence[EndWriter]) -> None:
    deadline = time.monotonic() + SETTLE_S
    while not all(writer.asked for writer in writers) and time.monotonic() < deadline:
        time.sleep(0.05)
