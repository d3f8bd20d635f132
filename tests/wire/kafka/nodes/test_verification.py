"""A partition's leader on one node, the coordinator of the transaction on another."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from trio.testing import trio_test

from coordinators.transaction.ports import NOTHING_TO_WAIT_FOR, Inclusion
from coordinators.transaction.transaction import ProducerIdentity
from coordinators.waiting import result_of
from engine.deferred import Deferred
from engine.errors import CoordinatorNotAvailable, InvalidProducerEpoch, NotLeader, ProducerFenced, TransactionAbortable
from tests.wire.kafka.nodes.pair import CLIENT, SERVER, Pair, pair
from tests.wire.kafka.transacting import Producer
from wire.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from wire.kafka.nodes.verification import ClusterVerification

CLUSTER_AUTHORIZATION_FAILED = 31
PLACE = ("t", 0)


class Directory:
    """The partitions of the node that leads."""

    topics = SimpleNamespace(node_id=CLIENT)

    def __init__(self, *opened: tuple[int, int]) -> None:
        self.opened = opened

    def find(self, name: str, _index: int) -> Any:
        if name == "elsewhere":
            raise NotLeader("led elsewhere")
        return SimpleNamespace(has_open_transaction=lambda producer_id, epoch: (producer_id, epoch) in self.opened)


def verification(
    made: Pair, coordinator: int = SERVER, *opened: tuple[int, int], transactions: Any = None
) -> ClusterVerification:
    """Of the node that leads."""
    if transactions is None:
        transactions = SimpleNamespace()
    transactions.settings = SimpleNamespace(verifies_partitions=True)
    transactions.internal_topics = SimpleNamespace(coordinator_of=lambda _topic, _key: coordinator)
    directory: Any = Directory(*opened)
    return ClusterVerification(transactions, directory, made.shared, made.background)


def identity(producer: Producer) -> ProducerIdentity:
    return ProducerIdentity(producer.producer_id, producer.epoch)


@trio_test
async def test_a_partition_that_was_not_added_is_refused_and_one_that_was_is_not(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        producer, asking = await made.producer(), verification(made)
        with pytest.raises(TransactionAbortable):
            await result_of(asking.verify("a", identity(producer), PLACE))
        await producer.add()
        await result_of(asking.verify("a", identity(producer), PLACE))
        with pytest.raises(TransactionAbortable):
            await result_of(asking.verify("a", identity(producer), ("t", 1)))


@trio_test
async def test_partitions_are_added_before_anything_is_written(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        producer = await made.producer()
        included = verification(made).add("a", identity(producer), [PLACE, ("elsewhere", 3)])
        assert not included.granted.settled
        await result_of(included.granted)
        await result_of(included.durable)
        known = made.door.broker.node.transactions.list(set(), set())
        assert known[0].partitions == {PLACE, ("elsewhere", 3)}


@trio_test
async def test_a_producer_that_was_replaced_is_refused(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        producer = await made.producer()
        older = identity(producer)
        await producer.init()
        with pytest.raises((ProducerFenced, InvalidProducerEpoch)):
            await result_of(verification(made).add("a", older, [PLACE]).granted)


@trio_test
async def test_a_coordinator_that_cannot_be_asked_is_no_fault_of_the_producer(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        producer = await made.producer()
        for coordinator in (-1, 3):
            with pytest.raises(CoordinatorNotAvailable):
                await result_of(verification(made, coordinator).verify("a", identity(producer), PLACE))
        made.refuses = True
        with pytest.raises(CoordinatorNotAvailable):
            await result_of(verification(made).add("a", identity(producer), [PLACE]).durable)


@trio_test
async def test_a_partition_knows_by_itself_while_the_transaction_is_open_in_it(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        asking = verification(made, SERVER, (5, 1))
        assert asking.knows("a", ProducerIdentity(5, 1), PLACE)
        assert not asking.knows("a", ProducerIdentity(5, 2), PLACE), "another epoch is another transaction"
        assert not asking.knows("a", ProducerIdentity(6, 1), PLACE)
        assert not asking.knows("a", ProducerIdentity(5, 1), ("elsewhere", 0))
        assert made.dialled == 0


@trio_test
async def test_a_coordinator_on_the_same_node_is_waited_for_too(tmp_path: Path) -> None:
    """A batch must not outlive what says that it is part of a transaction: followers may have one without the other."""
    added: Deferred[None] = Deferred()

    class Here(SimpleNamespace):
        def add(self, *_: object) -> Inclusion:
            return Inclusion(NOTHING_TO_WAIT_FOR, added)

        def knows(self, *_: object) -> bool:
            return self.is_ongoing

        is_ongoing = True

    async with pair(tmp_path) as made:
        here = Here()
        asking = verification(made, CLIENT, (5, 1), transactions=here)
        included = asking.add("a", ProducerIdentity(5, 1), [PLACE])
        assert not included.granted.settled
        added.resolve(None)
        assert included.granted.settled
        assert asking.knows("a", ProducerIdentity(5, 1), PLACE)
        here.is_ongoing = False
        assert not asking.knows("a", ProducerIdentity(5, 1), PLACE), "it is being ended"


@pytest.mark.parametrize("version", [4, 5])
@trio_test
async def test_clients_may_not_ask_as_leaders_do(tmp_path: Path, version: int) -> None:
    async with pair(tmp_path) as made:
        producer = await made.producer()
        topics = [AddPartitionsToTxnTopic("t", [0])]
        asked = AddPartitionsToTxnTransaction("a", producer.producer_id, producer.epoch, False, topics)
        answer = await made.client().ask(AddPartitionsToTxnRequest([asked]), version)
        assert answer.error_code == CLUSTER_AUTHORIZATION_FAILED
        assert made.door.broker.node.transactions.list(set(), set())[0].partitions == frozenset()
