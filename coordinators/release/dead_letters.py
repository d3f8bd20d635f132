"""Expired records on their way to the dead-letter topic, exactly once.

The stage remembers what has to go there, and under which producer id: each record is a batch of its own with the next
sequence number, so that one which is sent again after a crash is known there. The headers are those of KIP-1191.

A letter arrives whole and is final: no bound of the dead-letter topic on size or time refuses it, the extension headers
that it carries are not obeyed a second time, and it does not expire there (ADR 0023). What keeps it from being written
is logged once a minute; meanwhile it stays in the stage, and nothing is lost.

A stage's letters always go to the same partition, so that it knows which it has. Where another node leads that they are
carried there (`LetterCarrier`), under the same producer id and sequence numbers.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol

import trio
from attrs import define, field

from coordinators.cluster.controller import ClusterController
from coordinators.producer_ids import ProducerIds
from coordinators.records.publication import Publication
from coordinators.records.publishing import Publishing
from coordinators.topics import Topic, TopicSpec
from coordinators.waiting import result_of, until_durable
from engine.clock import Clock
from engine.deferred import Deferred
from engine.errors import BrokerError, DuplicateSequence, OutOfOrderSequence
from engine.log.producer_state import SEQUENCES
from engine.log.types import Origin
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition, stages_of
from engine.partition.staging import Staging
from engine.records.batch import Batch, made
from engine.records.layout import (
    HEADER_SIZE,
    RecordSpan,
    pack_batch,
    pack_record,
    parse_header,
    walk_records,
)
from engine.stage.events import DeadLetterProducer
from engine.stage.pending import PendingRow

logger = logging.getLogger("tidegate.dead_letters")

SENT_TOGETHER = 100
RETRY_S = 1.0
LOGGED_EVERY_S = 60.0
SENT_TOGETHER_BYTES = 4 * 1024 * 1024
DURABLE_WITHIN_S = 30.0
REASON = b"The record expired before it could be delivered."

Letter = tuple[RecordSpan, int]
Target = tuple[Topic, int]


class LetterCarrier(Protocol):
    """Takes letters to a partition that another node leads."""

    async def carry(self, leader: int, topic: Topic, index: int, letters: Sequence[bytes]) -> list[BrokerError | None]:
        """What became of each, in their order, durable where it is None; raises where that is not known."""
        ...


@define(eq=False)
class DeadLetters:
    """See the module. One task for each stage that has any."""

    controller: ClusterController
    producer_ids: ProducerIds
    clock: Clock
    publishing: Publishing
    carrier: LetterCarrier | None = None
    """None where there is no other node."""
    _under_way: set[Staging] = field(factory=set)
    _started: bool = False

    def start(self) -> None:
        """The broker runs: go on with what was left."""
        self._started = True
        for staging in stages_of(self.controller.partitions):
            self.wake(staging)

    def wake(self, staging: Staging) -> None:
        """There may be something to send."""
        if self._started and staging.stage.state.dead_letters and staging not in self._under_way:
            self._under_way.add(staging)
            self.controller.background.start_soon(self._deliver, staging)

    async def _deliver(self, staging: Staging) -> None:
        logged_at = -LOGGED_EVERY_S
        try:
            while staging.stage.state.dead_letters and not staging.ended:
                try:
                    await self._deliver_some(staging)
                except (BrokerError, OSError) as error:
                    now = self.clock.monotonic()
                    if now - logged_at >= LOGGED_EVERY_S:
                        logged_at = now
                        waiting = len(staging.stage.state.dead_letters)
                        logger.error("%s: %d dead letters wait: %s", staging.partition.log.name, waiting, error)
                    await trio.sleep(RETRY_S)
        finally:
            self._under_way.discard(staging)

    async def _deliver_some(self, staging: Staging) -> None:
        source = self.controller.topics.by_id.get(staging.partition.topic_id)
        if source is None:
            return
        target = await self._target(source, staging)
        if staging.stage.state.dead_letter_producer < 0:
            await self._take_producer(staging)
        # What expired must stay so: the letters follow once that is durable.
        await self._durable(staging.store, staging.store.log.end_offset - 1)
        sent = await self._send(source, staging, target)
        if not sent:
            # The letters went elsewhere for a while: here their sequence has a gap, and none of these has arrived.
            await self._take_producer(staging)
            return
        await _in_turn(staging, lambda: staging.stage.dead_lettered(sent))

    async def _send(self, source: Topic, staging: Staging, target: Target) -> list[int]:
        """Have the first letters written; which of them the topic has, durably."""
        leader = target[0].partitions[target[1]].leader
        if leader != self.controller.topics.node_id and leader >= 0 and self.carrier is not None:
            return await self._send_there(self.carrier, leader, source, staging, target)
        partition = self.publishing.directory.partition(*target)
        sent = await self._send_here(source, staging, target[0], partition)
        # Where they are, or were when they were sent before: in the topic's log, or in its own lanes.
        for log in partition.logs if sent else ():
            await self._durable(log, log.log.end_offset - 1)
        return sent

    async def _send_here(self, source: Topic, staging: Staging, topic: Topic, partition: Partition) -> list[int]:
        sent = list[int]()
        for number, letters in self._first_letters(source, staging):
            try:
                for letter in letters:
                    await self._publish(topic, partition, made(letter, Origin.LETTER))
            except OutOfOrderSequence:
                break
            sent.append(number)
        return sent

    async def _publish(self, topic: Topic, partition: Partition, letter: Batch) -> None:
        """Write a letter, unless it is there already."""
        deadline = self.clock.monotonic() + DURABLE_WITHIN_S
        with suppress(DuplicateSequence):
            await self.publishing.deliver(Publication(topic, partition, letter), durable=False, deadline=deadline)

    async def _send_there(
        self, carrier: LetterCarrier, leader: int, source: Topic, staging: Staging, target: Target
    ) -> list[int]:
        rows = list(self._first_letters(source, staging))
        answers = iter(await carrier.carry(leader, *target, [letter for _, letters in rows for letter in letters]))
        sent = list[int]()
        for number, letters in rows:
            for _ in letters:
                error = next(answers)
                if isinstance(error, OutOfOrderSequence):
                    return sent
                if error is not None and not isinstance(error, DuplicateSequence):
                    raise error
            sent.append(number)
        return sent

    def _first_letters(self, source: Topic, staging: Staging) -> Iterator[tuple[int, list[bytes]]]:
        """So many as are sent together, as batches, by the number of their row."""
        state, size = staging.stage.state, 0
        sequence = state.dead_letters_sent
        for number in list(state.dead_letters)[:SENT_TOGETHER]:
            row, letters = state.table.get(number), list[bytes]()
            for letter in self._letters(staging, row) if row is not None else ():
                letters.append(
                    _batch(source.name, staging.partition.index, letter, state.dead_letter_producer, sequence)
                )
                sequence += 1
            yield number, letters
            size += sum(map(len, letters))
            if size > SENT_TOGETHER_BYTES:
                return

    async def _target(self, source: Topic, staging: Staging) -> Target:
        """The partition of the dead-letter topic, which is made if it does not exist."""
        topics, name = self.controller.topics, staging.stage.config.dead_letters_of(source.name)
        if name not in topics.by_name:
            # Where the broker's default is `dlq`: the letters' own topic has no letters.
            configs = {"expiry.policy": "drop"} if topics.settings.topic_defaults["expiry.policy"] == "dlq" else {}
            spec = TopicSpec(name, source.partition_count, configs=configs)
            await self.controller.ensure_topic(spec)
        topic = topics.by_name[name]
        return topic, staging.partition.index % len(topic.partitions)

    async def _take_producer(self, staging: Staging) -> None:
        """From here on the stage's letters go under a producer id of their own, beginning with sequence number 0."""
        while (producer_id := self.producer_ids.take()) is None:
            await self.producer_ids.replenish(self.controller.replicas.in_catalogue)
        event = DeadLetterProducer(producer_id)
        await _in_turn(staging, lambda: staging.stage.note(event))
        await self._durable(staging.store, staging.store.log.end_offset - 1)

    def _letters(self, staging: Staging, row: PendingRow) -> Iterator[Letter]:
        """The records of a row, with their create times."""
        data = staging.stage.read(row)
        if row.count == 1:
            yield next(walk_records(data, 1)), row.created_ms
            return
        header = parse_header(data)
        for index, span in enumerate(walk_records(memoryview(data)[HEADER_SIZE:], header.record_count)):
            if index >= staging.stage.state.dead_letters[row.number]:
                yield span, header.base_timestamp + span.timestamp_delta

    async def _durable(self, log: DurableLog, offset: int) -> None:
        await until_durable(log, offset, self.clock.monotonic() + DURABLE_WITHIN_S)


async def _in_turn(staging: Staging, change: Callable[[], object]) -> None:
    """Make a change of the stage when its turn has come."""
    made = Deferred[None]()

    def operation() -> None:
        try:
            change()
        except BrokerError as error:
            made.refuse(error)
        else:
            made.resolve(None)

    staging.submit(operation)
    await result_of(made)


def _batch(topic: str, partition: int, letter: Letter, producer_id: int, sequence: int) -> bytes:
    span, created_ms = letter
    headers = [(bytes(name), None if value is None else bytes(value)) for name, value in span.headers]
    headers += [
        (b"__dlq.errors.topic", topic.encode()),
        (b"__dlq.errors.partition", b"%d" % partition),
        (b"__dlq.errors.message", REASON),
    ]
    key, value = (None if field is None else bytes(field) for field in (span.key, span.value))
    return pack_batch(
        [pack_record(0, 0, key, value, headers)],
        (created_ms, created_ms),
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence % SEQUENCES,
    )
