"""Produce: what is refused, with which code, and what a refusal looks like."""

import gzip
import struct
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from crc32c import crc32c
from kafka.protocol.metadata import ApiVersionsRequest

from compat_tests.wire.batches import build
from compat_tests.wire.connection import Closed, Wire, ask
from compat_tests.wire.requests import (
    NO_TOPIC_ID,
    batches,
    produce,
    produced,
    topic_id,
    versions_of,
)

CORRUPT_MESSAGE, UNKNOWN_TOPIC_OR_PARTITION, MESSAGE_TOO_LARGE = 2, 3, 10
INVALID_REQUIRED_ACKS, INVALID_TIMESTAMP, INVALID_RECORD, UNKNOWN_TOPIC_ID = 21, 32, 87, 100
HOUR_MS = 3_600_000
MakeTopic = Callable[..., str]


def now_ms() -> int:
    return int(time.time() * 1000)


def changed(batch: bytes, position: int, value: int) -> bytes:
    return batch[:position] + bytes([value]) + batch[position + 1 :]


def sealed(records: bytes, section: bytes, *, count: int, codec: int = 0) -> bytes:
    """The batch's header around another record section, and a checksum that is right."""
    head = bytearray(records[:61])
    struct.pack_into(">i", head, 8, 49 + len(section))
    struct.pack_into(">h", head, 21, codec)
    struct.pack_into(">i", head, 23, count - 1)
    struct.pack_into(">i", head, 57, count)
    struct.pack_into(">I", head, 17, crc32c(bytes(head[21:]) + section))
    return bytes(head) + section


def poison() -> dict[str, bytes]:
    """Batches with headers in order, whose records no consumer could read."""
    three = build([b"a", b"b", b"c"])
    section = three[61:]
    return {
        "garbage": sealed(three, b"no records " * 5, count=3),
        "count-too-high": sealed(three, section, count=4),
        "count-too-low": sealed(three, section, count=2),
        "trailing-bytes": sealed(three, section + b"\0\0", count=3),
        "cut-short": sealed(three, section[:-1], count=3),
        "compressed-count-too-high": sealed(three, gzip.compress(section), count=4, codec=1),
        "compressed-garbage": sealed(three, gzip.compress(b"no records " * 5), count=3, codec=1),
    }


@pytest.mark.parametrize("name", poison())
def test_records_that_do_not_add_up_are_invalid(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    topic = make_topic()
    answer = produced(bootstrap, produce(topic, poison()[name]))
    assert (answer.error_code, answer.base_offset) == (INVALID_RECORD, -1)
    assert produced(bootstrap, produce(topic, build([b"a"]))).base_offset == 0


def test_every_version_from_3_on_appends(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    identity = topic_id(bootstrap, topic)
    versions = range(3, versions_of(bootstrap)[0][1] + 1)
    for number, version in enumerate(versions):
        request = produce(topic, build([b"a", b"b"]), version=version, identity=identity)
        answer = produced(bootstrap, request)
        assert (answer.error_code, answer.base_offset) == (0, 2 * number), f"version {version}"
        assert answer.log_append_time_ms == -1
    assert batches(bootstrap, topic)[-1].last_offset == 2 * len(versions) - 1


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_acks_that_do_not_exist(bootstrap: str, make_topic: MakeTopic, acks: int) -> None:
    answer = produced(bootstrap, produce(make_topic(), build([b"a"]), acks=acks))
    assert refused(answer) == (INVALID_REQUIRED_ACKS, -1, -1)


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_all_acks_append(bootstrap: str, make_topic: MakeTopic, acks: int) -> None:
    topic = make_topic()
    with Wire(bootstrap) as wire:
        request = produce(topic, build([b"a"]), acks=acks)
        correlation = wire.send(request)
        if acks != 0:
            assert wire.receive(request, correlation).responses[0].partition_responses[0].error_code == 0
        # With acks=0 the next answer on the connection is that of the next request.
        assert wire.ask(ApiVersionsRequest(version=0)).error_code == 0
    assert [batch.values for batch in batches(bootstrap, topic)] == [(b"a",)]


@pytest.mark.parametrize("partition", [0, 7, -1])
def test_unknown_topic_and_partition(bootstrap: str, make_topic: MakeTopic, partition: int) -> None:
    topic = "no-such-topic" if partition == 0 else make_topic()
    answer = produced(bootstrap, produce(topic, build([b"a"]), partition=partition))
    assert refused(answer) == (UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


def test_produce_never_creates_a_topic(bootstrap: str, topic_name: str) -> None:
    for _ in range(2):
        answer = produced(bootstrap, produce(topic_name, build([b"a"])))
        assert answer.error_code == UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("identity", [NO_TOPIC_ID, str(uuid.uuid4())])
def test_unknown_topic_id(bootstrap: str, identity: str) -> None:
    answer = produced(bootstrap, produce("ignored", build([b"a"]), version=13, identity=identity))
    assert refused(answer) == (UNKNOWN_TOPIC_ID, -1, -1)


@pytest.mark.parametrize(
    ("records", "code"),
    [
        pytest.param(b"", INVALID_RECORD, id="none-at-all"),
        pytest.param(build([b"a"]) + build([b"b"]), INVALID_RECORD, id="two-batches"),
        pytest.param(build([b"abc"])[:-3], INVALID_RECORD, id="cut-short"),
        pytest.param(build([b"abc"])[:10], INVALID_RECORD, id="less-than-a-header"),
        pytest.param(changed(build([b"abc"]), 16, 1), INVALID_RECORD, id="magic-1"),
        pytest.param(changed(build([b"abc"]), 16, 3), CORRUPT_MESSAGE, id="magic-3"),
        pytest.param(changed(build([b"abc"]), -2, 7), CORRUPT_MESSAGE, id="checksum"),
        pytest.param(build([b"a" * 1_048_588]), MESSAGE_TOO_LARGE, id="too-large"),
    ],
)
def test_records_that_are_not_taken(bootstrap: str, make_topic: MakeTopic, records: bytes, code: int) -> None:
    topic = make_topic()
    assert refused(produced(bootstrap, produce(topic, records))) == (code, -1, -1)
    assert batches(bootstrap, topic) == []


def test_the_largest_batch_that_fits(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes=2000)
    overhead = len(build([b"a" * 1900])) - 1900
    largest = build([b"a" * (2000 - overhead)])
    assert len(largest) == 2000
    assert produced(bootstrap, produce(topic, largest)).error_code == 0
    larger = build([b"a" * (2001 - overhead)])
    assert produced(bootstrap, produce(topic, larger)).error_code == MESSAGE_TOO_LARGE


def test_the_limit_is_that_of_the_compressed_batch(bootstrap: str, make_topic: MakeTopic) -> None:
    request = produce(make_topic(max_message_bytes=1000), build([b"a" * 50_000], codec="gzip"))
    assert produced(bootstrap, request).error_code == 0


@pytest.mark.parametrize(
    ("configs", "offsets_ms", "bad"),
    [
        ({}, (0, 2 * HOUR_MS), [1]),
        ({"message_timestamp_after_max_ms": 10 * HOUR_MS}, (0, 2 * HOUR_MS), []),
        ({"message_timestamp_before_max_ms": HOUR_MS}, (-2 * HOUR_MS, 0, -3 * HOUR_MS), [0, 2]),
        ({}, (-1000 * HOUR_MS, 0), []),
    ],
)
def test_timestamps_out_of_bounds(
    bootstrap: str,
    make_topic: MakeTopic,
    configs: dict[str, int],
    offsets_ms: tuple[int, ...],
    bad: list[int],
) -> None:
    stamps = [now_ms() + offset for offset in offsets_ms]
    request = produce(make_topic(**configs), build([b"a"] * len(stamps), timestamps_ms=stamps))
    answer = produced(bootstrap, request)
    assert answer.error_code == (INVALID_TIMESTAMP if bad else 0)
    assert [error.batch_index for error in answer.record_errors] == bad
    assert (answer.base_offset == -1) == bool(bad)


def test_a_null_key_does_not_go_into_a_compacted_topic(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(cleanup_policy="compact")
    answer = produced(bootstrap, produce(topic, build([b"a", b"b"], key=None)))
    assert refused(answer) == (INVALID_RECORD, -1, 0)
    assert [error.batch_index for error in answer.record_errors] == [0, 1]
    assert answer.record_errors[0].batch_index_error_message
    assert answer.error_message
    assert produced(bootstrap, produce(topic, build([b"a"], key=b"k"))).error_code == 0


def test_log_append_time(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    before = now_ms()
    answer = produced(bootstrap, produce(topic, build([b"a", b"b"], timestamps_ms=[1000, 2000])))
    assert before - 1000 <= answer.log_append_time_ms <= now_ms() + 1000
    (batch,) = batches(bootstrap, topic)
    assert batch.log_append_time
    assert batch.max_timestamp_ms == answer.log_append_time_ms
    assert batch.timestamps_ms == (answer.log_append_time_ms,) * 2


@pytest.mark.parametrize("forced", ["gzip", "snappy", "lz4", "zstd", "uncompressed", "producer"])
@pytest.mark.parametrize("sent", ["none", "gzip"])
def test_the_topics_codec_wins(bootstrap: str, make_topic: MakeTopic, forced: str, sent: str) -> None:
    topic = make_topic(compression_type=forced)
    values = [b"a" * 500, b"b" * 500]
    assert produced(bootstrap, produce(topic, build(values, codec=sent))).error_code == 0
    (batch,) = batches(bootstrap, topic)
    assert batch.codec == {"uncompressed": "none", "producer": sent}.get(forced, forced)
    assert list(batch.values) == values


def test_more_insync_replicas_wanted_than_replicas_there_are(bootstrap: str, make_topic: MakeTopic) -> None:
    # Since the replicas that are eligible to lead are tracked (KIP-966), the smaller number counts.
    topic = make_topic(min_insync_replicas=2)
    assert produced(bootstrap, produce(topic, build([b"a"]))).error_code == 0


@pytest.mark.parametrize("failing", ["unknown topic", "too large"])
def test_an_error_with_acks_0_ends_the_connection(bootstrap: str, make_topic: MakeTopic, failing: str) -> None:
    large = failing == "too large"
    topic = make_topic() if large else "no-such-topic"
    with Wire(bootstrap) as wire:
        wire.send(produce(topic, build([b"a" * (1_100_000 if large else 1)]), acks=0))
        with pytest.raises(Closed):
            wire.receive_frame()


def test_partitions_are_judged_one_by_one(bootstrap: str, make_topic: MakeTopic) -> None:
    request = produce(make_topic(2), build([b"a"]))
    data = request.topic_data[0].partition_data
    data.append(produce("", b"", partition=1).topic_data[0].partition_data[0])
    data.append(produce("", build([b"c"]), partition=5).topic_data[0].partition_data[0])
    answer = ask(bootstrap, request).responses[0].partition_responses
    found = {partition.index: partition.error_code for partition in answer}
    assert found == {0: 0, 1: INVALID_RECORD, 5: UNKNOWN_TOPIC_OR_PARTITION}


def refused(answer: Any) -> tuple[int, int, int]:
    return answer.error_code, answer.base_offset, answer.log_start_offset
