"""Expired records on their way to the dead-letter topic, exactly once (`coordinators/letter_writing.py`).

The stage remembers what has to go there, in which order, and under which producer id. Its letters always go to the same
partition, so that it knows which it has; a letter's time is that of its record.
"""

from collections.abc import Callable, Iterator

import trio
from attrs import define, field

from coordinators.letter_writing import RETRY_S, SENT_TOGETHER, SENT_TOGETHER_BYTES, LetterWriting, letter_batch
from coordinators.tenants.letter_names import origin_headers
from coordinators.topics import Topic
from coordinators.waiting import result_of
from engine.deferred import Deferred
from engine.errors import BrokerError
from engine.partition.partition import stages_of
from engine.partition.staging import Staging
from engine.records.layout import HEADER_SIZE, RecordSpan, parse_header, walk_records
from engine.stage.events import DeadLetterProducer
from engine.stage.pending import PendingRow

REASON = b"The record expired before it could be delivered."


@define(eq=False)
class DeadLetters:
    """See the module. One task for each stage that has any."""

    writing: LetterWriting
    _under_way: set[Staging] = field(factory=set)
    _started: bool = False

    def start(self) -> None:
        """The broker runs: go on with what was left."""
        self._started = True
        for staging in stages_of(self.writing.controller.partitions):
            self.wake(staging)

    def wake(self, staging: Staging) -> None:
        """There may be something to send."""
        if self._started and staging.stage.state.dead_letters and staging not in self._under_way:
            self._under_way.add(staging)
            self.writing.controller.background.start_soon(self._deliver, staging)

    async def _deliver(self, staging: Staging) -> None:
        def waiting() -> int:
            return 0 if staging.ended else len(staging.stage.state.dead_letters)

        try:
            await self.writing.persist(staging.partition.log.name, waiting, lambda: self._deliver_some(staging))
        finally:
            self._under_way.discard(staging)

    async def _deliver_some(self, staging: Staging) -> None:
        writing = self.writing
        source = writing.controller.topics.by_id.get(staging.partition.topic_id)
        if source is None:
            # Its topic is being deleted: the stage ends with it.
            await trio.sleep(RETRY_S)
            return
        name = staging.stage.config.dead_letters_of(source.name)
        target = await writing.target(name, source, staging.partition.index)
        if staging.stage.state.dead_letter_producer < 0:
            await self._take_producer(staging)
        # What expired must stay so: the letters follow once that is durable.
        await writing.durable(staging.store, staging.store.log.end_offset - 1)
        rows = list(self._first_letters(source, staging))
        arrived = await writing.send(target, [letter for _, letters in rows for letter in letters])
        sent = list[int]()
        for number, letters in rows:
            arrived -= len(letters)
            if arrived < 0:
                break
            sent.append(number)
        if not sent:
            # The letters went elsewhere for a while: here their sequence has a gap, and none of these has arrived.
            await self._take_producer(staging)
            return
        await _in_turn(staging, lambda: staging.stage.dead_lettered(sent))

    def _first_letters(self, source: Topic, staging: Staging) -> Iterator[tuple[int, list[bytes]]]:
        """So many as are sent together, as batches, by the number of their row."""
        state, size = staging.stage.state, 0
        sequence = state.dead_letters_sent
        told = [
            *origin_headers(self.writing.controller.topics.tenants, source.name),
            (b"__dlq.errors.partition", b"%d" % staging.partition.index),
            (b"__dlq.errors.message", REASON),
        ]
        for number in list(state.dead_letters)[:SENT_TOGETHER]:
            row, letters = state.table.get(number), list[bytes]()
            for record, created_ms in self._letters(staging, row) if row is not None else ():
                letters.append(letter_batch([(record, told)], created_ms, state.dead_letter_producer, sequence))
                sequence += 1
            yield number, letters
            size += sum(map(len, letters))
            if size > SENT_TOGETHER_BYTES:
                return

    async def _take_producer(self, staging: Staging) -> None:
        """From here on the stage's letters go under a producer id of their own, beginning with sequence number 0."""
        event = DeadLetterProducer(await self.writing.new_producer_id())
        await _in_turn(staging, lambda: staging.stage.note(event))
        await self.writing.durable(staging.store, staging.store.log.end_offset - 1)

    def _letters(self, staging: Staging, row: PendingRow) -> Iterator[tuple[RecordSpan, int]]:
        """The records of a row, with their create times."""
        data = staging.stage.read(row)
        if row.count == 1:
            yield next(walk_records(data, 1)), row.created_ms
            return
        header = parse_header(data)
        for index, span in enumerate(walk_records(memoryview(data)[HEADER_SIZE:], header.record_count)):
            if index >= staging.stage.state.dead_letters[row.number]:
                yield span, header.base_timestamp + span.timestamp_delta


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
