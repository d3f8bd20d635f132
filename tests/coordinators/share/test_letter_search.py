"""Dead letters that nobody sends, because nobody fetches."""

from pathlib import Path

from attrs import define, field
from trio.testing import trio_test

from coordinators.share.letter_search import CALLED_TOGETHER, LetterSearch
from coordinators.share.ports import REJECTED, DeliveryState, ShareChange, SharePlace, ShareStates, StateBatch
from coordinators.share.sharing import Sharing
from coordinators.waiting import result_of
from tests.wire.kafka.apis.test_share_fetch import shared_topic
from tests.wire.kafka.door import Door
from tests.wire.kafka.requests import batch, create_topic, fetched, produced

DEAD = ShareChange(batches=(StateBatch(0, 1, DeliveryState.ARCHIVING, 2, reason=REJECTED, member_id="m"),))


@define(eq=False)
class Calls:
    made: list[tuple[int, SharePlace]] = field(factory=list)

    def call(self, leader: int, place: SharePlace) -> None:
        self.made.append((leader, place))


async def left_behind(door: Door, place: SharePlace) -> None:
    """As after a crash: the state says that there are letters, and nobody has the share partition."""
    states = door.broker.node.services[ShareStates]  # type: ignore[type-abstract]
    await result_of(states.initialize(place, 1, 0))
    await result_of(states.write(place, 1, 0, DEAD))


@trio_test
async def test_letters_go_out_though_nobody_fetches(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, member):
        await produced(client, "t", batch(3))
        await create_topic(client, "t.dlq", 1)
        await left_behind(door, SharePlace("g", member.topic_id, 0))
        entry = await fetched(client, "t.dlq", min_bytes=1, max_wait_ms=30_000)
        assert entry.high_watermark == 2
        search = door.broker.node.services[LetterSearch]
        assert search.called == 1
        search.look()
        search.look()
        assert search.called == 1, "they have arrived"


@trio_test
async def test_what_has_letters_at_two_looks_is_called(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, member):
        await produced(client, "t", batch(3))
        services, calls = door.broker.node.services, Calls()
        running = services[LetterSearch]
        search = LetterSearch(running.states, services[Sharing], calls, running.clock, running.timers)
        await left_behind(door, SharePlace("g", member.topic_id, 0))
        search.look()
        assert search.called == 0, "whoever has it may be sending them"
        search.look()
        assert search.called == 1
        assert services[Sharing].is_known(SharePlace("g", member.topic_id, 0))
        assert not search.take_call(SharePlace("g", member.topic_id, 0)), "it is loaded"
        assert not search.take_call(SharePlace("g", b"?" * 16, 0)), "there is no such topic"
        assert calls.made == []


@trio_test
async def test_a_leader_elsewhere_is_told_and_many_take_turns(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, _, member):
        running, calls = door.broker.node.services[LetterSearch], Calls()
        search = LetterSearch(running.states, running.sharing, calls, running.clock, running.timers)
        places = [SharePlace(f"g{number:03}", member.topic_id, 0) for number in range(CALLED_TOGETHER + 5)]
        for place in places:
            await left_behind(door, place)
        topics = door.broker.node.topics
        real, topics.node_id = topics.node_id, 99
        try:
            search.look()
            search.look()
            assert calls.made == [(real, place) for place in places[:CALLED_TOGETHER]]
            search.look()
            assert calls.made[CALLED_TOGETHER:] == [(real, place) for place in places[CALLED_TOGETHER:]]
        finally:
            topics.node_id = real
