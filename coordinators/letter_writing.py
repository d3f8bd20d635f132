"""Dead letters on their way to a dead-letter topic, exactly once, whoever they are of.

Whoever has letters to send remembers durably which, in which order, in which batches, and under which producer id. A
batch has the next sequence numbers, so that one which is sent again after a crash is known where it goes, and is not
written twice. The headers are those of KIP-1191.

A letter arrives whole and is final: no bound of the dead-letter topic on size or time refuses it, the extension headers
that it carries are not obeyed a second time, and it does not expire there (ADR 0023). What keeps it from being written
is logged once a minute; meanwhile it stays where it is, and nothing is lost.

Where another node leads the partition that letters go to they are carried there (`LetterCarrier`), under the same
producer id and sequence numbers.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol

import trio
from attrs import define

from coordinators.cluster.controller import ClusterController
from coordinators.letter_rules import ENABLE
from coordinators.producer_ids import ProducerIds
from coordinators.records.publication import Publication
from coordinators.records.publishing import Publishing
from coordinators.topics import Topic, TopicSpec
from coordinators.waiting import until_durable
from engine.clock import Clock
from engine.errors import BrokerError, DuplicateSequence, OutOfOrderSequence
from engine.files.files import Buffer
from engine.log.producer_state import SEQUENCES
from engine.log.types import Origin
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from engine.records.batch import Batch, made
from engine.records.layout import pack_batch, pack_record

logger = logging.getLogger("tidegate.dead_letters")

SENT_TOGETHER = 100
SENT_TOGETHER_BYTES = 4 * 1024 * 1024
RETRY_S = 1.0
LOGGED_EVERY_S = 60.0
DURABLE_WITHIN_S = 30.0

Target = tuple[Topic, int]
Header = tuple[bytes, bytes | None]


class LetterCarrier(Protocol):
    """Takes letters to a partition that another node leads."""

    async def carry(self, leader: int, topic: Topic, index: int, letters: Sequence[bytes]) -> list[BrokerError | None]:
        """What became of each, in their order, durable where it is None; raises where that is not known."""
        ...


@define(eq=False)
class LetterWriting:
    """See the module."""

    controller: ClusterController
    producer_ids: ProducerIds
    clock: Clock
    publishing: Publishing
    carrier: LetterCarrier | None = None
    """None where there is no other node."""

    async def persist(self, name: str, waiting: Callable[[], int], deliver_some: Callable[[], Awaitable[None]]) -> None:
        """Deliver letters until none waits, however often that fails."""
        logged_at = -LOGGED_EVERY_S
        while waiting():
            try:
                await deliver_some()
            except (BrokerError, OSError) as error:
                now = self.clock.monotonic()
                if now - logged_at >= LOGGED_EVERY_S:
                    logged_at = now
                    logger.error("%s: %d dead letters wait: %s", name, waiting(), error)
                await trio.sleep(RETRY_S)

    async def target(self, name: str, source: Topic, index: int) -> Target:
        """The partition of the dead-letter topic for one of the source, which is made if it does not exist."""
        topics = self.controller.topics
        if name not in topics.by_name:
            # Where the broker's default is `dlq`: the letters' own topic has no letters.
            configs = {"expiry.policy": "drop"} if topics.settings.topic_defaults["expiry.policy"] == "dlq" else {}
            configs[ENABLE] = "true"
            await self.controller.ensure_topic(TopicSpec(name, source.partition_count, configs=configs))
        topic = topics.by_name[name]
        return topic, index % len(topic.partitions)

    async def new_producer_id(self) -> int:
        """An identity that nobody has had."""
        while (producer_id := self.producer_ids.take()) is None:
            await self.producer_ids.replenish(self.controller.replicas.in_catalogue)
        return producer_id

    async def send(self, target: Target, letters: Sequence[bytes]) -> int:
        """Have letters written in their order; how many of the first ones are there, durably. Fewer than all are where
        their sequence has a gap there: what comes next has not arrived."""
        topic, index = target
        leader = topic.partitions[index].leader
        if leader != self.controller.topics.node_id and leader >= 0 and self.carrier is not None:
            return _arrived(await self.carrier.carry(leader, topic, index, letters))
        partition = self.publishing.directory.partition(topic, index)
        sent = 0
        try:
            for letter in letters:
                await self._publish(topic, partition, made(letter, Origin.LETTER))
                sent += 1
        except OutOfOrderSequence:
            pass
        # Where they are, or were when they were sent before: in the topic's log, or in its own lanes.
        for log in partition.logs if sent else ():
            await self.durable(log, log.log.end_offset - 1)
        return sent

    async def _publish(self, topic: Topic, partition: Partition, letter: Batch) -> None:
        """Write a letter, unless it is there already."""
        deadline = self.clock.monotonic() + DURABLE_WITHIN_S
        with suppress(DuplicateSequence):
            await self.publishing.deliver(Publication(topic, partition, letter), durable=False, deadline=deadline)

    async def durable(self, log: DurableLog, offset: int) -> None:
        """Wait until a record is."""
        await until_durable(log, offset, self.clock.monotonic() + DURABLE_WITHIN_S)


def _arrived(answers: Sequence[BrokerError | None]) -> int:
    for number, error in enumerate(answers):
        if isinstance(error, OutOfOrderSequence):
            return number
        if error is not None and not isinstance(error, DuplicateSequence):
            raise error
    return len(answers)


class Copied(Protocol):
    """A record, of which a letter is a copy."""

    @property
    def key(self) -> Buffer | None: ...

    @property
    def value(self) -> Buffer | None: ...

    @property
    def headers(self) -> Sequence[tuple[Buffer, Buffer | None]]: ...


Letter = tuple[Copied | None, Sequence[Header]]
"""A record, None where it is not copied, and what is told of it."""


def letter_batch(letters: Sequence[Letter], timestamp_ms: int, producer_id: int, sequence: int) -> bytes:
    """Letters that go together: each is a record with its headers, and what is told of it."""
    return pack_batch(
        [_packed(number, *letter) for number, letter in enumerate(letters)],
        (timestamp_ms, timestamp_ms),
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence % SEQUENCES,
    )


def _packed(number: int, record: Copied | None, told: Sequence[Header]) -> bytes:
    if record is None:
        return pack_record(number, 0, None, None, told)
    key, value = (None if field is None else bytes(field) for field in (record.key, record.value))
    headers = [(bytes(name), None if value is None else bytes(value)) for name, value in record.headers]
    return pack_record(number, 0, key, value, [*headers, *told])
