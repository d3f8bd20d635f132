"""Expired records on their way to the dead-letter topic, exactly once.

The stage remembers what has to go there, and under which producer id: each record is a batch of its own with the next
sequence number, so that one which is sent again after a crash is known there. The headers are those of KIP-1191.
"""

import logging
from collections.abc import Callable, Iterator

import trio
from attrs import define, field

from coordinators.controller import Controller
from coordinators.deferred import Deferred
from coordinators.producer_ids import ProducerIds
from coordinators.release.staged import ClientBatch, Outcome, StagedPartition
from coordinators.topics import Topic, TopicSpec
from coordinators.waiting import raise_refusal, result_of, until_durable
from engine.clock import Clock
from engine.errors import BrokerError, DuplicateSequence, RecordTooLarge, TopicAlreadyExists
from engine.log import AppendResult
from engine.partition import Partition
from engine.producer_state import SEQUENCES
from engine.records import (
    HEADER_SIZE,
    RecordSpan,
    pack_batch,
    pack_record,
    parse_header,
    walk_records,
)
from engine.stage.events import DeadLetterProducer
from engine.stage.pending import Row

logger = logging.getLogger("tidegate.dead_letters")

SENT_TOGETHER = 100
RETRY_S = 1.0
DURABLE_WITHIN_S = 30.0
REASON = b"The record expired before it could be delivered."

Letter = tuple[RecordSpan, int]


@define(eq=False)
class DeadLetters:
    """See the module. One task for each stage that has any."""

    controller: Controller
    producer_ids: ProducerIds
    clock: Clock
    _under_way: set[StagedPartition] = field(factory=set)
    _started: bool = False

    def start(self) -> None:
        """The broker runs: go on with what was left."""
        self._started = True
        for partition in self.controller.partitions:
            if partition.staged is not None:
                self.wake(partition.staged)

    def wake(self, staged: StagedPartition) -> None:
        """There may be something to send."""
        if self._started and staged.stage.state.dead_letters and staged not in self._under_way:
            self._under_way.add(staged)
            self.controller.start_soon(self._deliver, staged)

    async def _deliver(self, staged: StagedPartition) -> None:
        try:
            while staged.stage.state.dead_letters and not staged.partition.removed:
                try:
                    await self._deliver_some(staged)
                except BrokerError as error:
                    logger.error("%s: dead letters wait: %s", staged.partition.log.name, error)
                    await trio.sleep(RETRY_S)
        finally:
            self._under_way.discard(staged)

    async def _deliver_some(self, staged: StagedPartition) -> None:
        source = self.controller.topics.by_id.get(staged.partition.topic_id)
        if source is None:
            return
        target = await self._target(source, staged)
        await self._have_producer(staged)
        state = staged.stage.state
        numbers = list(state.dead_letters)[:SENT_TOGETHER]
        # What expired must stay so: the letters follow once that is durable.
        await self._durable(staged.store, staged.store.log.end_offset - 1)
        sequence, last_offset = state.dead_letters_sent, -1
        for number in numbers:
            row = state.table.get(number)
            for letter in self._letters(staged, row) if row is not None else ():
                batch = _batch(source.name, staged.partition.index, letter, state.dead_letter_producer, sequence)
                last_offset = max(last_offset, await self._append(target, batch))
                sequence += 1
        if last_offset >= 0:
            await self._durable(target, last_offset)
        await self._note(staged, numbers)

    async def _target(self, source: Topic, staged: StagedPartition) -> Partition:
        """The partition of the dead-letter topic, which is made if it does not exist."""
        topics, name = self.controller.topics, staged.stage.config.dead_letters_of(source.name)
        if name not in topics.by_name:
            (made,) = await self.controller.create_topics([TopicSpec(name, source.partition_count)])
            if isinstance(made, BrokerError) and not isinstance(made, TopicAlreadyExists):
                raise made
        partitions = self.controller.partitions.of_topic(topics.by_name[name].topic_id)
        return partitions[staged.partition.index % len(partitions)]

    async def _have_producer(self, staged: StagedPartition) -> None:
        if staged.stage.state.dead_letter_producer >= 0:
            return
        while (producer_id := self.producer_ids.take()) is None:
            self.producer_ids.add(await self.controller.in_thread(self.producer_ids.reserve))
        event = DeadLetterProducer(producer_id)
        await _in_turn(staged, lambda: staged.stage.note(event))
        await self._durable(staged.store, staged.store.log.end_offset - 1)

    def _letters(self, staged: StagedPartition, row: Row) -> Iterator[Letter]:
        """The records of a row, with their create times."""
        data = staged.stage.read(row)
        if row.count == 1:
            yield next(walk_records(data, 1)), row.created_ms
            return
        header = parse_header(data)
        for index, span in enumerate(walk_records(memoryview(data)[HEADER_SIZE:], header.record_count)):
            if index >= staged.stage.state.dead_letters[row.number]:
                yield span, header.base_timestamp + span.timestamp_delta

    async def _append(self, target: Partition, batch: bytes) -> int:
        """The offset up to which the letter must become durable; -1 if it is not known or not needed."""
        try:
            if target.staged is None or not target.staged.in_the_way:
                return target.append(batch).last_offset
            outcome = await _outcome(target.staged, ClientBatch(batch, memoryview(batch)[HEADER_SIZE:]))
            if isinstance(outcome, BrokerError):
                raise outcome
            return outcome.last_offset if isinstance(outcome, AppendResult) else -1
        except DuplicateSequence:
            return -1
        except RecordTooLarge as error:
            logger.error("a dead letter is dropped: %s", error)
            return -1

    async def _durable(self, partition: Partition, offset: int) -> None:
        await until_durable(partition, offset, self.clock.monotonic() + DURABLE_WITHIN_S)

    async def _note(self, staged: StagedPartition, numbers: list[int]) -> None:
        await _in_turn(staged, lambda: staged.stage.dead_lettered(numbers))


async def _in_turn(staged: StagedPartition, change: Callable[[], object]) -> None:
    """Make a change of the stage when its turn has come."""
    answer = Deferred()

    def operation() -> None:
        try:
            change()
        except BrokerError as error:
            answer.resolve(error)
        else:
            answer.resolve(None)

    staged.submit(operation)
    raise_refusal(await result_of(answer))


async def _outcome(staged: StagedPartition, batch: ClientBatch) -> Outcome:
    answer = Deferred()
    staged.append(batch, answer.resolve)
    outcome: Outcome = await result_of(answer)
    return outcome


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
