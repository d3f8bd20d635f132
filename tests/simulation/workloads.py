"""What clients do in a simulation: each is a task that goes on through crashes until it has done its part."""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import trio
from attrs import define, evolve, field

from engine.records.layout import pack_batch, pack_record
from tests.simulation.client import AGAIN_S, GROUP, TRANSACTION, Coordinator, Disconnected, SimulatedClient, Target
from tests.simulation.history import History, Place, Sent, Transaction
from tests.simulation.reader import end_of
from tests.simulation.running import sleep
from tests.simulation.world import SimulatedClock
from wire.kafka.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from wire.kafka.messages.end_txn import EndTxnRequest
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from wire.kafka.messages.init_producer_id import InitProducerIdRequest
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

ALTER_CONFIGS, TOPIC = 44, 2
PRODUCE, OFFSET_COMMIT, OFFSET_FETCH, INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN = 0, 8, 9, 22, 24, 26
OK, OUT_OF_ORDER, DUPLICATE = 0, 45, 46
TRANSACTIONAL = 0x10
# Not yet there, or not now: coordinator loading, elsewhere, away; storage; timed out; a transaction that still ends.
PASSING = frozenset({5, 6, 7, 14, 15, 16, 51, 56})
# With several nodes also: one that has not heard of a topic yet, too few in sync, an epoch that is over or not yet
# known, an end that is not certain yet.
PASSING_IN_CLUSTER = PASSING | {3, 9, 19, 20, 52, 74, 75, 78}
# A producer of a transaction that was ended for it, by its timeout or its successor.
FENCED = frozenset({47, 48, 49, 90})
WINDOW = 5
Headers = Sequence[tuple[bytes, bytes]]


@define(eq=False)
class Workload:
    """What all have: a client, chance, and where they write down what they did."""

    client: SimulatedClient
    history: History
    chance: random.Random
    name: str

    async def _rest(self) -> None:
        """Between two things to do: with several nodes for longer, for their faults last longer."""
        await sleep(self.chance.random() * (0.4 if self.client.others else 0.02))

    @property
    def _passes(self) -> frozenset[int]:
        """Codes that a client's defaults try again."""
        return PASSING_IN_CLUSTER if self.client.others else PASSING

    async def _passing(self, api_key: int, version: int, message: Any, target: Target = None) -> Any:
        """The answer, once it is not one of those that pass."""
        while True:
            answer = await self.client.ask(api_key, version, message, target)
            if answer.error_code not in self._passes:
                return answer
            await self.client.again(target)

    async def _init(self, transactional_id: str | None) -> tuple[int, int]:
        """A producer's id and epoch."""
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=5_000)
        target = None if transactional_id is None else Coordinator(TRANSACTION, transactional_id)
        while True:
            try:
                answer = await self._passing(INIT_PRODUCER_ID, 4, request, target)
            except Disconnected:
                continue
            if answer.error_code == OK:
                return answer.producer_id, answer.producer_epoch
            self.history.wrong("no producer id", answer.error_code)
            await sleep(AGAIN_S)

    async def ended_if(self, codes: Sequence[int], target: Target) -> None:
        """Give this producer up where it was refused; only a bug refuses for other reasons."""
        if any(codes):
            for code in codes:
                if code and code not in self._passes | FENCED:
                    self.history.wrong("an honest transaction refused", f"{self.name}: {code}")
            await self.client.again(target)
            raise EndedTransaction


@define(eq=False)
class IdempotentProducer(Workload):
    """Sends windows of batches to one partition, again until each is answered."""

    place: Place
    windows: int

    async def run(self) -> None:
        """All windows."""
        producer_id, epoch = await self._init(None)
        sequence = 0
        for number in range(self.windows):
            window = []
            for _ in range(self.chance.randrange(1, WINDOW + 1)):
                count = self.chance.randrange(1, 4)
                marks = [f"{self.name}/{number}/{sequence + place}" for place in range(count)]
                sent = [(self._record(mark), *self._wish()) for mark in marks]
                window.append(([one[0] for one in sent], made_batch(sent, producer_id, epoch, sequence)))
                sequence += count
            await self._send(window)
            await self._look_around()

    def _record(self, mark: str) -> Sent:
        record = Sent(self.place, mark)
        self.history.sent.append(record)
        return record

    def _wish(self) -> tuple[Headers, Callable[[Sent], None]]:
        """What a record asks for by headers, and what that changes of what may be expected of it."""
        return (), as_it_is

    async def _look_around(self) -> None:
        """Between two windows."""
        await self._rest()

    async def _send(self, window: list[tuple[list[Sent], bytes]]) -> None:
        while window:
            try:
                asked = [produce_request(self.place, batch) for _, batch in window]
                answers = await self.client.ask_all(PRODUCE, 9, asked, self.place)
            except Disconnected:
                self.history.note(self.name, "disconnected")
                continue
            left: list[tuple[list[Sent], bytes]] = []
            for one, answer in zip(window, answers, strict=True):
                if not self._settled(one[0], answer, is_first=not left):
                    left.append(one)
            window = left
            if window:
                await self.client.again(self.place)

    def _settled(self, records: Sequence[Sent], answer: Any, *, is_first: bool) -> bool:
        code = answer.responses[0].partition_responses[0].error_code
        self.history.note(self.name, records[0].mark, code)
        # A batch of which an earlier one was sent back comes too early; clients send both again.
        if code in self._passes or (code == OUT_OF_ORDER and not is_first):
            return False
        if code in (OK, DUPLICATE):
            self.history.acknowledged(records)
        else:
            self.history.wrong("an honest batch refused", f"{records[0].mark}: {code}")
            for record in records:
                record.fate = "refused"
        return True


@define(eq=False)
class DelayedProducer(IdempotentProducer):
    """Has its records held back for a while."""

    longest_delay_ms: int

    def _wish(self) -> tuple[Headers, Callable[[Sent], None]]:
        delay_ms = self.chance.randrange(1, self.longest_delay_ms)

        def expect(record: Sent) -> None:
            record.is_ordered, record.due_s = False, trio.current_time() + delay_ms / 1000

        return ((b"tide-delay", str(delay_ms).encode()),), expect


@define(eq=False)
class PrioritisedProducer(IdempotentProducer):
    """Sends records of all priorities, some of which expire, and asks for the end after each window: it counts
    what was acknowledged, and never moves back."""

    _end: int = field(default=0, init=False)

    def _wish(self) -> tuple[Headers, Callable[[Sent], None]]:
        headers = [(b"tide-priority", str(self.chance.randrange(5)).encode())]
        expires = self.chance.random() < 0.2
        if expires:
            headers.append((b"tide-ttl", str(self.chance.randrange(1, 300)).encode()))

        def expect(record: Sent) -> None:
            record.is_ordered, record.may_expire = False, expires

        return tuple(headers), expect

    async def _look_around(self) -> None:
        acknowledged = sum(one.fate == "acknowledged" for one in self.history.sent if one.place == self.place)
        end = await end_of(self.client, self.place, self.history, committed=False)
        self.history.note(self.name, "end", end)
        if end < max(acknowledged, self._end):
            self.history.wrong("promised end moved back", f"{end}, {acknowledged} acknowledged, {self._end} promised")
        self._end = end
        if self.client.others:
            await self._rest()


@define(eq=False)
class PrioritySwitch(Workload):
    """Switches the priorities of a topic off and on."""

    topic: str
    count: int

    async def run(self) -> None:
        """All switches."""
        for _ in range(self.count):
            await sleep(self.chance.random() * 0.2)
            value = AlterableConfig(name="priority.enable", value=self.chance.choice(("auto", "true", "false")))
            resource = AlterConfigsResource(resource_type=TOPIC, resource_name=self.topic, configs=[value])
            with suppress(Disconnected):
                await self.client.ask(ALTER_CONFIGS, 1, IncrementalAlterConfigsRequest(resources=[resource]))
                self.history.note(self.name, value.value)


@define(eq=False)
class TransactionalProducer(Workload):
    """Writes to two partitions in transactions, of which some are aborted; after a crash it begins anew."""

    places: tuple[Place, ...]
    count: int

    @property
    def _coordinator(self) -> Coordinator:
        return Coordinator(TRANSACTION, self.name)

    async def run(self) -> None:
        """All transactions."""
        done = 0
        while done < self.count:
            producer_id, epoch = await self._init(self.name)
            sequences = dict.fromkeys(self.places, 0)
            try:
                while done < self.count:
                    done += 1
                    if self.client.others:
                        await self._rest()
                    await self._transaction(done, producer_id, epoch, sequences)
            except (Disconnected, EndedTransaction):
                self.history.note(self.name, "begins anew")

    async def _transaction(self, number: int, producer_id: int, epoch: int, sequences: dict[Place, int]) -> None:
        records = [Sent(place, f"{self.name}/{number}/{place[1]}") for place in self.places]
        transaction = Transaction(records, fate="aborted")  # unless its end is asked for
        self.history.transactions.append(transaction)
        topics = [AddPartitionsToTxnTopic(self.places[0][0], [partition for _, partition in self.places])]
        request = AddPartitionsToTxnRequest([], self.name, producer_id, epoch, topics)
        answer = await self.client.ask(ADD_PARTITIONS, 3, request, self._coordinator)
        codes = [
            one.partition_error_code
            for topic in answer.results_by_topic_v3_and_below
            for one in topic.results_by_partition
        ]
        await self.ended_if(codes, self._coordinator)
        for record in records:
            batch = made_batch([(record, (), as_it_is)], producer_id, epoch, sequences[record.place], TRANSACTIONAL)
            produced = await self.client.ask(PRODUCE, 9, produce_request(record.place, batch, self.name), record.place)
            await self.ended_if([produced.responses[0].partition_responses[0].error_code], record.place)
            sequences[record.place] += 1
        await self._end(transaction, producer_id, epoch)

    async def _end(self, transaction: Transaction, producer_id: int, epoch: int) -> None:
        committed = self.chance.random() < 0.7
        transaction.fate = "unknown" if committed else "aborted"
        request = EndTxnRequest(self.name, producer_id, epoch, committed)
        self.history.reach_moment()
        answer = await self._passing(END_TXN, 3, request, self._coordinator)
        await self.ended_if([answer.error_code], self._coordinator)
        transaction.fate = "committed" if committed else "aborted"
        self.history.note(self.name, "committed" if committed else "aborted")


class EndedTransaction(Exception):
    """This producer's epoch is over."""


@define(eq=False)
class Committer(Workload):
    """Commits rising offsets of a group, and has them asked for again, by a client of its own or by another, that looks
    for the coordinator anew: what was acknowledged is never taken back, whoever asks whomever."""

    place: Place
    count: int
    _last: int = field(default=-1, init=False)

    @property
    def _coordinator(self) -> Coordinator:
        return Coordinator(GROUP, self.name)

    async def run(self) -> None:
        """All commits."""
        for offset in range(self.count):
            await self._commit(offset)
            await sleep(self.chance.random() * (0.3 if self.client.others else 0.05))
            if self.chance.random() < 0.5:
                await self._look(offset)

    async def _commit(self, offset: int) -> None:
        partition = OffsetCommitRequestPartition(partition_index=self.place[1], committed_offset=offset)
        topic = OffsetCommitRequestTopic(name=self.place[0], partitions=[partition])
        request = OffsetCommitRequest(group_id=self.name, generation_id_or_member_epoch=-1, topics=[topic])
        while True:
            try:
                answer = await self.client.ask(OFFSET_COMMIT, 7, request, self._coordinator)
            except Disconnected:
                continue
            code = answer.topics[0].partitions[0].error_code
            if code == OK:
                self._last = offset
                return
            if code not in self._passes:
                self.history.wrong("an honest commit refused", code)
            await self.client.again(self._coordinator)

    async def _look(self, sent: int) -> None:
        wanted = OffsetFetchRequestTopic(name=self.place[0], partition_indexes=[self.place[1]])
        request = OffsetFetchRequest(group_id=self.name, topics=[wanted])
        asking = self._asking()
        try:
            answer = await asking.ask(OFFSET_FETCH, 6, request, self._coordinator)
        except Disconnected:
            return
        finally:
            if asking is not self.client:
                await asking.close()
        if answer.error_code in self._passes or answer.topics[0].partitions[0].error_code in self._passes:
            await self.client.again(self._coordinator)
            return
        found = answer.topics[0].partitions[0].committed_offset
        self.history.note(self.name, "finds", found)
        if not self._last <= found <= sent:
            self.history.wrong("committed offset lost", f"{found} after {self._last} was acknowledged")

    def _asking(self) -> SimulatedClient:
        if not self.client.others or self.chance.random() < 0.5:
            return self.client
        return evolve(self.client, chance=random.Random(self.chance.random()), name=f"{self.client.name}-looks")


def produce_request(place: Place, batch: bytes, transactional_id: str | None = None) -> ProduceRequest:
    data = TopicProduceData(name=place[0], partition_data=[PartitionProduceData(index=place[1], records=batch)])
    return ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=2_000, topic_data=[data])


def made_batch(
    sent: Sequence[tuple[Sent, Headers, Callable[[Sent], None]]],
    producer_id: int,
    epoch: int,
    sequence: int,
    attributes: int = 0,
) -> bytes:
    packed = []
    for place, (record, headers, expect) in enumerate(sent):
        expect(record)
        packed.append(pack_record(place, 0, record.key, record.mark.encode(), headers))
    now_ms = SimulatedClock().now_ms()
    return pack_batch(
        packed,
        (now_ms, now_ms),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        attributes=attributes,
    )


def as_it_is(record: Sent) -> None:
    """Nothing is asked for."""
