"""Transactional producers that live in the broker: what their callers may ask when, and that asking again is safe."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock, trio_test

from engine.errors import BrokerError, InvalidRecord, InvalidTxnState, ProducerFenced, RequestTimedOut
from tests.wire.inner.office import SOMEBODY
from wire.inner.homes import NotAtHome
from wire.inner.producer import (
    OffsetsOwner,
    ProducerWanted,
    TransactionalIdentity,
    TransactionalProducer,
    TransactionPhase,
)
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from wire.kafka.messages.end_txn import EndTxnRequest, EndTxnResponse
from wire.kafka.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from wire.kafka.messages.txn_offset_commit import TxnOffsetCommitResponse


@define(eq=False)
class Coordinator:
    """Says yes, unless `says` has something else for its next answers; raises what is an error."""

    says: list[int | BrokerError] = field(factory=list)
    asked: list[Any] = field(factory=list)
    sent: list[tuple[int, str, Sequence[Any]]] = field(factory=list)
    refuses: BrokerError | None = None
    epoch: int = 0

    async def ask(self, message: Any, version: int | None = None, *, wait_s: float = 0.0) -> Any:
        del version, wait_s
        await trio.lowlevel.checkpoint()
        self.asked.append(message)
        said = self.says.pop(0) if self.says else 0
        if isinstance(said, BrokerError):
            raise said
        if isinstance(message, InitProducerIdRequest):
            return InitProducerIdResponse(error_code=said, producer_id=7, producer_epoch=self.epoch)
        if isinstance(message, EndTxnRequest):
            self.epoch += not said
            return EndTxnResponse(error_code=said, producer_id=7, producer_epoch=self.epoch)
        assert isinstance(message, AddPartitionsToTxnRequest)
        return AddPartitionsToTxnResponse(error_code=said)

    async def ask_group(self, group: str, message: Any) -> Any:
        await trio.lowlevel.checkpoint()
        self.asked.append((group, message))
        return TxnOffsetCommitResponse()

    async def send(
        self, wanted: ProducerWanted, identity: TransactionalIdentity, topic: str, records: Sequence[Any], **_: Any
    ) -> Sequence[Any]:
        await trio.lowlevel.checkpoint()
        self.sent.append((identity.epoch, topic, records))
        return [self.refuses or f"{wanted.transactional_id}:{each}" for each in records]

    def ends(self) -> list[bool]:
        return [each.committed for each in self.asked if isinstance(each, EndTxnRequest)]


@asynccontextmanager
async def producing(coordinator: Coordinator) -> AsyncIterator[TransactionalProducer]:
    producer = TransactionalProducer(
        "p",
        SOMEBODY,
        ProducerWanted("tx", session_s=60.0),
        coordinator.ask,
        coordinator.ask_group,
        coordinator.send,
        trio.sleep,
    )
    await producer.init()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(producer.run)
        yield producer
        nursery.cancel_scope.cancel()


@trio_test
async def test_a_transaction_is_begun_written_and_committed(autojump_clock: MockClock) -> None:
    coordinator = Coordinator()
    async with producing(coordinator) as producer:
        assert await producer.begin() == 1
        assert await producer.publish("t", ["a"]) == ["tx:a"]
        await producer.end(committed=True)
        assert await producer.begin() == 2
        await producer.publish("t", ["b"])
        await producer.end(committed=False)
        assert coordinator.ends() == [True, False]
        assert [epoch for epoch, _, _ in coordinator.sent] == [0, 1]
        assert (producer.committed, producer.aborted) == (1, 1)


@trio_test
async def test_what_makes_no_sense_is_refused_with_the_reason(autojump_clock: MockClock) -> None:
    async with producing(Coordinator()) as producer:
        with pytest.raises(InvalidTxnState, match="no transaction"):
            await producer.publish("t", ["a"])
        with pytest.raises(InvalidTxnState, match="no transaction"):
            await producer.end(committed=True)
        await producer.begin()
        with pytest.raises(InvalidTxnState, match="is open"):
            await producer.begin()


@trio_test
async def test_a_refused_record_leaves_nothing_but_to_abort(autojump_clock: MockClock) -> None:
    coordinator = Coordinator()
    async with producing(coordinator) as producer:
        await producer.begin()
        coordinator.refuses = InvalidRecord("no")
        await producer.publish("t", ["a"])
        coordinator.refuses = None
        with pytest.raises(InvalidTxnState, match="aborted"):
            await producer.publish("t", ["b"])
        with pytest.raises(InvalidTxnState, match="aborted"):
            await producer.end(committed=True)
        await producer.end(committed=False)
        await producer.begin()
        assert producer.state is TransactionPhase.OPEN


@trio_test
async def test_a_publish_with_a_number_is_written_once(autojump_clock: MockClock) -> None:
    coordinator = Coordinator()
    async with producing(coordinator) as producer:
        await producer.begin()
        first = await producer.publish("t", ["a"], sequence=0)
        assert await producer.publish("t", ["a"], sequence=0) == first
        await producer.publish("t", ["b"], sequence=1)
        with pytest.raises(InvalidTxnState, match="the next one of this transaction is 2"):
            await producer.publish("t", ["c"], sequence=3)
        assert [records for _, _, records in coordinator.sent] == [["a"], ["b"]]


@trio_test
async def test_an_end_that_was_not_heard_of_may_be_asked_again(autojump_clock: MockClock) -> None:
    coordinator = Coordinator()
    async with producing(coordinator) as producer:
        number = await producer.begin()
        await producer.publish("t", ["a"])
        coordinator.says = [RequestTimedOut("who knows"), int(ErrorCode.CONCURRENT_TRANSACTIONS)]
        with pytest.raises(RequestTimedOut):
            await producer.end(committed=True, number=number)
        await producer.end(committed=True, number=number)
        await producer.end(committed=True, number=number)
        assert producer.committed == 1
        with pytest.raises(InvalidTxnState):
            await producer.end(committed=False, number=number)


@trio_test
async def test_a_transaction_without_records_needs_no_coordinator(autojump_clock: MockClock) -> None:
    coordinator = Coordinator()
    async with producing(coordinator) as producer:
        await producer.begin()
        await producer.end(committed=True)
        assert coordinator.ends() == []


@trio_test
async def test_partitions_and_offsets_take_part(autojump_clock: MockClock) -> None:
    coordinator = Coordinator()
    async with producing(coordinator) as producer:
        await producer.begin()
        await producer.add_partitions("t", [0, 1])
        await producer.add_offsets(OffsetsOwner("g", "m", 4), {("s", 0): 9})
        group, request = coordinator.asked[-1]
        assert (group, request.generation_id, request.topics[0].partitions[0].committed_offset) == ("g", 4, 9)


@trio_test
async def test_a_silent_caller_is_aborted_for(autojump_clock: MockClock) -> None:
    coordinator = Coordinator()
    async with producing(coordinator) as producer:
        await producer.begin()
        await producer.publish("t", ["a"])
        await trio.sleep(50)
        producer.heartbeat()
        await trio.sleep(50)
        assert coordinator.ends() == []
        await trio.sleep(20)
        assert coordinator.ends() == [False]
        with pytest.raises(NotAtHome):
            await producer.end(committed=True)


@trio_test
async def test_who_is_fenced_learns_it_and_goes_no_further(autojump_clock: MockClock) -> None:
    coordinator = Coordinator()
    async with producing(coordinator) as producer:
        await producer.begin()
        coordinator.refuses = ProducerFenced("another")
        await producer.publish("t", ["a"])
        with pytest.raises(ProducerFenced):
            await producer.end(committed=False)
        assert producer.is_over


@trio_test
async def test_who_closes_aborts_what_is_open(autojump_clock: MockClock) -> None:
    coordinator = Coordinator()
    async with producing(coordinator) as producer:
        await producer.begin()
        await producer.publish("t", ["a"])
        await producer.close()
        assert coordinator.ends() == [False]
        assert producer.is_over
