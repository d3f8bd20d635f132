"""A consume-transform-produce loop as a program of its own, so that it can be killed: reads `in`, writes `out`.

    python -m compat_tests.transactions.loop CLIENT BOOTSTRAP IN OUT GROUP TRANSACTIONAL_ID SEED

Each record of `in` appears once in `out`, with the offset committed in the same transaction; some are aborted.
A line is said when a transaction begins, and each record tells in its headers what transaction it is of, of how many
records, and what is to become of it: so one that is torn, or aborted and yet there, is found out.
`ExactlyOnceLoop.java` is the same with Kafka's own client.
"""

import asyncio
import random
import sys
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaException, Producer

BATCH = 20
ABORTED_SHARE = 0.2
LONGEST_PAUSE_S = 0.05
"""In the middle of a transaction, so that kills meet it there."""


def transformed(value: bytes | None) -> bytes:
    return b"done " + (value or b"")


def headers(name: str, count: int, *, aborted: bool) -> list[tuple[str, bytes]]:
    fate = b"aborted" if aborted else b"committed"
    return [("transaction", name.encode()), ("records", b"%d" % count), ("fate", fate)]


def begin(chance: random.Random) -> tuple[str, bool]:
    """A name for the transaction, and whether it is to be aborted."""
    print("began", flush=True)
    return f"{chance.getrandbits(64):016x}", chance.random() < ABORTED_SHARE


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
            # A static member is let in again at once after a kill.
            "group.instance.id": name,
            "log_level": 0,
        }
    )
    consumer.subscribe([source])
    while True:
        messages = [each for each in consumer.consume(BATCH, 0.2) if each.error() is None]
        if not messages:
            continue
        producer.begin_transaction()
        transaction, aborted = begin(chance)
        labels = headers(transaction, len(messages), aborted=aborted)
        for message in messages:
            producer.produce(target, transformed(message.value()), partition=message.partition(), headers=labels)
        time.sleep(chance.uniform(0, LONGEST_PAUSE_S))
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
        group_instance_id=name,
    )
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name)
    await producer.start()
    await consumer.start()
    while True:
        found = await consumer.getmany(timeout_ms=200, max_records=BATCH)
        if not found:
            continue
        await producer.begin_transaction()
        transaction, aborted = begin(chance)
        labels = headers(transaction, sum(map(len, found.values())), aborted=aborted)
        for place, messages in found.items():
            for message in messages:
                await producer.send(target, transformed(message.value), partition=place.partition, headers=labels)
        await asyncio.sleep(chance.uniform(0, LONGEST_PAUSE_S))
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
