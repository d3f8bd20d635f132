"""A caller without a producer of its own is lent one, by which nothing that is sent again is written twice."""

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from coordinators.replication.ports import LinkBroken
from engine.errors import InvalidRecord, RequestTimedOut, StorageError
from tests.wire.inner.house import House, open_house
from tests.wire.kafka.requests import create_topic, fetched
from wire.inner.asking import InnerClient
from wire.inner.producers import MOST_PLACES, DoorProducer, LentProducers
from wire.inner.records import NewRecord, SentRecord
from wire.inner.sending import NONE, Outcome
from wire.kafka.messages.produce import ProduceRequest


async def sent(house: House, *values: bytes, **options: object) -> list[Outcome]:
    records = [NewRecord(value=value) for value in values]
    with house.guest() as guest:
        return await house.sending.send(guest, "t", records, **options)  # type: ignore[arg-type]


def offsets(outcomes: list[Outcome]) -> list[int]:
    assert all(isinstance(each, SentRecord) for each in outcomes), outcomes
    return [each.offset for each in outcomes if isinstance(each, SentRecord)]


@trio_test
async def test_what_was_written_and_not_answered_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_house(tmp_path) as house:
        await create_topic(await house.door.connect(), "t", 1, None)
        ask, lost = InnerClient.ask, []

        async def losing(self: InnerClient, guest: Any, message: Any, *arguments: Any, **named: Any) -> Any:
            answer = await ask(self, guest, message, *arguments, **named)
            if isinstance(message, ProduceRequest) and len(lost) < 2:
                lost.append(answer)
                raise LinkBroken("the other end is gone")
            return answer

        monkeypatch.setattr(InnerClient, "ask", losing)
        assert offsets(await sent(house, b"first")) == [0]
        assert len(lost) == 2
        assert offsets(await sent(house, b"second")) == [1]
        held = bytes((await fetched(await house.door.connect(), "t")).records)
        assert (held.count(b"first"), held.count(b"second")) == (1, 1)


@trio_test
async def test_calls_at_a_time_have_producers_of_their_own_and_the_next_ones_have_them_again(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await create_topic(await house.door.connect(), "t", 1, None)
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(sent, house, b"%d" % number)
        lent = house.sending.producers._free
        assert 1 <= len(lent) <= 20
        before = {each.producer_id for each in lent}
        for _ in range(5):
            offsets(await sent(house, b"again"))
        assert {each.producer_id for each in lent} == before


@trio_test
async def test_after_a_refusal_others_go_on(tmp_path: Path) -> None:
    """Its number would be missing in front of theirs."""
    async with open_house(tmp_path) as house:
        await create_topic(await house.door.connect(), "t", 1, None)
        offsets(await sent(house, b"good"))
        record = NewRecord(value=b"bad", headers=(("tide-delay", b"never"),))
        with house.guest() as guest:
            (refused,) = await house.sending.send(guest, "t", [record])
        assert isinstance(refused, InvalidRecord)
        assert offsets(await sent(house, b"good")) == [1]


@trio_test
async def test_whoever_waits_for_no_answer_needs_none(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await create_topic(await house.door.connect(), "t", 1, None)
        await sent(house, b"hasty", acks=NONE)
        assert house.sending.producers._free == []


@trio_test
async def test_without_an_identity_a_lost_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_house(tmp_path) as house:
        await create_topic(await house.door.connect(), "t", 1, None)

        async def none_now() -> int:
            raise StorageError("the catalogue does not answer")

        async def lost(*_: Any, **__: Any) -> Any:
            raise LinkBroken("the other end is gone")

        house.sending.producers.new_producer_id = none_now
        assert offsets(await sent(house, b"one")) == [0]
        monkeypatch.setattr(InnerClient, "ask", lost)
        (outcome,) = await sent(house, b"two")
        assert isinstance(outcome, RequestTimedOut)


def test_a_producer_of_very_many_partitions_is_given_up() -> None:
    async def never() -> int:
        raise AssertionError

    producers = LentProducers(never)
    much = DoorProducer(1, 0, next_sequence={("t", number): 1 for number in range(MOST_PLACES + 1)})
    producers.give_back(much)
    producers.give_back(DoorProducer(2, 0))
    assert [each.producer_id for each in producers._free] == [2]
