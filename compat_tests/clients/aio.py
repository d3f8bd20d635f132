"""aiokafka."""

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from compat_tests.clients.base import Consumed, Record
from compat_tests.clients.in_python import as_sent, consumed

READ_SECONDS = 20.0


class AioKafka:
    """Can do everything that a scenario asks for."""

    name = "aio"

    def produce(self, bootstrap: str, topic: str, records: Sequence[Record], codec: str = "none") -> None:
        asyncio.run(self._produce(bootstrap, topic, records, codec))

    def consume(self, bootstrap: str, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Consumed]:
        return asyncio.run(self._consume(bootstrap, topic, count, partition, offset))

    async def _produce(self, bootstrap: str, topic: str, records: Sequence[Record], codec: str) -> None:
        compression = None if codec == "none" else codec
        options = {"acks": "all", "linger_ms": 20, "max_request_size": 4 << 20}
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, compression_type=compression, **options)
        async with producer:
            sent = [await producer.send(topic, **as_sent(record)) for record in records]
            await asyncio.gather(*sent)

    async def _consume(self, bootstrap: str, topic: str, count: int, partition: int, offset: int) -> list[Consumed]:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
        where = TopicPartition(topic, partition)
        consumer.assign([where])
        async with consumer:
            consumer.seek(where, offset)
            return await read(consumer, count)


async def read(consumer: AIOKafkaConsumer, count: int, seconds: float = READ_SECONDS) -> list[Consumed]:
    """Polls until `count` records came or the time is over."""
    found: list[Consumed] = []
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while len(found) < count and loop.time() < deadline:
        answer = await consumer.getmany(timeout_ms=500, max_records=count - len(found))
        for records in answer.values():
            found.extend(consumed(record) for record in records)
    return found
