"""What follows a batch that was refused for now waits for it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from trio.testing import trio_test

from coordinators.records.publishing import Publishing
from coordinators.records.skipped_sequences import REMEMBERED, REMEMBERED_S, SkippedSequences
from engine.clock import ManualClock
from engine.errors import InvalidRecord, NotEnoughReplicas, NotLeader, UnknownTopicOrPartition
from tests.wire.kafka.door import Client, open_door
from tests.wire.kafka.requests import batch, create_topic, produce
from wire.kafka.messages.init_producer_id import InitProducerIdRequest

NOT_LEADER, NOT_ENOUGH_REPLICAS, UNKNOWN_TOPIC = 6, 19, 3
REFUSAL = NotLeader("not yet")


class Sent:
    """One producer's batches to one partition, which has taken some of them or not."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.skipped = SkippedSequences(self.clock)
        self.is_known = False

    def note(self, sequence: int, producer_id: int = 5, error: Any = REFUSAL) -> None:
        header: Any = SimpleNamespace(producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        self.skipped.note(header, "t", 0, error)

    def check(self, sequence: int, producer_id: int = 5) -> None:
        header = SimpleNamespace(producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        partition = SimpleNamespace(index=0, log=SimpleNamespace(knows_producer=lambda _: self.is_known))
        publication: Any = SimpleNamespace(
            batch=SimpleNamespace(header=header), topic=SimpleNamespace(name="t", topic_id=b"t"), partition=partition
        )
        self.skipped.check(publication)


def test_what_follows_a_batch_that_was_refused_for_now_waits_for_it() -> None:
    sent = Sent()
    sent.note(0)
    sent.note(3)
    for sequence in (3, 6):
        with pytest.raises(NotEnoughReplicas):
            sent.check(sequence)
    sent.check(3, producer_id=6)
    sent.check(0)
    sent.check(3)


def test_who_does_not_send_it_again_has_given_it_up_whatever_else_he_sends() -> None:
    sent = Sent()
    sent.note(6)
    for _ in range(2):
        sent.clock.advance_ms(int(REMEMBERED_S * 500))
        sent.note(7)
    sent.check(7)


def test_a_partition_that_knows_the_producer_tells_itself_what_comes_next() -> None:
    """It was taken by another leader since, and this node has copied it."""
    sent = Sent()
    sent.note(0)
    sent.is_known = True
    sent.check(9)
    sent.is_known = False
    sent.check(10)


def test_what_is_refused_for_good_is_not_waited_for() -> None:
    sent = Sent()
    sent.note(0, error=InvalidRecord("a bad one"))
    sent.note(-1, producer_id=-1)
    sent.check(1)


def test_only_so_many_are_remembered() -> None:
    sent = Sent()
    for producer_id in range(REMEMBERED + 1):
        sent.note(0, producer_id)
    sent.check(1, producer_id=0)
    with pytest.raises(NotEnoughReplicas):
        sent.check(1, producer_id=1)


def test_a_topic_that_was_not_known_yet_counts_too() -> None:
    sent = Sent()
    header: Any = SimpleNamespace(producer_id=5, producer_epoch=0, base_sequence=0)
    sent.skipped.note(header, b"t", 0, UnknownTopicOrPartition("not yet"))
    with pytest.raises(NotEnoughReplicas):
        sent.check(1)


async def send(client: Client, producer_id: int, sequence: int) -> int:
    records = batch(producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
    return int((await client.ask(produce("t", records), 11)).responses[0].partition_responses[0].error_code)


@pytest.mark.parametrize("why", ["leader", "replicas", "topic"])
@trio_test
async def test_a_row_of_batches_is_taken_in_order_although_the_first_came_too_early(tmp_path: Path, why: str) -> None:
    """As after a failover: the node leads, has its followers or knows the topic only when the second one comes."""
    async with open_door(tmp_path) as door:
        client = await door.connect()
        producer_id = (await client.ask(InitProducerIdRequest(transaction_timeout_ms=1_000))).producer_id
        if why != "topic":
            await create_topic(client, "t")
            directory = door.broker.node.services[Publishing].directory
            replicas = directory.find("t", 0).replicas
        if why == "leader":
            replicas.not_leader = NotLeader("not yet")
        if why == "replicas":
            replicas.shortage = NotEnoughReplicas("not yet")
        code = {"leader": NOT_LEADER, "replicas": NOT_ENOUGH_REPLICAS, "topic": UNKNOWN_TOPIC}[why]
        assert await send(client, producer_id, 0) == code
        if why == "topic":
            await create_topic(client, "t")
        else:
            replicas.not_leader = replicas.shortage = None
        assert [await send(client, producer_id, sequence) for sequence in (1, 2)] == [NOT_ENOUGH_REPLICAS] * 2
        assert [await send(client, producer_id, sequence) for sequence in range(3)] == [0] * 3
