"""A consume-transform-produce loop as a program of its own, so that it can be killed: reads `in`, writes `out`.

    python -m compat_tests.transactions.loop CLIENT BOOTSTRAP IN OUT GROUP TRANSACTIONAL_ID SEED

Each record of `in` appears once in `out`, with the offset committed in the same transaction; some are aborted.
"""

import asyncio
import random
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaException, Producer

BATCH = 20
ABORTED_SHARE = 0.2


def confluent_loop(bootstrap: str, source: str, target: str, group: str, name: str, chance: random.Random) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "log_level": 0})
    producer.init_transactions(30)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "session.timeout.ms": 6000,
            "log_level": 0,
        }
    )
    consumer.subscribe([source])
    while True:
        messages = [each for each in consumer.consume(BATCH, 0.2) if each.error() is None]
        if not messages:
            continue
        producer.begin_transaction()
        for message in messages:
            producer.produce(target, message.value(), partition=message.partition())
        aborted = chance.random() < ABORTED_SHARE
        try:
            if aborted:
                producer.flush(10)
                producer.abort_transaction(30)
            else:
                metadata = consumer.consumer_group_metadata()
                producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), metadata, 30)
                producer.commit_transaction(30)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            producer.abort_transaction(30)
            aborted = True
        if aborted:
            for place in consumer.committed(consumer.assignment(), 30):
                place.offset = max(place.offset, 0)
                consumer.seek(place)


async def aiokafka_loop(bootstrap: str, source: str, target: str, group: str, name: str, chance: random.Random) -> None:
    consumer = AIOKafkaConsumer(
        source,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
        session_timeout_ms=6000,
    )
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name)
    await producer.start()
    await consumer.start()
    while True:
        found = await consumer.getmany(timeout_ms=200, max_records=BATCH)
        if not found:
            continue
        aborted = chance.random() < ABORTED_SHARE
        await producer.begin_transaction()
        for place, messages in found.items():
            for message in messages:
                await producer.send(target, message.value, partition=place.partition)
        if aborted:
            await producer.abort_transaction()
            for place in found:
                consumer.seek(place, await consumer.committed(place) or 0)
        else:
            offsets = {place: messages[-1].offset + 1 for place, messages in found.items()}
            await producer.send_offsets_to_transaction(offsets, group)
            await producer.commit_transaction()


def main() -> None:
    client, bootstrap, source, target, group, name, seed = sys.argv[1:]
    chance = random.Random(int(seed))
    if client == "confluent":
        confluent_loop(bootstrap, source, target, group, name, chance)
    else:
        asyncio.run(aiokafka_loop(bootstrap, source, target, group, name, chance))


if __name__ == "__main__":
    main()
