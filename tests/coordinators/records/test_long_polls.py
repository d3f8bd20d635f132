"""Fetches that wait are bounded in number: who has waited longest is answered first. They keep no files meanwhile."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.records.long_polls import LongPolls
from coordinators.records.reading import Read
from tests.wire.kafka.door import open_door, until
from tests.wire.kafka.requests import BY_NAME, batch, create_topic, fetch, produced


def test_the_one_that_has_waited_longest_gives_way() -> None:
    polls, ended = LongPolls(2), list[str]()
    for name in ("first", "second"):
        polls.begin(name, lambda name=name: ended.append(name))
    polls.end("second")
    polls.begin("third", lambda: ended.append("third"))
    assert ended == []
    polls.begin("fourth", lambda: ended.append("fourth"))
    assert ended == ["first"]
    assert polls.statistics() == {"waiting": 2, "cut_short": 1}


def test_one_that_does_not_wait_any_more_is_forgotten() -> None:
    polls = LongPolls(1)
    polls.begin("a", lambda: None)
    polls.end("a")
    polls.end("a")
    assert polls.statistics() == {"waiting": 0, "cut_short": 0}


@trio_test
async def test_a_fetch_too_many_has_the_oldest_answered_with_nothing(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"fetch.max.waiting.requests": 2}) as door:
        clients = [await door.connect() for _ in range(3)]
        await create_topic(clients[0], "t")
        polls = door.broker.node.services[LongPolls]
        for number, client in enumerate(clients):
            await client.send(fetch("t", max_wait_ms=60_000), BY_NAME)
            await until(lambda number=number: polls.statistics()["waiting"] == min(number + 1, 2))
        answer = await clients[0].receive()
        assert answer.responses[0].partitions[0].error_code == 0
        assert not answer.responses[0].partitions[0].records
        await produced(await door.connect(), "t", batch())
        for client in clients[1:]:
            assert (await client.receive()).responses[0].partitions[0].records
        assert polls.statistics() == {"waiting": 0, "cut_short": 1}


@trio_test
async def test_a_client_that_goes_away_waits_no_longer(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await client.send(fetch("t", max_wait_ms=60_000), BY_NAME)
        polls = door.broker.node.services[LongPolls]
        await until(lambda: polls.statistics()["waiting"] == 1)
        await client.stream.aclose()
        await until(lambda: polls.statistics()["waiting"] == 0)


@trio_test
async def test_a_fetch_that_waits_for_more_keeps_no_file_open(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await produced(client, "t", batch())
        await client.send(fetch("t", max_wait_ms=60_000, min_bytes=10_000), BY_NAME)
        polls = door.broker.node.services[LongPolls]
        await until(lambda: polls.statistics()["waiting"] == 1)
        (waiting,) = polls._ends
        assert isinstance(waiting, Read)
        assert waiting.portions == []
        await produced(await door.connect(), "t", batch([bytes(10_000)]))
        assert len((await client.receive()).responses[0].partitions[0].records) > 10_000
