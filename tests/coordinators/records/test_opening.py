"""Batches that take long to open: within bounds, in order, and while others are served."""

import gc
import time
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from coordinators.records.opening import AT_ONCE_BYTES, Sent
from coordinators.records.publishing import Publishing
from engine.errors import BrokerError
from engine.log.types import LogConfig
from engine.records import batch
from engine.records.batch import whole
from engine.records.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD, compress
from engine.records.layout import HEADER_SIZE, BatchHeader, pack_batch, pack_record, parse_header, seal_batch
from engine.stage.config import ExtensionConfig
from tests.wire.kafka.door import Client, open_door
from tests.wire.kafka.requests import BY_NAME, bodies, client_of_topic, create_topic, fetched, produce, produced
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

MESSAGE_TOO_LARGE, INVALID_RECORD, CORRUPT_MESSAGE = 10, 87, 2
MEBIBYTE = 2**20
STALL_S = 0.05
CODECS = [GZIP, SNAPPY, LZ4, ZSTD]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def of_records(section: bytes, count: int, codec: int, *, packed: bytes | None = None) -> bytes:
    now = now_ms()
    header = BatchHeader(0, 0, -1, 2, 0, codec, count - 1, now, now, -1, -1, -1, count)
    return seal_batch(header, compress(codec, section) if packed is None else packed)


def bomb(size: int, codec: int = ZSTD) -> bytes:
    """A single record of zeros."""
    return of_records(pack_record(0, 0, None, bytes(size)), 1, codec)


def tiny_records(count: int, *last: bytes) -> bytes:
    return b"".join(pack_record(index, 0, None, None) for index in range(count)) + b"".join(last)


def compressed(codec: int, records: bytes) -> bytes:
    header = parse_header(records)
    return seal_batch(header._replace(attributes=codec), compress(codec, records[HEADER_SIZE:]))


def values(size: int, count: int) -> bytes:
    return pack_batch([pack_record(index, 0, b"k", bytes(size)) for index in range(count)], (now_ms(), now_ms()))


async def busiest(scope: trio.CancelScope, found: list[float]) -> None:
    """The most processor time that the loop's thread spent without letting another task run."""
    with scope:
        last = time.thread_time()
        while True:
            await trio.lowlevel.checkpoint()
            now = time.thread_time()
            found[0] = max(found[0], now - last)
            last = now


async def asked(client: Client, request: ProduceRequest) -> tuple[Any, float]:
    """The answer, and the longest that other tasks waited for the loop."""
    found, scope = [0.0], trio.CancelScope()
    # As a server does it (tidegate/serve.py): a collection would look through all that the tests have loaded.
    gc.freeze()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(busiest, scope, found)
            answer = await client.ask(request, BY_NAME)
            scope.cancel()
    finally:
        gc.unfreeze()
    return answer, found[0]


def to_partitions(batches: list[bytes], topic: str = "t") -> ProduceRequest:
    data = [PartitionProduceData(0, batch) for batch in batches]
    return ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[TopicProduceData(name=topic, partition_data=data)])


def codes(answer: Any) -> list[int]:
    return [entry.error_code for entry in answer.responses[0].partition_responses]


@pytest.mark.parametrize("codec", CODECS)
@trio_test
async def test_a_batch_of_much_content_is_opened_and_stored_as_it_came(tmp_path: Path, codec: int) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        records = compressed(codec, values(1_000, 700))
        assert len(values(1_000, 700)) > AT_ONCE_BYTES
        assert (await produced(client, "t", records)).base_offset == 0
        assert (await produced(client, "t", compressed(codec, values(1_000, 2)))).base_offset == 700
        assert bodies((await fetched(client, "t", max_bytes=1)).records) == bodies(records)


@pytest.mark.parametrize("codec", CODECS)
@trio_test
async def test_poison_is_found_in_a_thread_too(tmp_path: Path, codec: int) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        good = values(1_000, 700)
        false_count = parse_header(good)._replace(record_count=701, last_offset_delta=700)
        answer = await produced(client, "t", compressed(codec, seal_batch(false_count, good[HEADER_SIZE:])))
        assert answer.error_code == INVALID_RECORD
        damaged = bytearray(compressed(codec, good))
        damaged[-1] ^= 1
        assert (await produced(client, "t", bytes(damaged))).error_code == CORRUPT_MESSAGE
        assert (await fetched(client, "t")).high_watermark == 0


@trio_test
async def test_many_batches_that_expand_enormously_stop_nobody(tmp_path: Path) -> None:
    """A hundred of two kilobytes; each would be sixty megabytes."""
    async with client_of_topic(tmp_path) as (client, _):
        request = to_partitions([bomb(60 * MEBIBYTE)] * 100)
        answer, stall_s = await asked(client, request)
        assert codes(answer) == [MESSAGE_TOO_LARGE] * 100
        entries = answer.responses[0].partition_responses
        assert "decompression.max.ratio" in entries[0].error_message
        # Work done in vain counts: after 32 times 8 MiB the request has had its share.
        assert "request.max.decompressed.bytes" in entries[99].error_message
        assert stall_s < STALL_S
        assert (await produced(client, "t", values(10, 1))).base_offset == 0


@pytest.mark.parametrize("codec", CODECS)
@trio_test
async def test_of_what_was_decompressed_in_vain_nothing_waits_for_a_collection(tmp_path: Path, codec: int) -> None:
    async with client_of_topic(tmp_path, configs={"extensions.max.decompressed.bytes": "4000000"}) as (client, _):
        request = to_partitions([bomb(5_000_000, codec)] * 3)
        gc.collect()
        gc.disable()
        try:
            assert codes(await client.ask(request, BY_NAME)) == [MESSAGE_TOO_LARGE] * 3
            errors = [each for each in gc.get_objects() if isinstance(each, BrokerError)]
        finally:
            gc.enable()
        # What holds anything is the frames behind an error.
        assert [each for each in errors if each.__traceback__ is not None or each.__context__ is not None] == []


@pytest.mark.parametrize("count", [7_000_000, 2_000_000])
@trio_test
async def test_a_batch_of_millions_of_records_is_refused_unopened(tmp_path: Path, count: int) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        records = of_records(b"", count, ZSTD, packed=compress(ZSTD, bytes(7 * count)))
        answer, stall_s = await asked(client, to_partitions([records]))
        assert codes(answer) == [MESSAGE_TOO_LARGE]
        assert "max.message.records" in answer.responses[0].partition_responses[0].error_message
        assert stall_s < STALL_S


@trio_test
async def test_records_that_ask_are_opened_in_slices(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, configs={"extensions.max.records": "100000"}) as (client, _):
        count = 99_000
        asking = pack_record(count, 0, None, None, [(b"tide-ttl", b"1000")])
        records = of_records(tiny_records(count, asking), count + 1, ZSTD)
        answer, stall_s = await asked(client, to_partitions([records]))
        assert codes(answer) == [0]
        assert stall_s < STALL_S
        refused = of_records(tiny_records(count, asking.replace(b"1000", b"soon")), count + 1, ZSTD)
        answer, stall_s = await asked(client, to_partitions([refused]))
        (entry,) = answer.responses[0].partition_responses
        assert (entry.error_code, [error.batch_index for error in entry.record_errors]) == (INVALID_RECORD, [count])
        assert stall_s < STALL_S


@trio_test
async def test_too_many_records_to_be_opened_one_by_one_are_refused(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, configs={"extensions.max.records": "100"}) as (client, _):
        asking = [(b"tide-ttl", b"1000")]
        for count, code in ((100, 0), (101, MESSAGE_TOO_LARGE), (5_000, MESSAGE_TOO_LARGE)):
            section = b"".join(pack_record(index, 0, None, None, asking) for index in range(count))
            for codec in (NONE, ZSTD):
                assert (await produced(client, "t", of_records(section, count, codec))).error_code == code
        assert (await produced(client, "t", of_records(tiny_records(5_000), 5_000, ZSTD))).error_code == 0


@trio_test
async def test_an_answer_names_a_hundred_records_at_most(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        asking = [(b"tide-ttl", b"soon")]
        section = b"".join(pack_record(index, 0, None, None, asking) for index in range(5_000))
        entry = await produced(client, "t", of_records(section, 5_000, ZSTD))
        assert entry.error_code == INVALID_RECORD
        assert "5000 of 5000" in (entry.error_message or "")
        assert len(entry.record_errors) == 100


@trio_test
async def test_batches_of_a_request_keep_their_order(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        large, small = compressed(ZSTD, values(1_000, 700)), values(10, 1)
        answer = await client.ask(to_partitions([large, small, large, small]), BY_NAME)
        offsets = [entry.base_offset for entry in answer.responses[0].partition_responses]
        assert offsets == [0, 700, 701, 1401]


@trio_test
async def test_requests_behind_a_slow_one_keep_their_order(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        for records in (compressed(GZIP, values(1_000, 700)), values(10, 1)):
            await client.send(produce("t", records), BY_NAME)
        found = [(await client.receive()).responses[0].partition_responses[0].base_offset for _ in range(2)]
        assert found == [0, 700]


@trio_test
async def test_without_acks_a_slow_request_is_stored_and_not_answered(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await client.send(produce("t", compressed(ZSTD, values(1_000, 700)), acks=0), BY_NAME, answered=False)
        assert (await produced(client, "t", values(10, 1))).base_offset == 700


@trio_test
async def test_a_slow_batch_is_staged_whole(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        delayed = [(b"tide-delay", b"600000")]
        section = b"".join(pack_record(index, 0, b"k", bytes(500), delayed) for index in range(1_000))
        assert (await produced(client, "t", of_records(section, 1_000, ZSTD))).base_offset == -1
        assert (await produced(client, "t", values(10, 1))).base_offset == 0


@pytest.mark.parametrize("configs", [{"compression.type": "zstd", "compression.zstd.level": "19"}])
@trio_test
async def test_compressing_anew_at_a_high_level_stops_nobody(tmp_path: Path, configs: dict[str, str]) -> None:
    async with client_of_topic(tmp_path, configs=configs) as (client, _):
        noise = b"".join(b"%d;%x " % (number, number * 7919) for number in range(60_000))[:900_000]
        records = pack_batch([pack_record(0, 0, b"k", noise)], (now_ms(), now_ms()))
        answer, stall_s = await asked(client, to_partitions([records]))
        assert codes(answer) == [0]
        assert stall_s < STALL_S
        stored = bytes((await fetched(client, "t")).records)
        assert parse_header(stored).codec == ZSTD
        assert len(stored) < len(records) / 2


@trio_test
async def test_room_that_is_taken_is_waited_for(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"queued.max.decompressed.bytes": MEBIBYTE}) as door:
        client = await door.connect()
        await create_topic(client, "t")
        room = door.broker.node.services[Publishing].opener.room
        large = compressed(ZSTD, values(1_000, 700))
        async with room.holding(MEBIBYTE):
            await client.send(produce("t", large), BY_NAME)
            other = await door.connect()
            assert (await produced(other, "t", values(10, 1))).base_offset == 0
            assert room.statistics()["waiting"] == 1
        assert (await client.receive()).responses[0].partition_responses[0].base_offset == 1
        assert room.held_bytes == 0


@pytest.mark.parametrize(
    ("log", "soon"),
    [
        (LogConfig(), True),
        (LogConfig(compression_type="uncompressed"), True),
        (LogConfig(compression_type="zstd"), True),
        (LogConfig(compression_type="zstd", compression_zstd_level=15), False),
        (LogConfig(compression_type="gzip", compression_gzip_level=9), False),
        (LogConfig(compression_type="snappy"), True),
    ],
)
def test_a_small_batch_is_compressed_at_once_unless_the_level_is_high(log: LogConfig, soon: bool) -> None:
    batch = Sent(whole(values(100, 10)), log, ExtensionConfig(), has_stage=False)
    assert batch.is_soon_compressed() is soon
    large = Sent(whole(values(100, 1_000)), log, ExtensionConfig(), has_stage=False)
    assert large.is_soon_compressed() is (log.compression_type in ("producer", "uncompressed"))


@trio_test
async def test_what_nobody_wants_to_see_stays_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object) -> bytes:
        raise AssertionError("opened")

    monkeypatch.setattr(batch, "decompress", opened)
    configs = {"extensions.enable": "false", "message.validation": "header", "trace.enable": "false"}
    async with client_of_topic(tmp_path, configs=configs) as (client, _):
        assert (await produced(client, "t", bomb(60 * MEBIBYTE))).error_code == 0
