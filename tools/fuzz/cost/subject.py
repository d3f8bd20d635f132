"""The broker that is asked: a process of its own, with what the requests name in it, and what each request costs it."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from tidegate.testing import RunningBroker
from tools.fuzz.cost.batches import batch
from tools.fuzz.cost.bystander import Bystander
from tools.fuzz.cost.connection import Connection, Outcome
from tools.fuzz.cost.probe import LongestTurn
from tools.fuzz.cost.vocabulary import GROUP, PARTITIONS, TOPIC, TRANSACTIONAL_ID, Vocabulary
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.init_producer_id import InitProducerIdRequest
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

START_S = 30.0
PATIENCE_S = 20.0
SETUP_S = 10.0
SPENT_BYTES = 6 << 20
WATCHED_S = 3
CREATE_TOPICS, METADATA, PRODUCE, OFFSET_COMMIT, FIND_COORDINATOR, INIT_PRODUCER_ID = 19, 3, 0, 8, 10, 22


@frozen
class Cost:
    """What one request, or one volley of them, did to the broker: resident memory gained at the worst moment, and the
    longest turn of its loop."""

    outcome: Outcome
    request_bytes: int
    answer_bytes: int
    growth_bytes: int
    stall_ms: float


class ProbedBroker(RunningBroker):
    """A broker for tests with the probe in its loop."""

    def __init__(self, data_dir: Path, log_file: Path, turns: Path) -> None:
        super().__init__({"group.initial.rebalance.delay.ms": "0"}, data_dir, log_file, START_S)
        self._turns = turns

    def _command(self) -> list[str]:
        command = super()._command()
        module = command.index("-m") + 1
        return [*command[:module], "tools.fuzz.cost.probe", str(self._turns), *command[module + 1 :]]


@contextmanager
def subject() -> "Iterator[Subject]":
    """A fresh broker, ready to be asked."""
    with tempfile.TemporaryDirectory(prefix="tidegate-cost-", ignore_cleanup_errors=True) as scratch:
        place = Path(scratch)
        with LongestTurn(place / "turns") as longest:
            broker = ProbedBroker(place / "data", place / "log", place / "turns")
            broker.start()
            try:
                yield Subject(broker, longest)
            finally:
                broker.kill()


class Subject:
    """A running broker and what it weighs while nothing happens."""

    def __init__(self, broker: RunningBroker, longest: LongestTurn) -> None:
        self._broker = broker
        self._longest = longest
        self.vocabulary = Vocabulary(self._fill())
        self._idle_bytes = _memory(broker.pid)["VmRSS"]

    def cost(self, frames: Sequence[bytes]) -> Cost:
        """Sends the frames on a connection of their own and waits until the broker has dealt with them."""
        _forget_peak(self._broker.pid)
        self._longest.reset()
        with Connection(self._broker.port, PATIENCE_S) as connection:
            exchange = connection.exchange(frames)
        self._settle()
        cpu_s, _ = self._longest.read_s()
        return Cost(
            outcome=exchange.outcome,
            request_bytes=sum(map(len, frames)),
            answer_bytes=exchange.answer_bytes,
            growth_bytes=max(0, _memory(self._broker.pid)["VmHWM"] - self._idle_bytes),
            stall_ms=cpu_s * 1000,
        )

    def waits_of_another_ms(self, frames: Sequence[bytes]) -> tuple[float, float]:
        """The p99 of a client who produces a little, first alone, then while these frames are sent once a second."""
        with (
            Connection(self._broker.port, PATIENCE_S) as connection,
            Bystander(connection, _produce) as another,
        ):
            time.sleep(WATCHED_S)
            alone_ms = another.p99_ms()
            for _ in range(WATCHED_S):
                began = time.monotonic()
                self.cost(frames)
                time.sleep(max(0.0, began + 1 - time.monotonic()))
            return alone_ms, another.p99_ms()

    @property
    def is_spent(self) -> bool:
        """Whether it holds so much memory of what it was asked that the next growth could not be told."""
        return _memory(self._broker.pid)["VmRSS"] - self._idle_bytes > SPENT_BYTES

    def _settle(self) -> None:
        """Until the loop has come round twice: the turn in question has then been noted."""
        for _ in range(2):
            with Connection(self._broker.port, PATIENCE_S) as connection:
                connection.ask(METADATA, 1, MetadataRequest([]))

    def _fill(self) -> bytes:
        """Makes what the vocabulary names; returns the topic's id."""
        with Connection(self._broker.port, SETUP_S) as connection:
            topic = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)
            connection.ask(CREATE_TOPICS, 5, CreateTopicsRequest(topics=[topic], timeout_ms=5000))
            _produce(connection)
            for key_type, name in ((0, GROUP), (1, TRANSACTIONAL_ID)):
                self._until_coordinated(connection, key_type, name)
            connection.ask(INIT_PRODUCER_ID, 1, InitProducerIdRequest(TRANSACTIONAL_ID, 10_000))
            committed = OffsetCommitRequestTopic(name=TOPIC, partitions=[OffsetCommitRequestPartition(0, 1)])
            commit = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, topics=[committed])
            connection.ask(OFFSET_COMMIT, 7, commit)
            answer = connection.ask(METADATA, 12, MetadataRequest([MetadataRequestTopic(name=TOPIC)]))
            identity: bytes = answer.topics[0].topic_id
            return identity

    def _until_coordinated(self, connection: Connection, key_type: int, name: str) -> None:
        """The internal topic behind the first question is made when it is asked."""
        deadline = time.monotonic() + SETUP_S
        while time.monotonic() < deadline:
            found = connection.ask(FIND_COORDINATOR, 2, FindCoordinatorRequest(key=name, key_type=key_type))
            if found.error_code == 0:
                return
            time.sleep(0.02)
        raise RuntimeError(f"no coordinator for {name}")


def _produce(connection: Connection) -> Any:
    """A small honest request: a record for each partition, acknowledged when durable."""
    written = [PartitionProduceData(index=index, records=batch("plain", 500)) for index in range(PARTITIONS)]
    data = TopicProduceData(name=TOPIC, partition_data=written)
    return connection.ask(PRODUCE, 9, ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[data]))


def _memory(pid: int) -> dict[str, int]:
    """`VmRSS`, what is resident now, and `VmHWM`, the most since the peak was forgotten, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = (line.split() for line in lines if line.startswith(("VmRSS:", "VmHWM:")))
    return {name.rstrip(":"): int(kibibytes) * 1024 for name, kibibytes, _ in fields}


def _forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")
