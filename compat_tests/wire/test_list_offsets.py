"""ListOffsets: earliest, latest, by time, and the record with the highest timestamp."""

import time
from collections.abc import Callable

import pytest
from attrs import frozen
from kafka.protocol.consumer import ListOffsetsRequest, OffsetForLeaderEpochRequest

from compat_tests.wire.batches import build
from compat_tests.wire.connection import ask
from compat_tests.wire.requests import list_offsets, produce, produced, versions_of

UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_VERSION, INVALID_REQUEST, UNKNOWN_LEADER_EPOCH = 3, 35, 42, 75
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
NOTHING = (0, -1, -1)


@frozen
class Timed:
    """A topic whose timestamps go up and down: base, +20, +10 in one batch, +15 in the next."""

    bootstrap: str
    name: str
    base_ms: int

    def at(self, timestamp: int, version: int = 7, **options: int) -> tuple[int, int, int]:
        """Error code, timestamp (from the base on) and offset of the answer."""
        request = list_offsets(self.name, timestamp, version=version, **options)
        answer = ask(self.bootstrap, request).topics[0].partitions[0]
        stamp = answer.timestamp
        return answer.error_code, stamp if stamp < 0 else stamp - self.base_ms, answer.offset

    def after(self, delay_ms: int) -> tuple[int, int, int]:
        return self.at(self.base_ms + delay_ms)


@pytest.fixture(params=["none", "zstd"])
def timed(bootstrap: str, make_topic: Callable[..., str], request: pytest.FixtureRequest) -> Timed:
    base = int(time.time() * 1000) - 100_000
    topic = make_topic()
    for delays in ((0, 20, 10), (15,)):
        stamps = [base + delay for delay in delays]
        batch = build([b"x" * 200] * len(delays), timestamps_ms=stamps, codec=request.param)
        assert produced(bootstrap, produce(topic, batch)).error_code == 0
    return Timed(bootstrap, topic, base)


def test_ends(timed: Timed) -> None:
    for version in range(1, versions_of(timed.bootstrap)[2][1] + 1):
        assert timed.at(LATEST, version) == (0, -1, 4)
        assert timed.at(EARLIEST, version) == (0, -1, 0)


@pytest.mark.parametrize(("delay", "found"), [(-5, (0, 0)), (0, (0, 0)), (1, (20, 1)), (16, (20, 1)), (20, (20, 1))])
def test_by_time_it_is_the_first_record_at_or_after(timed: Timed, delay: int, found: tuple[int, int]) -> None:
    assert timed.after(delay) == (0, *found)


def test_by_time_after_all_records(timed: Timed) -> None:
    assert timed.after(21) == NOTHING
    assert timed.at(timed.base_ms + 21, version=1) == NOTHING


def test_the_highest_timestamp(timed: Timed) -> None:
    assert timed.at(MAX_TIMESTAMP) == (0, 20, 1)
    assert timed.at(MAX_TIMESTAMP, version=6) == (UNSUPPORTED_VERSION, -1, -1)


def test_without_tiered_storage(timed: Timed) -> None:
    assert timed.at(EARLIEST_LOCAL, version=8) == (0, -1, 0)
    assert timed.at(EARLIEST_LOCAL, version=7) == (UNSUPPORTED_VERSION, -1, -1)
    assert timed.at(LATEST_TIERED, version=9) == NOTHING
    assert timed.at(LATEST_TIERED, version=8) == (UNSUPPORTED_VERSION, -1, -1)


def test_a_timestamp_that_means_nothing(timed: Timed) -> None:
    assert timed.at(-9, version=9) == (UNSUPPORTED_VERSION, -1, -1)


def test_an_empty_partition(bootstrap: str, make_topic: Callable[..., str]) -> None:
    empty = Timed(bootstrap, make_topic(), 0)
    assert empty.at(EARLIEST) == (0, -1, 0)
    assert empty.at(LATEST) == (0, -1, 0)
    assert empty.at(MAX_TIMESTAMP) == NOTHING
    assert empty.at(0) == NOTHING


def test_errors(timed: Timed) -> None:
    assert timed.at(LATEST, partition=4) == (UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    unknown = Timed(timed.bootstrap, "no-such-topic", 0)
    assert unknown.at(LATEST) == (UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    assert timed.at(LATEST, leader_epoch=30) == (UNKNOWN_LEADER_EPOCH, -1, -1)
    assert timed.at(LATEST, leader_epoch=0) == (0, -1, 4)


def test_one_partition_twice_is_an_invalid_request(timed: Timed) -> None:
    request = list_offsets(timed.name, LATEST)
    partitions = request.topics[0].partitions
    partitions.append(
        ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(
            partition_index=0, current_leader_epoch=-1, timestamp=EARLIEST
        )
    )
    answer = ask(timed.bootstrap, request).topics[0].partitions
    assert {partition.error_code for partition in answer} == {INVALID_REQUEST}


@pytest.mark.parametrize(
    ("epoch", "current", "expected"),
    [
        (0, -1, (0, 0, 4)),
        (5, -1, (0, -1, -1)),
        (-1, -1, (0, -1, -1)),
        (0, 70, (UNKNOWN_LEADER_EPOCH, -1, -1)),
    ],
)
def test_the_end_of_a_leader_epoch(timed: Timed, epoch: int, current: int, expected: tuple[int, int, int]) -> None:
    for version in (2, 3, 4):
        assert epoch_end(timed.bootstrap, timed.name, epoch, current, version=version) == expected


def test_the_end_of_a_leader_epoch_of_an_unknown_topic(timed: Timed) -> None:
    assert epoch_end(timed.bootstrap, "no-such-topic", 0)[0] == UNKNOWN_TOPIC_OR_PARTITION
    assert epoch_end(timed.bootstrap, timed.name, 0, partition=3)[0] == UNKNOWN_TOPIC_OR_PARTITION


def epoch_end(
    bootstrap: str, topic: str, epoch: int, current: int = -1, *, partition: int = 0, version: int = 4
) -> tuple[int, int, int]:
    named = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    asked = named.OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(
        version=version, replica_id=-1, topics=[named(topic=topic, partitions=[asked])]
    )
    answer = ask(bootstrap, request).topics[0].partitions[0]
    return answer.error_code, answer.leader_epoch, answer.end_offset
