"""Markers of transactions that one node coordinates, in partitions that another one leads."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from coordinators.replication.ports import LinkBroken
from coordinators.transaction.transaction import ProducerIdentity, TopicPartition
from coordinators.waiting import result_of
from engine.deferred import Deferred
from engine.errors import InvalidProducerEpoch, NotLeader, RequestTimedOut
from engine.log.transactions import EndMarker
from tests.wire.kafka.nodes.pair import CLIENT, RECORD, SERVER, Pair, pair
from tests.wire.kafka.transacting import read
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from wire.kafka.nodes.markers import ClusterMarkers, packed_epochs
from wire.kafka.nodes.trust import LinkKind

CLUSTER_AUTHORIZATION_FAILED, WRITE_TXN_MARKERS = 31, 27
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 74, 75
ABORT = EndMarker(False, 0)


class Local:
    """The coordinator's own partitions."""

    def __init__(self) -> None:
        self.written: list[TopicPartition] = []

    def write(self, place: TopicPartition, _producer: ProducerIdentity, _marker: EndMarker) -> Deferred[None]:
        self.written.append(place)
        done: Deferred[None] = Deferred()
        done.resolve(None)
        return done


def led_by(*leaders: int) -> Any:
    return SimpleNamespace(partitions=[SimpleNamespace(leader=leader, leader_epoch=0) for leader in leaders])


def markers(made: Pair, local: Local | None = None, **topics: Any) -> ClusterMarkers:
    """Of the node that coordinates."""
    directory: Any = SimpleNamespace(topics=SimpleNamespace(node_id=CLIENT, by_name=topics))
    given: Any = local or Local()
    return ClusterMarkers(given, directory, made.shared, made.background)


@trio_test
async def test_a_marker_is_written_where_the_partition_is_led(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        producer = await made.producer()
        await producer.add()
        await producer.write()
        identity = ProducerIdentity(producer.producer_id, producer.epoch)
        await result_of(markers(made, t=led_by(SERVER)).write(("t", 0), identity, ABORT))
        assert (await read(producer.client)).last_stable_offset == 2


@trio_test
async def test_a_late_marker_does_not_end_the_producers_next_transaction(tmp_path: Path) -> None:
    """Under transaction version 2 the next one has the epoch that the marker brings."""
    async with pair(tmp_path) as made:
        producer = await made.producer()
        await producer.write(version=12)
        ended = await producer.end(version=5)
        marker = EndMarker(True, 0, raises_epoch=True)
        identity = ProducerIdentity(producer.producer_id, ended.producer_epoch)
        writer = markers(made, t=led_by(SERVER))
        await result_of(writer.write(("t", 0), identity, marker))
        producer.epoch, producer.sequences = ended.producer_epoch, {}
        assert (await producer.write(version=12)).error_code == 0
        before = await read(producer.client)
        with pytest.raises(InvalidProducerEpoch):
            await result_of(writer.write(("t", 0), identity, marker))
        assert (await read(producer.client)).last_stable_offset == before.last_stable_offset


@trio_test
async def test_a_marker_over_a_connection_that_was_replaced_is_not_written(tmp_path: Path) -> None:
    """It comes late: over the other one the same was asked again, and the producer may have begun its next
    transaction, in the same epoch."""
    async with pair(tmp_path) as made:
        producer = await made.producer()
        await producer.add()
        await producer.write()
        marker = WritableTxnMarker(producer.producer_id, producer.epoch, False, [WritableTxnMarkerTopic("t", [0])], 0)
        request = WriteTxnMarkersRequest([marker])
        old, new = [await made.links.open(RECORD, LinkKind.WRITES) for _ in range(2)]
        await made.links.open(RECORD, LinkKind.LETTERS)
        with pytest.raises(LinkBroken):
            await old.ask(request, (1, 2), 5)
        assert (await read(producer.client)).last_stable_offset == 0
        answer = await new.ask(request, (1, 2), 5)
        assert answer.markers[0].topics[0].partitions[0].error_code == 0
        assert (await read(producer.client)).last_stable_offset == 2


@trio_test
async def test_a_marker_for_an_earlier_epoch_of_the_leader_is_not_written(tmp_path: Path) -> None:
    """It comes late, over a connection that nothing has replaced: meanwhile another node led the partition and got the
    marker, and the producer may have begun its next transaction, in the same epoch."""
    async with pair(tmp_path) as made:
        producer = await made.producer()
        await producer.add()
        await producer.write()
        link = await made.links.open(RECORD, LinkKind.WRITES)
        for leader_epoch, code, stable in ((-2, FENCED_LEADER_EPOCH, 0), (1, UNKNOWN_LEADER_EPOCH, 0), (0, 0, 2)):
            topic = WritableTxnMarkerTopic("t", [0], packed_epochs({0: leader_epoch}))
            marker = WritableTxnMarker(producer.producer_id, producer.epoch, False, [topic], 0)
            answer = await link.ask(WriteTxnMarkersRequest([marker]), (1, 2), 5)
            assert answer.markers[0].topics[0].partitions[0].error_code == code
            assert (await read(producer.client)).last_stable_offset == stable


@trio_test
async def test_epochs_that_do_not_fit_the_partitions_are_refused(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        link = await made.links.open(RECORD, LinkKind.WRITES)
        marker = WritableTxnMarker(5, 0, False, [WritableTxnMarkerTopic("t", [0, 1], b"1234567")], 0)
        answer = await link.ask(WriteTxnMarkersRequest([marker]), (1, 2), 5)
        codes = [each.error_code for topic in answer.markers[0].topics for each in topic.partitions]
        assert codes == [ErrorCode.INVALID_REQUEST] * 2


@trio_test
async def test_what_waits_for_the_same_node_goes_in_one_request(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        await made.producer()
        writer = markers(made, t=led_by(SERVER, SERVER))
        written = [
            writer.write(("t", index), ProducerIdentity(1000 + number, 0), EndMarker(True, 0))
            for number in range(20)
            for index in (0, 1)
        ]
        for each in written:
            await result_of(each)
        assert made.server.requests[WRITE_TXN_MARKERS] == 1


@trio_test
async def test_refusals_come_back_and_what_its_leader_does_not_know_yet_is_tried_again(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        await made.producer()
        writer = markers(made, t=led_by(SERVER), new=led_by(SERVER))
        await result_of(writer.write(("t", 0), ProducerIdentity(5, 3), ABORT))
        older = writer.write(("t", 0), ProducerIdentity(5, 2), ABORT)
        unheard = writer.write(("new", 0), ProducerIdentity(5, 3), ABORT)
        with pytest.raises(InvalidProducerEpoch):
            await result_of(older)
        with pytest.raises(NotLeader):
            await result_of(unheard)


@trio_test
async def test_a_leader_that_cannot_be_reached_may_be_reached_later(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        await made.producer()
        writer = markers(made, t=led_by(SERVER, -1))
        made.refuses = True
        with pytest.raises(RequestTimedOut):
            await result_of(writer.write(("t", 0), ProducerIdentity(5, 0), ABORT))
        with pytest.raises(NotLeader):
            await result_of(writer.write(("t", 1), ProducerIdentity(5, 0), ABORT))
        made.refuses = False
        with trio.fail_after(5):
            while not await _arrives(writer.write(("t", 0), ProducerIdentity(5, 0), ABORT)):
                await trio.lowlevel.checkpoint()


async def _arrives(written: Deferred[None]) -> bool:
    try:
        await result_of(written)
    except RequestTimedOut:
        return False
    return True


@trio_test
async def test_what_is_led_here_or_gone_is_this_nodes_own_business(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        local = Local()
        writer = markers(made, local, t=led_by(CLIENT))
        for place in (("t", 0), ("t", 1), ("gone", 0)):
            await result_of(writer.write(place, ProducerIdentity(5, 0), ABORT))
        assert local.written == [("t", 0), ("t", 1), ("gone", 0)]
        assert made.dialled == 0


@trio_test
async def test_an_administrator_ends_a_forgotten_transaction_in_a_cluster_too(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        producer = await made.producer()
        await producer.add()
        await producer.write()
        marker = WritableTxnMarker(producer.producer_id, 0, False, [WritableTxnMarkerTopic("t", [0])], 0)
        answer = await producer.client.ask(WriteTxnMarkersRequest([marker]))
        assert answer.markers[0].topics[0].partitions[0].error_code == 0
        assert (await read(producer.client)).last_stable_offset > 0
