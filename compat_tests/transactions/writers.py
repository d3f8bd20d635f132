"""What each client writes in transactions: a list of values each, committed or aborted."""

import asyncio
from collections.abc import Callable, Sequence

from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer

Transactions = Sequence[tuple[Sequence[str], bool]]
Writer = Callable[[str, str, str, Transactions], None]
PATIENCE_S = 20.0


def confluent_producer(bootstrap: str, transactional_id: str, timeout_ms: int = 60_000) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    producer.init_transactions(PATIENCE_S)
    return producer


def confluent(bootstrap: str, topic: str, transactional_id: str, transactions: Transactions) -> None:
    producer = confluent_producer(bootstrap, transactional_id)
    for values, commit in transactions:
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=0)
        # An abort would drop what was not sent yet.
        producer.flush(PATIENCE_S)
        if commit:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.abort_transaction(PATIENCE_S)


def aiokafka(bootstrap: str, topic: str, transactional_id: str, transactions: Transactions) -> None:
    async def write() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id)
        await producer.start()
        try:
            for values, commit in transactions:
                await producer.begin_transaction()
                for value in values:
                    await producer.send_and_wait(topic, value.encode(), partition=0)
                await (producer.commit_transaction() if commit else producer.abort_transaction())
        finally:
            await producer.stop()

    asyncio.run(write())


def kafka_python(bootstrap: str, topic: str, transactional_id: str, transactions: Transactions) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id)
    try:
        producer.init_transactions()
        for values, commit in transactions:
            producer.begin_transaction()
            for value in values:
                producer.send(topic, value.encode(), partition=0).get(PATIENCE_S)
            if commit:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    finally:
        producer.close()


WRITERS: dict[str, Writer] = {"confluent": confluent, "aiokafka": aiokafka, "kafka-python": kafka_python}
