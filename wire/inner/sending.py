"""Writes records for a door's caller: chooses their partitions, makes batches, has the leaders append them.

Every record has its own outcome, in the order of the records. Records of one partition are appended in their order;
those that ask for something (`tide-` headers) in batches of their own, so that the others learn their offsets. What a
leader refuses because it leads no more goes to the next one, until the time is over. Where a leader is lost on the way
it is not known whether it has appended: the batch goes to the next one all the same, in the name of a producer that is
lent for it, and is not written twice. Where that cannot be, it is told that it is not known.
"""

from collections.abc import Iterable, Sequence

import trio
from attrs import define, field

from coordinators.partitioners import PARTITIONERS, Partitioner
from coordinators.replication.ports import LinkBroken, NotReached
from coordinators.waiting import Breathing
from engine.clock import Clock
from engine.errors import BrokerError, InvalidRecord, NotLeader, RequestTimedOut, UnknownTopicOrPartition
from engine.records.layout import HEADER_SIZE
from wire.inner.asking import FIRST_PAUSE_S, LEADER_MOVES, LONGEST_PAUSE_S, TIMEOUT_S, InnerClient
from wire.inner.producers import DoorProducer as DoorProducer
from wire.inner.producers import LentProducers
from wire.inner.records import MOST_HEADERS, NO_OFFSET, NewRecord, SentRecord
from wire.kafka.calls import Guest
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)

ALL, LEADER, NONE = -1, 1, 0
"""What is to be acknowledged."""
BATCH_BYTES = 512 * 1024
"""A batch ends before the record that would make it larger; one record may be as large as its topic permits."""
MAGIC, NO_CODEC, UNBOUNDED_BYTES = 2, 0, 2**31 - 1

Outcome = SentRecord | BrokerError


@define(eq=False)
class _Batch:
    """Records of one partition that are sent together."""

    partition: int
    numbers: list[int] = field(factory=list)
    """Their places among all that are sent."""
    timestamps_ms: list[int] = field(factory=list)
    size: int = HEADER_SIZE
    data: bytes = b""


@define(eq=False)
class _Sending:
    """One call of `send`: its batches, and what became of each record."""

    guest: Guest
    topic: str
    records: Sequence[NewRecord]
    acks: int
    deadline: float
    chosen: bool
    producer: DoorProducer | None
    is_lent: bool
    outcomes: dict[int, Outcome] = field(factory=dict)

    @property
    def transactional_id(self) -> str | None:
        return None if self.producer is None else self.producer.transactional_id

    def has_failed(self, wave: Iterable[_Batch]) -> bool:
        """Whether any of it was refused, or it is not known what became of it."""
        return any(isinstance(self.outcomes[batch.numbers[0]], BrokerError) for batch in wave)

    def refuse(self, batch: _Batch, error: BrokerError) -> None:
        for number in batch.numbers:
            self.outcomes[number] = error


@define(eq=False)
class Sending:
    """See the module."""

    inner: InnerClient
    clock: Clock
    producers: LentProducers
    _partitioners: dict[str, Partitioner] = field(factory=dict, init=False)

    async def send(
        self,
        guest: Guest,
        topic: str,
        records: Sequence[NewRecord],
        *,
        acks: int = ALL,
        timeout_s: float = TIMEOUT_S,
        partitioner: str = "murmur2",
        producer: DoorProducer | None = None,
    ) -> list[Outcome]:
        """What became of each record. A topic that is missing is made where the broker makes what is asked for."""
        found = await self.inner.known_topic(guest, topic, make=True)
        chosen = any(record.partition is None for record in records)
        deadline = self.clock.monotonic() + timeout_s
        is_lent = producer is None and acks != NONE
        sending = _Sending(guest, topic, records, acks, deadline, chosen, producer, is_lent)
        for wave in await self._waves(sending, found.partition_count, partitioner):
            if is_lent and sending.producer is None:
                sending.producer = await self.producers.lend()
            for batch in wave:
                await self._build(sending, batch)
            await self._send_wave(sending, wave)
            if is_lent and sending.has_failed(wave):
                sending.producer = None
        if is_lent and sending.producer is not None:
            self.producers.give_back(sending.producer)
        return [sending.outcomes[number] for number in range(len(records))]

    # -- batches

    async def _waves(self, sending: _Sending, partition_count: int, partitioner: str) -> list[list[_Batch]]:
        """Batches that can be sent at a time, for there is one of each partition; and those that come after."""
        queues: dict[tuple[int, bool], list[_Batch]] = {}
        breathing = Breathing()
        for number, record in enumerate(sending.records):
            try:
                if len(record.headers) > MOST_HEADERS:
                    raise InvalidRecord(f"a record has at most {MOST_HEADERS} headers, not {len(record.headers)}")
                index = self._partition(record, partition_count, partitioner)
            except BrokerError as error:
                sending.outcomes[number] = error
            else:
                _add(queues.setdefault((index, record.asks), []), index, number, record)
            await breathing.did(1 + len(record.headers))
        waves: list[list[_Batch]] = []
        for asks in (False, True):
            some = [queue for (_, asking), queue in queues.items() if asking == asks]
            longest = max(map(len, some), default=0)
            waves += [[queue[turn] for queue in some if turn < len(queue)] for turn in range(longest)]
        return waves

    def _partition(self, record: NewRecord, count: int, partitioner: str) -> int:
        if record.partition is None:
            chosen = self._partitioners.get(partitioner)
            if chosen is None:
                chosen = self._partitioners[partitioner] = PARTITIONERS[partitioner]()
            return chosen.partition(record.key, count)
        if not 0 <= record.partition < count:
            raise UnknownTopicOrPartition(f"the topic has partitions 0 to {count - 1}, not {record.partition}")
        return record.partition

    async def _build(self, sending: _Sending, batch: _Batch) -> None:
        # Imported late: the package brings a whole client along.
        from aiokafka.record.default_records import DefaultRecordBatchBuilder

        now_ms, producer = self.clock.now_ms(), sending.producer
        identity = (-1, -1, -1)
        if producer is not None:
            first = producer.take((sending.topic, batch.partition), len(batch.numbers))
            identity = producer.producer_id, producer.epoch, first
        is_transactional = sending.transactional_id is not None
        builder = DefaultRecordBatchBuilder(MAGIC, NO_CODEC, is_transactional, *identity, UNBOUNDED_BYTES)
        breathing = Breathing()
        for place, number in enumerate(batch.numbers):
            record = sending.records[number]
            timestamp_ms = now_ms if record.timestamp_ms is None else record.timestamp_ms
            builder.append(place, timestamp_ms, record.key, record.value, list(record.headers))
            batch.timestamps_ms.append(timestamp_ms)
            sending.outcomes[number] = SentRecord(batch.partition, NO_OFFSET, timestamp_ms)
            await breathing.did(1 + len(record.headers))
        batch.data = bytes(builder.build())

    # -- to the leaders

    async def _send_wave(self, sending: _Sending, wave: list[_Batch]) -> None:
        """Until each batch is taken or refused, or the time is over."""
        pause_s = FIRST_PAUSE_S
        while True:
            wave = await self._send_once(sending, wave)
            if not wave or self.clock.monotonic() + pause_s > sending.deadline:
                return
            await trio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _send_once(self, sending: _Sending, wave: Iterable[_Batch]) -> list[_Batch]:
        """Ask every leader at a time; what has to be sent again, because there is another leader."""
        by_leader: dict[int, list[_Batch]] = {}
        again: list[_Batch] = []
        for batch in wave:
            try:
                leader = self.inner.leader(sending.guest, sending.topic, batch.partition)
            except BrokerError as error:
                sending.refuse(batch, error)
                continue
            by_leader.setdefault(leader, []).append(batch)
        for batch in by_leader.pop(-1, []):
            sending.refuse(batch, NotLeader(f"{sending.topic}-{batch.partition} has no leader at the moment"))
            again.append(batch)
        if len(by_leader) == 1:
            ((leader, batches),) = by_leader.items()
            await self._send_to(leader, sending, batches, again)
        else:
            async with trio.open_nursery() as nursery:
                for leader, batches in by_leader.items():
                    nursery.start_soon(self._send_to, leader, sending, batches, again)
        return again

    async def _send_to(self, leader: int, sending: _Sending, batches: list[_Batch], again: list[_Batch]) -> None:
        left_s = max(sending.deadline - self.clock.monotonic(), 0.001)
        data = [PartitionProduceData(batch.partition, batch.data) for batch in batches]
        request = ProduceRequest(
            sending.transactional_id,
            sending.acks,
            int(left_s * 1000),
            [TopicProduceData(name=sending.topic, partition_data=data)],
        )
        try:
            answer = await self.inner.ask(
                sending.guest, request, node_id=leader, timeout_s=left_s, chosen=sending.chosen
            )
        except NotReached as error:
            for batch in batches:
                sending.refuse(batch, NotLeader(f"{sending.topic}-{batch.partition}: {error}"))
            again += batches
            return
        except LinkBroken as error:
            unknown = f"it is not known whether it was written: {error}"
            for batch in batches:
                sending.refuse(batch, RequestTimedOut(f"{sending.topic}-{batch.partition}: {unknown}"))
            if sending.is_lent and sending.producer is not None:
                again += batches
            return
        except BrokerError as error:
            for batch in batches:
                sending.refuse(batch, error)
            return
        if answer is not None:
            entries = {each.index: each for topic in answer.responses for each in topic.partition_responses}
            for batch in batches:
                if _settle(sending, batch, entries.get(batch.partition)):
                    again.append(batch)


def _add(queue: list[_Batch], partition: int, number: int, record: NewRecord) -> None:
    size = record.size
    if not queue or queue[-1].size + size > BATCH_BYTES:
        queue.append(_Batch(partition))
    queue[-1].numbers.append(number)
    queue[-1].size += size


def _settle(sending: _Sending, batch: _Batch, entry: PartitionProduceResponse | None) -> bool:
    """Note what became of a batch; whether it has to be sent again."""
    if entry is None:
        sending.refuse(batch, RequestTimedOut("nothing was said of it"))
        return False
    if entry.error_code:
        message = entry.error_message or code_name(entry.error_code)
        sending.refuse(batch, broker_error(entry.error_code, message))
        _blame(sending, batch, entry, message)
        return entry.error_code in LEADER_MOVES
    for place, number in enumerate(batch.numbers):
        append_ms = entry.log_append_time_ms
        timestamp_ms = append_ms if append_ms >= 0 else batch.timestamps_ms[place]
        offset = NO_OFFSET if entry.base_offset < 0 else entry.base_offset + place
        sending.outcomes[number] = SentRecord(batch.partition, offset, timestamp_ms)
    return False


def _blame(sending: _Sending, batch: _Batch, entry: PartitionProduceResponse, message: str) -> None:
    """Where single records are at fault the others were refused with them (KIP-467)."""
    faults = {each.batch_index: each.batch_index_error_message or message for each in entry.record_errors}
    if not faults:
        return
    for place, number in enumerate(batch.numbers):
        reason = faults.get(place, "not written, for another record of its batch was refused")
        sending.outcomes[number] = InvalidRecord(reason)
