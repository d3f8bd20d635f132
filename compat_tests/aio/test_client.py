"""What aiokafka's producer, consumer and admin client do beyond the scenarios that all clients share."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka import errors as aio_errors
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from compat_tests.clients import Record
from compat_tests.clients.aio import AioKafka, read
from compat_tests.waiting import eventually

BASE_MS = 1_700_000_000_000
MakeTopic = Callable[..., str]
T = TypeVar("T")


@pytest.fixture
def topic(bootstrap: str, make_topic: MakeTopic) -> str:
    """Ten records, a second apart."""
    name = make_topic()
    records = [Record(f"{number}".encode(), timestamp_ms=BASE_MS + 1000 * number) for number in range(10)]
    AioKafka().produce(bootstrap, name, records)
    return name


def with_consumer(
    bootstrap: str, topic: str, do: Callable[[AIOKafkaConsumer, TopicPartition], Awaitable[T]], policy: str = "none"
) -> T:
    async def run() -> T:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset=policy)
        where = TopicPartition(topic, 0)
        consumer.assign([where])
        async with consumer:
            return await do(consumer, where)

    return asyncio.run(run())


def with_admin(bootstrap: str, do: Callable[[AIOKafkaAdminClient], Awaitable[T]]) -> T:
    async def run() -> T:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        try:
            return await do(admin)
        finally:
            await admin.close()

    return asyncio.run(run())


def test_seek(bootstrap: str, topic: str) -> None:
    async def seek(consumer: AIOKafkaConsumer, where: TopicPartition) -> None:
        for offset in (7, 2, 9):
            consumer.seek(where, offset)
            assert [record.offset for record in await read(consumer, 10 - offset)] == list(range(offset, 10))
        assert await consumer.position(where) == 10

    with_consumer(bootstrap, topic, seek)


def test_ends_and_times(bootstrap: str, topic: str) -> None:
    async def look(consumer: AIOKafkaConsumer, where: TopicPartition) -> None:
        assert await consumer.beginning_offsets([where]) == {where: 0}
        assert await consumer.end_offsets([where]) == {where: 10}
        found = (await consumer.offsets_for_times({where: BASE_MS + 3500}))[where]
        assert (found.offset, found.timestamp) == (4, BASE_MS + 4000)
        assert await consumer.offsets_for_times({where: BASE_MS + 99_000}) == {where: None}

    with_consumer(bootstrap, topic, look)


@pytest.mark.parametrize(("policy", "first"), [("earliest", 4), ("latest", 10)])
def test_out_of_range(bootstrap: str, topic: str, policy: str, first: int) -> None:
    delete_records(bootstrap, topic, 4)

    async def look(consumer: AIOKafkaConsumer, where: TopicPartition) -> int:
        consumer.seek(where, 1)
        if policy == "latest":
            assert await read(consumer, 1, seconds=1.5) == []
            await asyncio.to_thread(AioKafka().produce, bootstrap, topic, [Record(b"new")])
        return (await read(consumer, 1))[0].offset

    assert with_consumer(bootstrap, topic, look, policy) == first


def test_out_of_range_without_a_policy(bootstrap: str, topic: str) -> None:
    async def look(consumer: AIOKafkaConsumer, where: TopicPartition) -> None:
        consumer.seek(where, 1000)
        with pytest.raises(aio_errors.OffsetOutOfRangeError):
            await read(consumer, 1)

    with_consumer(bootstrap, topic, look)


@pytest.mark.parametrize(
    ("configs", "record", "error"),
    [
        ({"max_message_bytes": 1000}, Record(b"x" * 1000), aio_errors.MessageSizeTooLargeError),
        # It has no name for INVALID_RECORD.
        ({"cleanup_policy": "compact"}, Record(b"x"), aio_errors.UnknownError),
        ({}, Record(b"x", timestamp_ms=32_503_680_000_000), aio_errors.InvalidTimestampError),
    ],
)
def test_records_refused(
    bootstrap: str, make_topic: MakeTopic, configs: dict[str, object], record: Record, error: type[Exception]
) -> None:
    with pytest.raises(error):
        AioKafka().produce(bootstrap, make_topic(**configs), [record])


def test_a_topic_is_made_by_producing(bootstrap: str, topic_name: str) -> None:
    AioKafka().produce(bootstrap, topic_name, [Record(b"x")])


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_acks(bootstrap: str, make_topic: MakeTopic, acks: int | str) -> None:
    topic = make_topic()

    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks=acks) as producer:
            sent = await producer.send_and_wait(topic, b"x", partition=0)
            assert acks == 0 or sent.offset == 0

    asyncio.run(send())
    assert [record.value for record in AioKafka().consume(bootstrap, topic, 1)] == [b"x"]


def delete_records(bootstrap: str, topic: str, offset: int) -> None:
    async def delete(admin: AIOKafkaAdminClient) -> None:
        await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=offset)})

    with_admin(bootstrap, delete)


def test_topics(bootstrap: str, topic_name: str) -> None:
    def names() -> list[str]:
        return with_admin(bootstrap, lambda admin: admin.list_topics())

    def partitions() -> int:
        (described,) = with_admin(bootstrap, lambda admin: admin.describe_topics([topic_name]))
        return len(described["partitions"])

    with_admin(bootstrap, lambda admin: admin.create_topics([NewTopic(topic_name, 3, 1)]))
    eventually(lambda: topic_name in names(), True)
    eventually(partitions, 3)
    with_admin(bootstrap, lambda admin: admin.create_partitions({topic_name: NewPartitions(5)}))
    eventually(partitions, 5)
    with_admin(bootstrap, lambda admin: admin.delete_topics([topic_name]))
    eventually(lambda: topic_name in names(), False)


def test_configs(bootstrap: str, topic: str) -> None:
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"segment.ms": "777000"})
    with_admin(bootstrap, lambda admin: admin.alter_configs([resource]))

    def look() -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        (answer,) = with_admin(bootstrap, lambda admin: admin.describe_configs([resource]))
        (found,) = answer.resources
        return {entry[0]: entry[1] for entry in found[4]}["segment.ms"]

    eventually(look, "777000")


def test_describe_cluster(bootstrap: str) -> None:
    cluster = with_admin(bootstrap, lambda admin: admin.describe_cluster())
    (broker,) = cluster["brokers"]
    assert f"{broker['host']}:{broker['port']}" == bootstrap
