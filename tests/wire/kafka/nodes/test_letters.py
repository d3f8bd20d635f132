"""Dead letters between nodes: written once, whatever is sent again, and taken for what they are."""

from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

from engine.errors import BrokerError, DuplicateSequence, OutOfOrderSequence, RequestTimedOut, UnknownTopicOrPartition
from engine.records.layout import pack_batch, pack_record
from tests.wire.kafka.nodes.pair import SERVER, Pair, pair
from tests.wire.kafka.requests import create_topic, fetched
from wire.kafka.nodes.letters import LetterLinks
from wire.kafka.nodes.links import SharedLinks

PRODUCER = 4000
DELAYED = [(b"tide-delay", b"3600000"), (b"tide-nonsense", b"?")]


def letter(sequence: int) -> bytes:
    record = pack_record(0, 0, b"k", b"v%d" % sequence, DELAYED)
    return pack_batch([record], (1, 1), producer_id=PRODUCER, producer_epoch=0, base_sequence=sequence)


async def topic_of(made: Pair) -> Any:
    await create_topic(await made.door.connect(), "t.dlq", 2)
    return made.door.broker.node.topics.by_name["t.dlq"]


async def carry(made: Pair, topic: Any, *sequences: int, index: int = 1) -> list[BrokerError | None]:
    return await LetterLinks(made.shared).carry(SERVER, topic, index, [letter(each) for each in sequences])


@trio_test
async def test_letters_arrive_and_their_headers_are_plain_data(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        topic = await topic_of(made)
        assert await carry(made, topic, 0, 1, 2) == [None, None, None]
        entry = await fetched(await made.door.connect(), "t.dlq", partition=1)
        assert entry.high_watermark == 3, "durable, and none of them is delayed or refused"
        assert b"tide-delay" in bytes(entry.records)


@trio_test
async def test_letters_that_are_sent_again_are_not_written_twice(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        topic = await topic_of(made)
        await carry(made, topic, *range(10))
        answers = await carry(made, topic, *range(12))
        assert {type(each) for each in answers[:10]} <= {type(None), DuplicateSequence}
        assert isinstance(answers[0], DuplicateSequence)
        assert answers[10:] == [None, None]
        assert (await fetched(await made.door.connect(), "t.dlq", partition=1)).high_watermark == 12


@trio_test
async def test_a_gap_is_told_apart_from_a_repetition(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        topic = await topic_of(made)
        await carry(made, topic, 0)
        answers = await carry(made, topic, 5, 6)
        assert [type(each) for each in answers] == [OutOfOrderSequence, OutOfOrderSequence]


@trio_test
async def test_what_keeps_them_from_arriving_is_told(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        topic = await topic_of(made)
        (nowhere,) = await carry(made, topic, 0, index=7)
        assert isinstance(nowhere, UnknownTopicOrPartition)
        made.refuses = True
        with pytest.raises(RequestTimedOut):
            await LetterLinks(SharedLinks(made.links, made.door.broker.clock)).carry(SERVER, topic, 1, [letter(0)])
