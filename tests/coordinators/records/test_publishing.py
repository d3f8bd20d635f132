"""Produce with extension headers through the door: what each client is told, what is refused, what queues."""

import random
from pathlib import Path
from typing import Any

import pytest
from attrs import define
from trio.testing import trio_test

from coordinators.records.publication import Publication
from coordinators.records.publishing import Publishing
from coordinators.topics import Topic
from engine.errors import CorruptMessage, PolicyViolation, StorageError
from engine.log.types import Origin
from engine.records.batch import NOBODY, Publisher, whole
from engine.records.compression import GZIP, LZ4, SNAPPY, ZSTD, compress
from engine.records.layout import DELETE_HORIZON_FLAG, HEADER_SIZE, parse_header, seal_batch
from engine.stage.state import PLAIN_FLAG
from tests.engine.stage.world import Record, client_batch, record
from tests.wire.kafka.door import Client, Door, open_door
from wire.kafka.apis.produce import FAR_BELOW_ZERO
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from wire.kafka.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from wire.kafka.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

INVALID_RECORD, POLICY_VIOLATION = 87, 44
VERSION = 12
FETCH_VERSION = 12


async def create(client: Client, name: str = "t", **configs: str) -> None:
    entries = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=entries)
    answer = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 5)
    assert answer.topics[0].error_code == 0, answer


async def produce(client: Client, batch: bytes, *, acks: int = -1, name: str = "t") -> Any:
    data = [TopicProduceData(name=name, partition_data=[PartitionProduceData(index=0, records=batch)])]
    answer = await client.ask(ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=data), VERSION)
    return answer.responses[0].partition_responses[0]


async def end_offset(client: Client, name: str = "t") -> Any:
    topics = [ListOffsetsTopic(name=name, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])]
    answer = await client.ask(ListOffsetsRequest(replica_id=-1, topics=topics), 5)
    return answer.topics[0].partitions[0]


async def fetch(client: Client, offset: int, *, wait_ms: int = 0, name: str = "t") -> Any:
    partition = FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=1 << 20, current_leader_epoch=-1, log_start_offset=-1
    )
    request = FetchRequest(
        max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 20, session_epoch=-1,
        topics=[FetchTopic(topic=name, partitions=[partition])],
    )  # fmt: skip
    answer = await client.ask(request, FETCH_VERSION)
    return answer.responses[0].partitions[0]


def compressed(codec: int, *records: Record) -> bytes:
    plain = client_batch(records)
    header = parse_header(plain)
    return seal_batch(header._replace(attributes=codec), compress(codec, plain[HEADER_SIZE:]))


async def door_client(door: Door) -> Client:
    client = await door.connect()
    await create(client)
    return client


@trio_test
async def test_a_staged_batch_has_no_offset(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door_client(door)
        entry = await produce(client, client_batch([record("x", delay=60_000), record("y")]))
        assert (entry.error_code, entry.base_offset) == (0, -1)
        assert (await end_offset(client)).offset == 1


@pytest.mark.parametrize("name", ["librdkafka", "confluent-kafka-python", "kgo"])
@trio_test
async def test_clients_that_add_to_the_base_get_one_far_below_zero(tmp_path: Path, name: str) -> None:
    async with open_door(tmp_path) as door:
        client = await door_client(door)
        await client.ask(ApiVersionsRequest(client_software_name=name, client_software_version="1"), 3)
        entry = await produce(client, client_batch([record("x", delay=60_000)]))
        assert entry.base_offset == FAR_BELOW_ZERO


@pytest.mark.parametrize("acks", [1, -1])
@trio_test
async def test_a_plain_batch_behind_a_release_gets_its_own_offset(tmp_path: Path, acks: int) -> None:
    async with open_door(tmp_path) as door:
        client = await door_client(door)
        mixed = client_batch([record("now"), record("later", delay=60_000)])
        plain = client_batch([record("plain")])
        for batch in (mixed, plain):
            data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch)])]
            await client.send(ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=data), VERSION)
        offsets = [(await client.receive()).responses[0].partition_responses[0].base_offset for _ in range(2)]
        assert offsets == [-1, 1]


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
@trio_test
async def test_compressed_batches_are_opened(tmp_path: Path, codec: int) -> None:
    async with open_door(tmp_path) as door:
        client = await door_client(door)
        assert (await produce(client, compressed(codec, record("x", delay=60_000)))).base_offset == -1
        assert (await produce(client, compressed(codec, record("x")))).base_offset == 0


@pytest.mark.parametrize("bit", [PLAIN_FLAG, DELETE_HORIZON_FLAG])
@trio_test
async def test_no_bit_of_a_clients_gets_a_record_past_its_delay(tmp_path: Path, bit: int) -> None:
    async with open_door(tmp_path) as door:
        client = await door_client(door)
        batch = client_batch([record("x", delay=60_000), record("y", delay=60_000)])
        marked = seal_batch(parse_header(batch)._replace(attributes=bit), batch[HEADER_SIZE:])
        entry = await produce(client, marked)
        assert (entry.error_code, entry.base_offset) == (INVALID_RECORD, -1)
        assert f"{bit:#06x}" in entry.error_message
        assert (await end_offset(client)).offset == 0


@trio_test
async def test_a_large_compressed_batch_is_opened_too(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door_client(door)
        chance = random.Random(1)
        noise = [Record(chance.randbytes(2_000)) for _ in range(100)]
        batch = compressed(ZSTD, *noise, record("x", delay=60_000))
        assert len(batch) > 64 * 1024
        assert (await produce(client, batch)).base_offset == -1


@trio_test
async def test_what_decompresses_beyond_the_bound_is_refused(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create(client, extensions_max_decompressed_bytes=str(1 << 20))
        entry = await produce(client, compressed(ZSTD, *[record("0" * 100_000)] * 20))
        assert entry.error_code != 0
        assert (await end_offset(client)).offset == 0


@trio_test
async def test_a_bad_value_names_the_record_and_nothing_is_stored(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door_client(door)
        entry = await produce(client, client_batch([record("fine", delay=1), record("x", delay="soon")]))
        assert entry.error_code == INVALID_RECORD
        assert [error.batch_index for error in entry.record_errors] == [1]
        assert "soon" in entry.record_errors[0].batch_index_error_message
        assert (await end_offset(client)).offset == 0


@trio_test
async def test_without_extensions_the_headers_are_plain_data(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create(client, extensions_enable="false")
        assert (await produce(client, client_batch([record("x", delay="soon")]))).base_offset == 0


@trio_test
async def test_a_time_to_live_alone_needs_no_stage(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door_client(door)
        assert (await produce(client, client_batch([record("x", ttl=1_000)]))).base_offset == 0


@trio_test
async def test_a_reader_of_a_prioritised_topic_is_given_the_order(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create(client, priority_enable="true")
        await produce(client, client_batch([record(f"n{number}") for number in range(10)]))
        await produce(client, client_batch([record("critical", priority="critical")]))
        end = await end_offset(client)
        assert (end.offset, end.leader_epoch) == (11, -1)
        data = await fetch(client, 0)
        assert data.high_watermark == 11
        assert b"critical" in bytes(data.records)[:200]
        assert (await end_offset(client)).leader_epoch == 0


@trio_test
async def test_a_waiting_reader_is_woken_by_what_becomes_ready(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, other = await door.connect(), await door.connect()
        await create(client, priority_enable="true")
        await produce(client, client_batch([record("first")]))
        await fetch(client, 0)
        request = FetchRequest(
            max_wait_ms=8_000, min_bytes=1, max_bytes=1 << 20, session_epoch=-1,
            topics=[FetchTopic(topic="t", partitions=[FetchPartition(
                partition=0, fetch_offset=1, partition_max_bytes=1 << 20, current_leader_epoch=-1, log_start_offset=-1
            )])],
        )  # fmt: skip
        await client.send(request, FETCH_VERSION)
        await produce(other, client_batch([record("second", delay=50)]))
        answer = await client.receive()
        assert b"second" in bytes(answer.responses[0].partitions[0].records)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
@trio_test
async def test_compressed_records_are_released_in_their_codec(tmp_path: Path, codec: int) -> None:
    async with open_door(tmp_path) as door:
        client = await door_client(door)
        await produce(client, compressed(codec, *[record("x" * 30_000, delay=1)] * 3))
        data = await fetch(client, 0, wait_ms=9_000)
        assert parse_header(bytes(data.records)).codec == codec


@define
class Strict:
    """Lets one client write, which pauses a millisecond for each byte."""

    allowed: str

    def check_write(self, publisher: Publisher, topic: Topic) -> None:
        if publisher.client_id != self.allowed:
            raise PolicyViolation(f"{publisher.client_id} may not write to {topic.name}")

    def throttle_ms(self, publisher: Publisher, size_bytes: int) -> int:
        return size_bytes if publisher.client_id == self.allowed else 0


@trio_test
async def test_who_may_write_and_how_fast_is_asked_in_one_place(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door_client(door)
        strict = door.broker.node.services[Publishing].admission = Strict("till")
        batch = client_batch([record("x")])
        entry = await produce(client, batch)
        assert (entry.error_code, entry.base_offset) == (POLICY_VIOLATION, -1)
        strict.allowed = "test"
        data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch)])]
        answer = await client.ask(ProduceRequest(acks=1, timeout_ms=5_000, topic_data=data), VERSION)
        assert answer.responses[0].partition_responses[0].base_offset == 0
        assert answer.throttle_time_ms == len(batch)


@trio_test
async def test_what_the_broker_writes_is_admitted_and_neither_traced_nor_counted(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        await door_client(door)
        node = door.broker.node
        publishing, topic = node.services[Publishing], node.topics.by_name["t"]
        publishing.admission = Strict("till")
        partition = publishing.destination(NOBODY, topic, 0, durable=True)
        letter = whole(client_batch([record("x", delay=60_000)], producer_id=7), Origin.LETTER)
        deadline = node.clock.monotonic() + 5
        receipt = await publishing.deliver(Publication(topic, partition, letter), durable=True, deadline=deadline)
        assert (receipt.base_offset, receipt.is_staged) == (0, False), "its headers are plain data"
        assert partition.traffic.received_records == 0
        assert len(node.tracing.store) == 0
        node.partitions.refusal = StorageError("the disk is full")
        with pytest.raises(StorageError):
            publishing.destination(NOBODY, topic, 0, durable=False)


@trio_test
async def test_a_delivery_that_is_refused_raises_why(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        await door_client(door)
        node = door.broker.node
        publishing, topic = node.services[Publishing], node.topics.by_name["t"]
        partition = publishing.destination(NOBODY, topic, 0, durable=True)
        damaged = bytearray(client_batch([record("x")]))
        damaged[-1] ^= 1
        with pytest.raises(CorruptMessage):
            await publishing.deliver(Publication(topic, partition, whole(damaged)), durable=True, deadline=0)
        assert partition.log.end_offset == 0
