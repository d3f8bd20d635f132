"""Produce: what is stored, when it is answered, what is refused."""

import struct
from pathlib import Path

import pytest
from trio.testing import trio_test

from engine.errors import RequestTimedOut
from engine.records.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD, compress
from engine.records.layout import HEADER_SIZE, pack_record, parse_header, seal_batch
from tests.wire.kafka.door import open_door, until
from tests.wire.kafka.requests import (
    BY_NAME,
    batch,
    bodies,
    client_of_topic,
    create_topic,
    fetch,
    fetched,
    produce,
    produced,
)
from wire.kafka.messages.produce import PartitionProduceData

CORRUPT_MESSAGE, UNKNOWN_TOPIC_OR_PARTITION, MESSAGE_TOO_LARGE = 2, 3, 10
INVALID_REQUIRED_ACKS, UNSUPPORTED_COMPRESSION_TYPE, INVALID_RECORD = 21, 76, 87
REQUEST_TIMED_OUT, UNKNOWN_TOPIC_ID, TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 7, 100, 53
TRANSACTIONAL = 0x10


@pytest.mark.parametrize("acks", [1, -1])
@trio_test
async def test_what_is_produced_is_fetched_unchanged(tmp_path: Path, acks: int) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        records = batch(3)
        answer = await produced(client, "t", records, acks=acks)
        assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (0, 0, 0)
        assert (await produced(client, "t", batch(2), acks=acks)).base_offset == 3
        assert bodies((await fetched(client, "t", max_bytes=1)).records) == bodies(records)


@trio_test
async def test_without_acks_nothing_is_answered_and_all_is_stored(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await client.send(produce("t", batch(), acks=0), BY_NAME, answered=False)
        assert (await produced(client, "t", batch())).base_offset == 1


@trio_test
async def test_each_partition_succeeds_or_fails_for_itself(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=2) as (client, _):
        request = produce("t", batch())
        for other in (produce("t", b"", partition=1), produce("t", batch(), partition=2)):
            request.topic_data[0].partition_data += other.topic_data[0].partition_data
        answer = await client.ask(request, BY_NAME)
        codes = [entry.error_code for entry in answer.responses[0].partition_responses]
        assert codes == [0, INVALID_RECORD, UNKNOWN_TOPIC_OR_PARTITION]


@trio_test
async def test_topics_are_named_by_id_from_version_13(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, topic_id):
        request = produce("", batch())
        request.topic_data[0].topic_id = topic_id
        answer = await client.ask(request, 13)
        assert answer.responses[0].topic_id == topic_id
        assert answer.responses[0].partition_responses[0].error_code == 0
        request.topic_data[0].topic_id = b"\1" * 16
        refused = await client.ask(request, 13)
        assert refused.responses[0].partition_responses[0].error_code == UNKNOWN_TOPIC_ID


def _flipped(records: bytes) -> bytes:
    return records[:-1] + bytes([records[-1] ^ 1])


def _with_magic(magic: int) -> bytes:
    records = bytearray(batch())
    records[16] = magic
    return bytes(records)


@pytest.mark.parametrize(
    ("records", "code"),
    [
        pytest.param(None, INVALID_RECORD, id="null"),
        pytest.param(b"", INVALID_RECORD, id="empty"),
        pytest.param(b"x" * 22, INVALID_RECORD, id="too-short"),
        pytest.param(batch() + batch(), INVALID_RECORD, id="two-batches"),
        pytest.param(batch()[:-1], INVALID_RECORD, id="cut-off"),
        pytest.param(_flipped(batch()), CORRUPT_MESSAGE, id="flipped-bit"),
        pytest.param(_with_magic(1), INVALID_RECORD, id="old-format"),
        pytest.param(_with_magic(3), CORRUPT_MESSAGE, id="unknown-format"),
        pytest.param(
            batch(attributes=TRANSACTIONAL), TRANSACTIONAL_ID_AUTHORIZATION_FAILED, id="transactional-without-id"
        ),
        pytest.param(batch([bytes(2_000_000)]), MESSAGE_TOO_LARGE, id="too-large"),
    ],
)
@trio_test
async def test_what_is_no_single_good_batch_is_refused_and_not_stored(
    tmp_path: Path, records: bytes | None, code: int
) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await produced(client, "t", records)
        assert (answer.error_code, answer.base_offset) == (code, -1)
        assert answer.error_message
        assert (await fetched(client, "t")).high_watermark == 0


def _poison() -> dict[str, bytes]:
    """Batches with headers in order and checksums that are right, whose records no consumer could read."""
    good = batch(3)
    header, section = parse_header(good), good[HEADER_SIZE:]
    sections = {
        "garbage": (header, b"\xde\xad\xbe\xef" * 10),
        "count-too-high": (header._replace(record_count=4, last_offset_delta=3), section),
        "count-too-low": (header._replace(record_count=2, last_offset_delta=1), section),
        "repeated-deltas": (header, b"".join(pack_record(0, 0, None, b"v") for _ in range(3))),
        "trailing-bytes": (header, section + b"\0\0"),
    }
    return {name: seal_batch(*parts) for name, parts in sections.items()}


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
@pytest.mark.parametrize("extensions", ["true", "false"])
@trio_test
async def test_a_batch_that_consumers_would_hang_at_is_refused(tmp_path: Path, codec: int, extensions: str) -> None:
    configs = {"extensions.enable": extensions}
    async with client_of_topic(tmp_path, configs=configs) as (client, _):
        for poison in _poison().values():
            header = parse_header(poison)._replace(attributes=codec)
            answer = await produced(client, "t", seal_batch(header, compress(codec, poison[HEADER_SIZE:])))
            assert (answer.error_code, answer.base_offset) == (INVALID_RECORD, -1)
            assert answer.error_message
        assert (await fetched(client, "t")).high_watermark == 0
        assert (await produced(client, "t", batch(3))).base_offset == 0


@trio_test
async def test_a_topic_may_believe_the_headers_of_batches(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, configs={"message.validation": "header"}) as (client, _):
        for poison in _poison().values():
            assert (await produced(client, "t", poison)).error_code == 0


@trio_test
async def test_zstd_needs_version_7(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await client.ask(produce("t", batch(attributes=ZSTD)), 6)
        assert answer.responses[0].partition_responses[0].error_code == UNSUPPORTED_COMPRESSION_TYPE


@trio_test
async def test_other_acks_are_refused(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert (await produced(client, "t", batch(), acks=2)).error_code == INVALID_REQUIRED_ACKS
        assert (await fetched(client, "t")).high_watermark == 0


@trio_test
async def test_the_broker_stamps_records_where_the_topic_says_so(tmp_path: Path) -> None:
    configs = {"message.timestamp.type": "LogAppendTime"}
    async with client_of_topic(tmp_path, configs=configs) as (client, _):
        answer = await produced(client, "t", batch(timestamp_ms=1))
        assert answer.log_append_time_ms > 1_600_000_000_000
        records = bytes((await fetched(client, "t")).records)  # type: ignore[arg-type]
        (max_timestamp_ms,) = struct.unpack_from(">q", records, 35)
        assert max_timestamp_ms == answer.log_append_time_ms


@trio_test
async def test_the_answer_waits_for_the_sync_and_not_for_ever(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, other = await door.connect(), await door.connect()
        made = await create_topic(client, "t")
        partition = door.broker.node.partitions.get(made.topic_id, 0)
        assert partition is not None
        partition.synced = lambda _ticket: None  # type: ignore[method-assign]
        await client.send(produce("t", batch()), BY_NAME)
        await until(lambda: partition.statistics()["waiters"] == 1)
        assert (await fetched(other, "t")).high_watermark == 0
        partition.expire_waiters(float("inf"), RequestTimedOut("too late"))
        entry = (await client.receive()).responses[0].partition_responses[0]
        assert (entry.error_code, entry.base_offset) == (REQUEST_TIMED_OUT, -1)


@trio_test
async def test_min_insync_replicas_above_the_replicas_is_met_by_them(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, configs={"min.insync.replicas": "2"}) as (client, _):
        assert (await produced(client, "t", batch())).error_code == 0


@trio_test
async def test_a_retry_of_an_idempotent_producer_is_answered_like_the_first(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        records = batch(2, producer_id=5, producer_epoch=0, base_sequence=0)
        first, again = await produced(client, "t", records), await produced(client, "t", records)
        assert (first.error_code, first.base_offset) == (again.error_code, again.base_offset) == (0, 0)
        assert (await fetched(client, "t", 2)).high_watermark == 2


@trio_test
async def test_a_fetch_finds_what_was_acknowledged_before_it(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        for number in range(20):
            pieces = [client.prepare(produce("t", batch(), acks=1), BY_NAME)]
            pieces.append(client.prepare(fetch("t", number), BY_NAME))
            await client.send_bytes(b"".join(pieces))
            await client.receive()
            assert (await client.receive()).responses[0].partitions[0].high_watermark == number + 1


@trio_test
async def test_very_many_batches_are_appended_in_their_order(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        request = produce("t", None)
        request.topic_data[0].partition_data = [PartitionProduceData(0, batch()) for _ in range(300)]
        await client.send_bytes(client.prepare(request, BY_NAME) + client.prepare(produce("t", batch()), BY_NAME))
        entries = (await client.receive()).responses[0].partition_responses
        assert [entry.base_offset for entry in entries] == list(range(300))
        assert (await client.receive()).responses[0].partition_responses[0].base_offset == 300
