"""What clients of the text door do, done by the Kafka client inside the broker and told in the door's words."""

from collections.abc import Sequence

from attrs import define

from coordinators.access.callers import Caller
from engine.errors import BrokerError, InvalidRecord, RecordListTooLarge, RecordTooLarge
from wire.inner.asking import InnerClient
from wire.inner.reading import RecordReading
from wire.inner.records import NewRecord, ReadRecord, SentRecord
from wire.inner.sending import Outcome, Sending
from wire.kafka.calls import Guest
from wire.kafka.errors import code_name, error_code
from wire.kafka.messages.metadata import MetadataRequest
from wire.services import Services
from wire.text import answers
from wire.text.commands import EARLIEST, LATEST, FetchCommand, PublishCommand
from wire.text.config import TextLimits

DOOR = "text"
SHARED_FATES = (InvalidRecord, RecordTooLarge, RecordListTooLarge)
"""Why a batch is refused for one of its records, and the others with it: nothing of it was written."""


@define(eq=False)
class InnerUse:
    """Lets clients in."""

    inner: InnerClient
    sending: Sending
    reading: RecordReading
    limits: TextLimits

    @classmethod
    def of(cls, services: Services, limits: TextLimits) -> "InnerUse":
        """With the node's services."""
        return cls(services[InnerClient], services[Sending], services[RecordReading], limits)

    def enter(self, caller: Caller) -> "InnerVisit":
        """A client that is known by now."""
        return InnerVisit(self, self.inner.staying(caller, DOOR))


@define(eq=False)
class InnerVisit:
    """One client's."""

    use: InnerUse
    guest: Guest

    def leave(self) -> None:
        """It does nothing more."""
        self.use.inner.leave(self.guest)

    # -- PUB

    async def publish(self, commands: Sequence[PublishCommand]) -> list[bytes]:
        """Store records of one topic; one answer for each."""
        records = [_record(command) for command in commands]
        topic = commands[0].topic
        outcomes = await self._sent(topic, records)
        if len(records) > 1:
            for number, outcome in enumerate(outcomes):
                # Its neighbours must not pay for what was wrong with one, nor it for them.
                if isinstance(outcome, SHARED_FATES):
                    outcomes[number] = (await self._sent(topic, [records[number]]))[0]
        return [_stored(command, outcome) for command, outcome in zip(commands, outcomes, strict=True)]

    async def _sent(self, topic: str, records: Sequence[NewRecord]) -> list[Outcome]:
        try:
            timeout_s = self.use.limits.request_timeout_s
            return await self.use.sending.send(self.guest, topic, records, timeout_s=timeout_s)
        except BrokerError as error:
            return [error] * len(records)

    # -- FETCH

    async def fetch(self, command: FetchCommand) -> list[bytes]:
        """Read records."""
        try:
            return await self._read(command)
        except BrokerError as error:
            return [_refused(error)]

    async def _read(self, command: FetchCommand) -> list[bytes]:
        topic, partition, offset = command.topic, command.partition, command.offset
        reading = self.use.reading
        if offset in (EARLIEST, LATEST):
            offset = (await reading.offsets(self.guest, topic, {partition: offset}))[partition]
        found = await reading.read(
            self.guest,
            topic,
            partition,
            offset,
            max_bytes=self.use.limits.max_fetch_bytes,
            max_records=command.count,
            wait_s=command.wait_ms / 1000,
            committed=True,
        )
        texts = [_told(record, partition if command.is_full else None) for record in found.records]
        if len(texts) < command.count:
            texts.append(answers.end(found.next_offset))
        return texts

    # -- TOPICS

    async def topics(self) -> list[bytes]:
        """The topics that the client may know of."""
        try:
            answer = await self.use.inner.ask(self.guest, MetadataRequest(None))
        except BrokerError as error:
            return [_refused(error)]
        found = sorted((each.name, len(each.partitions)) for each in answer.topics if not each.error_code)
        return [*(answers.topic(name, count) for name, count in found), answers.end(len(found))]


def _record(command: PublishCommand) -> NewRecord:
    """Without key and partition it goes to partition 0, where FETCH looks: so its offset names it."""
    partition = command.partition
    if partition is None and command.key is None:
        partition = 0
    value = None if command.is_null else command.payload
    return NewRecord(key=command.key, value=value, headers=command.headers, partition=partition)


def _stored(command: PublishCommand, outcome: Outcome) -> bytes:
    if isinstance(outcome, SentRecord):
        return answers.stored(outcome.offset, outcome.partition if command.is_full else None)
    return _refused(outcome)


def _refused(error: BrokerError) -> bytes:
    return answers.error(code_name(error_code(error)), str(error))


def _told(record: ReadRecord, partition: int | None) -> bytes:
    value = record.value or b""
    if partition is None:
        return answers.message(record.offset, value)
    options = answers.record_options(
        partition, record.timestamp_ms, record.key, record.headers, is_null=record.value is None
    )
    return answers.message(record.offset, value, options)
