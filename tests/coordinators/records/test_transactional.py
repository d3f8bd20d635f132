"""Transactional batches: only into partitions of the transaction (KIP-890)."""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from coordinators.records.publishing import Publishing
from coordinators.records.transactional import TransactionalPublishing
from coordinators.transaction.ports import Inclusion, TransactionVerification
from coordinators.transaction.transaction import ProducerIdentity, TopicPartition
from engine.deferred import Deferred
from engine.errors import ConcurrentTransactions
from tests.wire.kafka.requests import batch, produce
from tests.wire.kafka.transacting import TRANSACTIONAL, Producer, read, transacting

INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, INVALID_PRODUCER_ID_MAPPING = 47, 48, 49
AUTHORIZATION_FAILED, TRANSACTION_ABORTABLE = 53, 120
OUT_OF_ORDER_SEQUENCE = 45


@pytest.mark.parametrize(
    ("version", "code"), [(3, INVALID_TXN_STATE), (10, INVALID_TXN_STATE), (11, TRANSACTION_ABORTABLE)]
)
@trio_test
async def test_what_was_not_added_is_refused_in_classic_versions(tmp_path: Path, version: int, code: int) -> None:
    async with transacting(tmp_path) as (_, producer):
        assert (await producer.write(version=version)).error_code == code
        assert (await read(producer.client)).high_watermark == 0


@trio_test
async def test_version_12_adds_the_partition_and_further_batches_go_straight_in(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        for number in range(3):
            answer = await producer.write(b"%d" % number, version=12)
            assert (answer.error_code, answer.base_offset) == (0, number)
        assert (await producer.end(version=5)).error_code == 0
        found = await read(producer.client)
        assert (found.last_stable_offset, found.aborted_transactions) == (4, [])


@pytest.mark.parametrize(("version", "code"), [(11, 0), (12, OUT_OF_ORDER_SEQUENCE)])
@trio_test
async def test_a_producer_that_is_unknown_begins_each_transaction_of_version_2_at_zero(
    tmp_path: Path, version: int, code: int
) -> None:
    """Its epoch has risen with the transaction before: a later sequence means that a batch has got lost on the way."""
    async with transacting(tmp_path) as (_, producer):
        if version < 12:
            await producer.add()
        producer.sequences[0] = 4
        assert (await producer.write(version=version)).error_code == code


@trio_test
async def test_batches_sent_in_a_row_keep_their_order_while_the_partition_is_added(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        frames = b""
        for sequence in range(5):
            records = batch(
                producer_id=producer.producer_id, producer_epoch=0, base_sequence=sequence, attributes=TRANSACTIONAL
            )
            request = produce("t", records)
            request.transactional_id = producer.name
            frames += producer.client.prepare(request, 12)
        await producer.client.send_bytes(frames)
        entries = [(await producer.client.receive()).responses[0].partition_responses[0] for _ in range(5)]
        assert [(entry.error_code, entry.base_offset) for entry in entries] == [(0, offset) for offset in range(5)]


@pytest.mark.parametrize("version", [11, 12])
@trio_test
async def test_an_older_instance_is_fenced(tmp_path: Path, version: int) -> None:
    async with transacting(tmp_path) as (_, producer):
        await Producer(producer.client).init()
        assert (await producer.write(version=version)).error_code == INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("version", [11, 12])
@trio_test
async def test_a_transactional_id_of_another_producer_is_refused(tmp_path: Path, version: int) -> None:
    async with transacting(tmp_path) as (_, producer):
        thief = Producer(producer.client, "a", producer.producer_id + 100, 0)
        assert (await thief.write(version=version)).error_code == INVALID_PRODUCER_ID_MAPPING


@trio_test
async def test_a_transactional_batch_needs_a_transactional_id(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        producer.name = None  # type: ignore[assignment]
        assert (await producer.write(version=12)).error_code == AUTHORIZATION_FAILED


@trio_test
async def test_who_reads_committed_records_is_woken_by_the_commit_and_not_before(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (door, producer):
        reader = await door.connect()
        heard: list[int] = []

        async def wait() -> None:
            found = await read(reader, max_wait_ms=8_000)
            heard.append(found.last_stable_offset)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await producer.write(version=12)
            assert (await read(producer.client, committed=False)).high_watermark == 1
            assert heard == []
            await producer.end(version=5)
        assert heard == [2]


class Elsewhere:
    """The coordinator as a node sees it that has to ask another one: answers come when they are sent on."""

    def __init__(self, coordinator: TransactionVerification) -> None:
        self.coordinator = coordinator
        self.asked: list[tuple[Deferred[None], Deferred[None]]] = []
        self.is_asked = trio.Event()

    def knows(self, *_: Any) -> bool:
        return False

    def verify(self, transactional_id: str, producer: ProducerIdentity, place: TopicPartition) -> Deferred[None]:
        return self._later(self.coordinator.verify(transactional_id, producer, place))

    def add(self, transactional_id: str, producer: ProducerIdentity, places: Iterable[TopicPartition]) -> Inclusion:
        answer = self._later(self.coordinator.add(transactional_id, producer, places).durable)
        return Inclusion(answer, answer)

    def _later(self, answer: Deferred[None]) -> Deferred[None]:
        later: Deferred[None] = Deferred()
        self.asked.append((answer, later))
        self.is_asked.set()
        return later

    def send_on(self) -> None:
        for answer, later in self.asked:
            answer.forward(later)


@pytest.mark.parametrize(("version", "code"), [(11, TRANSACTION_ABORTABLE), (12, 0)])
@trio_test
async def test_a_batch_waits_for_a_coordinator_on_another_node(tmp_path: Path, version: int, code: int) -> None:
    async with transacting(tmp_path) as (door, producer):
        publishing = door.broker.node.services[Publishing]
        publishing.verification = coordinator = Elsewhere(publishing.verification)
        entries: list[Any] = []

        async def write() -> None:
            entries.append(await producer.write(version=version))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(write)
            await coordinator.is_asked.wait()
            reader = await door.connect()
            assert (await read(reader, committed=False)).high_watermark == 0
            assert entries == []
            coordinator.send_on()
        assert entries[0].error_code == code
        assert (await read(producer.client, committed=False)).high_watermark == (1 if code == 0 else 0)


def test_a_batch_that_was_opened_for_so_long_that_its_transaction_ended_does_not_slip_into_the_next() -> None:
    """Where another node coordinates, there is no answer at once: the producer asks again."""
    is_open = [True]

    class Elsewhere:
        def knows(self, *_: object) -> bool:
            return False

        def verify(self, *_: object) -> Deferred[None]:
            return Deferred()

        def add(self, *_: object) -> Inclusion:
            raise AssertionError

    header = SimpleNamespace(producer_id=5, producer_epoch=0, is_transactional=True)
    partition = SimpleNamespace(index=0, has_open_transaction=lambda *_: is_open[0])
    publication: Any = SimpleNamespace(
        batch=SimpleNamespace(header=header), topic=SimpleNamespace(name="t"), partition=partition
    )
    publishing = TransactionalPublishing(Elsewhere(), "a", False, lambda error: error)
    assert publishing.ask([publication]), "its transaction is open"
    publishing.check(publication)
    is_open[0] = False
    with pytest.raises(ConcurrentTransactions):
        publishing.check(publication)
