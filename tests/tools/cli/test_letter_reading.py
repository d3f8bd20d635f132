"""Stretches of topics, ledgers, and what comes back."""

import asyncio

from confluent_kafka import Producer

from coordinators.letters.ledger import REDRIVEN
from coordinators.letters.letter import RUN
from tests.tools.cli.conftest import Tidegate
from tests.tools.cli.letters import write_letters
from tidegate.testing import RunningBroker
from tools.cli.letter_reading import Returns, existing, read_ledger, reading_letters
from tools.cli.profiles import Profile


def test_a_stretch_is_read_whole_and_no_further(tidegate: Tidegate, broker: RunningBroker, topic: str) -> None:
    write_letters(broker.bootstrap, topic, "orders", range(10))

    async def work() -> list[int]:
        async with reading_letters(Profile(bootstrap=broker.bootstrap)) as (_, reader):
            found = [each async for some in reader.between({(topic, 0): 2}, {(topic, 0): 7}) for each in some]
            again = [each async for some in reader.between({(topic, 0): 9}, {(topic, 0): 10}) for each in some]
            assert [each async for each in reader.between({(topic, 0): 5}, {(topic, 0): 5})] == []
        return [each.offset for each in found + again]

    assert asyncio.run(work()) == [2, 3, 4, 5, 6, 9]


def test_a_ledger_is_read_and_where_there_is_none_all_is_open(
    tidegate: Tidegate, broker: RunningBroker, topic: str
) -> None:
    write_letters(broker.bootstrap, topic, topic, range(3))

    async def state() -> str:
        async with reading_letters(Profile(bootstrap=broker.bootstrap)) as (kafka, reader):
            return (await read_ledger(kafka, reader, topic)).partitions[0].state(1)

    assert asyncio.run(state()) == "open"
    tidegate("topic", "create", f"{topic}-2")
    tidegate("dlq", "redrive", topic, "--key", "k1", "--to", f"{topic}-2")
    assert asyncio.run(state()) == REDRIVEN
    # Made again under the same name, a topic has other letters at the same offsets.
    tidegate("topic", "delete", topic, "--yes")
    tidegate("topic", "create", topic)
    assert asyncio.run(state()) == "open"


def test_what_this_run_sent_is_known_when_it_comes_back(tidegate: Tidegate, broker: RunningBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})

    def die(where: str, run: str) -> None:
        producer.produce(where, "v", headers=[(RUN, run)])
        producer.flush(30)

    async def work() -> list[int]:
        async with reading_letters(Profile(bootstrap=broker.bootstrap)) as (kafka, reader):
            assert await existing(kafka, [topic, f"{topic}.new"]) == {topic}
            returns = Returns(kafka, reader, "mine", {topic, f"{topic}.new"})
            await returns.begin()
            counts = [await returns.look()]
            die(topic, "others")
            counts.append(await returns.look_for(0))
            die(topic, "mine")
            counts.append(await returns.look_for(30))
            # A topic that was not there at the beginning is read from its own.
            die(f"{topic}.new", "mine")
            return [*counts, await returns.look()]

    die(topic, "mine")
    assert asyncio.run(work()) == [0, 0, 1, 2]
