"""Idempotent producers by hand: sequences, epochs, and the window of five batches."""

import time
from collections.abc import Callable

import pytest
from attrs import define
from kafka.protocol.admin import DescribeProducersRequest
from kafka.protocol.producer import InitProducerIdRequest

from compat_tests.wire.batches import build
from compat_tests.wire.connection import ask
from compat_tests.wire.requests import batches, produce, produced, versions_of

COORDINATOR_LOAD_IN_PROGRESS, INVALID_REQUEST = 14, 42
OUT_OF_ORDER_SEQUENCE, INVALID_PRODUCER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION = 45, 47, 3
LAST_SEQUENCE = 2**31 - 1


@define
class Sender:
    """A producer id at work on one topic."""

    bootstrap: str
    topic: str
    producer_id: int
    epoch: int = 0

    def send(self, sequence: int, count: int = 2) -> tuple[int, int]:
        """Sends `count` records from `sequence` on; gives the error code and the base offset."""
        values = [f"{sequence + index}".encode() for index in range(count)]
        batch = build(values, producer_id=self.producer_id, producer_epoch=self.epoch, sequence=sequence)
        answer = produced(self.bootstrap, produce(self.topic, batch))
        return answer.error_code, answer.base_offset


def init_producer_id(bootstrap: str, version: int = 4) -> tuple[int, int, int]:
    deadline = time.monotonic() + 10
    while True:
        answer = ask(
            bootstrap,
            InitProducerIdRequest(
                version=version,
                transactional_id=None,
                transaction_timeout_ms=60_000,
                producer_id=-1,
                producer_epoch=-1,
            ),
        )
        # Kafka says so once after its start, while it fetches its first block of ids.
        if answer.error_code != COORDINATOR_LOAD_IN_PROGRESS or time.monotonic() > deadline:
            return answer.error_code, answer.producer_id, answer.producer_epoch


@pytest.fixture
def sender(bootstrap: str, make_topic: Callable[..., str]) -> Sender:
    error, producer_id, epoch = init_producer_id(bootstrap)
    assert (error, epoch) == (0, 0)
    return Sender(bootstrap, make_topic(), producer_id)


def test_every_version_gives_a_new_id(bootstrap: str) -> None:
    versions = range(versions_of(bootstrap)[22][1] + 1)
    answers = [init_producer_id(bootstrap, version) for version in versions]
    assert {(error, epoch) for error, _, epoch in answers} == {(0, 0)}
    assert len({producer_id for _, producer_id, _ in answers}) == len(answers)


def test_an_empty_transactional_id_is_refused(bootstrap: str) -> None:
    request = InitProducerIdRequest(
        version=4, transactional_id="", transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
    )
    answer = ask(bootstrap, request)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (INVALID_REQUEST, -1, -1)


def test_a_batch_sent_twice_is_there_once_and_answered_alike(sender: Sender) -> None:
    assert sender.send(0) == (0, 0)
    assert sender.send(0) == (0, 0)
    assert sender.send(2) == (0, 2)
    assert [batch.base_sequence for batch in batches(sender.bootstrap, sender.topic)] == [0, 2]


def test_a_gap_is_refused(sender: Sender) -> None:
    assert sender.send(0) == (0, 0)
    assert sender.send(3) == (OUT_OF_ORDER_SEQUENCE, -1)
    assert sender.send(2) == (0, 2)


def test_the_last_five_batches_are_remembered(sender: Sender) -> None:
    for number in range(8):
        assert sender.send(2 * number) == (0, 2 * number)
    for number in range(3, 8):
        assert sender.send(2 * number) == (0, 2 * number), "a repeat of one of the last five"
    assert sender.send(4) == (OUT_OF_ORDER_SEQUENCE, -1), "a repeat of the sixth last"
    assert sender.send(14, count=1) == (OUT_OF_ORDER_SEQUENCE, -1), "the same begin but another end"


def test_a_newer_epoch_begins_at_zero_and_fences_the_older(sender: Sender) -> None:
    assert sender.send(0) == (0, 0)
    sender.epoch = 1
    assert sender.send(2) == (OUT_OF_ORDER_SEQUENCE, -1)
    assert sender.send(0) == (0, 2)
    sender.epoch = 0
    assert sender.send(2) == (INVALID_PRODUCER_EPOCH, -1)


def test_an_unknown_id_may_begin_anywhere(sender: Sender) -> None:
    sender.producer_id = 900_000_001
    assert sender.send(77) == (0, 0)
    assert sender.send(79) == (0, 2)


@pytest.mark.parametrize(("first", "count", "following"), [(-1, 2, 0), (-1, 3, 1), (0, 1, 0)])
def test_sequences_wrap(sender: Sender, first: int, count: int, following: int) -> None:
    sender.producer_id = 900_000_100 + count
    assert sender.send(LAST_SEQUENCE + first, count) == (0, 0)
    assert sender.send(LAST_SEQUENCE + first, count) == (0, 0), "the repeat of the batch that wraps"
    assert sender.send(following) == (0, count)


def test_describe_producers(sender: Sender) -> None:
    sender.send(0)
    sender.send(2)
    topic = DescribeProducersRequest.TopicRequest(name=sender.topic, partition_indexes=[0, 4])
    unknown = DescribeProducersRequest.TopicRequest(name="no-such-topic", partition_indexes=[0])
    answer = ask(sender.bootstrap, DescribeProducersRequest(version=0, topics=[topic, unknown]))
    found = {(topic.name, part.partition_index): part for topic in answer.topics for part in topic.partitions}
    (state,) = found[sender.topic, 0].active_producers
    assert (state.producer_id, state.producer_epoch, state.last_sequence) == (sender.producer_id, 0, 3)
    assert (state.coordinator_epoch, state.current_txn_start_offset) == (-1, -1)
    assert state.last_timestamp > 0
    assert found[sender.topic, 4].error_code == UNKNOWN_TOPIC_OR_PARTITION
    assert found["no-such-topic", 0].error_code == UNKNOWN_TOPIC_OR_PARTITION
