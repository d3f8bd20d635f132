"""Fetch without a session: limits, positions, waiting, and errors."""

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from compat_tests.wire.batches import build, parse, split
from compat_tests.wire.connection import Wire, ask
from compat_tests.wire.requests import (
    NO_TOPIC_ID,
    fetch,
    fetch_partition,
    fetched,
    produce,
    produced,
    topic_id,
    versions_of,
)

OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_LEADER_EPOCH, UNKNOWN_TOPIC_ID = 1, 3, 75, 100
MakeTopic = Callable[..., str]


@pytest.fixture
def topic(bootstrap: str, make_topic: MakeTopic) -> str:
    """Offsets 0-2 in a small batch, 3-4 in one of 2 KB."""
    name = make_topic()
    for values in ([b"a", b"b", b"c"], [b"d" * 2000, b"e"]):
        assert produced(bootstrap, produce(name, build(values))).error_code == 0
    return name


def test_every_version_reads_the_same(bootstrap: str, topic: str) -> None:
    identity = topic_id(bootstrap, topic)
    for version in range(4, versions_of(bootstrap)[1][1] + 1):
        answer = fetched(bootstrap, topic, version=version, identity=identity)
        assert (answer.error_code, answer.high_watermark, answer.last_stable_offset) == (0, 5, 5)
        assert [batch.base_offset for batch in parse(bytes(answer.records))] == [0, 3], version
        if version >= 5:
            assert answer.log_start_offset == 0


def test_an_offset_inside_a_batch_gives_the_whole_batch(bootstrap: str, topic: str) -> None:
    found = parse(bytes(fetched(bootstrap, topic, 1).records))
    assert [batch.base_offset for batch in found] == [0, 3]
    found = parse(bytes(fetched(bootstrap, topic, 4).records))
    assert [batch.base_offset for batch in found] == [3]


def test_at_the_end_there_is_nothing(bootstrap: str, topic: str) -> None:
    answer = fetched(bootstrap, topic, 5)
    assert (answer.error_code, answer.high_watermark, answer.log_start_offset) == (0, 5, 0)
    assert not answer.records


@pytest.mark.parametrize("offset", [6, 1000, -1])
def test_out_of_range(bootstrap: str, topic: str, offset: int) -> None:
    answer = fetched(bootstrap, topic, offset)
    marks = (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset)
    assert (answer.error_code, marks) == (OFFSET_OUT_OF_RANGE, (-1, -1, -1))
    assert not answer.records


@pytest.mark.parametrize("limit", [{"max_bytes": 1}, {"max_bytes": 0}, {"partition": 1}, {"partition": 0}])
def test_the_first_batch_comes_even_if_larger(bootstrap: str, topic: str, limit: dict[str, int]) -> None:
    asked = [fetch_partition(3, max_bytes=limit.get("partition", 1 << 20))]
    request = fetch(topic, asked, max_bytes=limit.get("max_bytes", 1 << 20))
    records = bytes(ask(bootstrap, request).responses[0].partitions[0].records)
    assert [batch.base_offset for batch in parse(records)] == [3]


def test_no_more_than_the_partitions_limit_after_the_first(bootstrap: str, topic: str) -> None:
    asked = [fetch_partition(0, max_bytes=500)]
    records = bytes(ask(bootstrap, fetch(topic, asked)).responses[0].partitions[0].records)
    assert len(records) <= 500
    assert len(list(split(records))) == 1


def test_the_limit_over_all_partitions(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    for partition in range(3):
        batch = build([b"x" * 10_000])
        assert produced(bootstrap, produce(topic, batch, partition=partition)).error_code == 0
    asked = [fetch_partition(0, partition=partition) for partition in range(3)]
    answer = ask(bootstrap, fetch(topic, asked, max_bytes=10_100)).responses[0].partitions
    sizes = [len(partition.records) for partition in answer]
    assert 10_000 < sum(sizes) <= 10_100
    whole = [len(parse(bytes(partition.records))) for partition in answer]
    assert whole == [1, 0, 0]


def test_aborted_transactions_are_a_list_only_if_asked_for_committed(bootstrap: str, topic: str) -> None:
    assert fetched(bootstrap, topic).aborted_transactions is None
    assert fetched(bootstrap, topic, isolation=1).aborted_transactions == []


@pytest.mark.parametrize("version", [4, 7, 12])
def test_unknown_topic_and_partition(bootstrap: str, topic: str, version: int) -> None:
    answer = fetched(bootstrap, "no-such-topic", version=version)
    assert failed(answer) == (UNKNOWN_TOPIC_OR_PARTITION, -1)
    request = fetch(topic, [fetch_partition(0, partition=5)], version=version)
    assert failed(ask(bootstrap, request).responses[0].partitions[0]) == (UNKNOWN_TOPIC_OR_PARTITION, -1)


@pytest.mark.parametrize("identity", [NO_TOPIC_ID, str(uuid.uuid4())])
def test_unknown_topic_id(bootstrap: str, identity: str) -> None:
    answer = ask(bootstrap, fetch("", [fetch_partition(0)], version=13, identity=identity))
    assert answer.error_code == 0
    assert str(answer.responses[0].topic_id or NO_TOPIC_ID) == identity
    assert failed(answer.responses[0].partitions[0]) == (UNKNOWN_TOPIC_ID, -1)


def test_leader_epoch(bootstrap: str, topic: str) -> None:
    newer = ask(bootstrap, fetch(topic, [fetch_partition(0, leader_epoch=50)])).responses[0].partitions[0]
    assert failed(newer) == (UNKNOWN_LEADER_EPOCH, -1)
    same = ask(bootstrap, fetch(topic, [fetch_partition(0, leader_epoch=0)])).responses[0].partitions[0]
    assert same.error_code == 0


def test_a_fetch_at_the_end_waits_as_long_as_it_may(bootstrap: str, topic: str) -> None:
    began = time.monotonic()
    answer = fetched(bootstrap, topic, 5, max_wait_ms=400)
    assert 0.35 <= time.monotonic() - began < 5
    assert answer.error_code == 0


def test_a_fetch_for_more_bytes_than_there_are_waits_and_gives_what_there_is(bootstrap: str, topic: str) -> None:
    began = time.monotonic()
    answer = fetched(bootstrap, topic, 0, max_wait_ms=400, min_bytes=1_000_000)
    assert 0.35 <= time.monotonic() - began < 5
    assert len(parse(bytes(answer.records))) == 2


def test_records_wake_a_waiting_fetch(bootstrap: str, topic: str) -> None:
    with Wire(bootstrap) as wire:
        request = fetch(topic, [fetch_partition(5)], max_wait_ms=15_000)
        correlation = wire.send(request)
        began = time.monotonic()
        append = threading.Thread(target=produced, args=(bootstrap, produce(topic, build([b"f"]))))
        append.start()
        answer = wire.receive(request, correlation).responses[0].partitions[0]
        append.join()
    assert time.monotonic() - began < 10
    assert [batch.values for batch in parse(bytes(answer.records))] == [(b"f",)]


def test_nothing_to_wait_for_is_answered_at_once(bootstrap: str, topic: str) -> None:
    began = time.monotonic()
    assert fetched(bootstrap, topic, 6, max_wait_ms=15_000).error_code == OFFSET_OUT_OF_RANGE
    assert fetched(bootstrap, topic, 5, max_wait_ms=15_000, min_bytes=0).error_code == 0
    assert fetched(bootstrap, topic, 0, max_wait_ms=15_000).error_code == 0
    assert time.monotonic() - began < 10


def failed(answer: Any) -> tuple[int, int]:
    assert not answer.records
    return answer.error_code, answer.high_watermark
