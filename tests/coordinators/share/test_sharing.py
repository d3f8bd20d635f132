"""Sharing, as a door asks for it: what it forgets when nobody uses it, what others may release, and what it counts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from trio.testing import trio_test

from coordinators.share.acks import AckBatch
from coordinators.share.ports import SharePlace, ShareStates
from coordinators.share.sharing import ShareAnswer, ShareAsked, ShareBudget, ShareClient, SharedPart, Sharing
from coordinators.waiting import result_of
from engine.deferred import Deferred
from engine.errors import InvalidRequest
from tests.wire.kafka.apis.test_share_fetch import shared_topic
from tests.wire.kafka.door import Client, Door
from tests.wire.kafka.requests import batch, produced

ACCEPT, RELEASE = 1, 2
ONE, OTHER = ShareClient("g", "m1", object()), ShareClient("g", "m2", object())


@asynccontextmanager
async def sharing_of(data_dir: Path, **keys: object) -> AsyncIterator[tuple[Door, Client, Sharing, bytes]]:
    async with shared_topic(data_dir, **keys) as (door, client, member):
        yield door, client, door.broker.node.services[Sharing], member.topic_id


async def told(answer: ShareAnswer | Deferred[ShareAnswer]) -> list[tuple[int, int, int]]:
    if isinstance(answer, Deferred):
        answer = await result_of(answer)
    return [tuple(each) for portion in answer.portions for each in portion.acquired]  # type: ignore[misc]


async def loaded(sharing: Sharing, keys: list[tuple[bytes, int]]) -> None:
    """What is not loaded yet is given by a later fetch."""
    for topic_id, index in keys:
        await result_of(sharing.share_partition("g", topic_id, index).loaded)


def asked(epoch: int, topic_id: bytes, **budget: object) -> ShareAsked:
    return ShareAsked(epoch, [(topic_id, 0)], budget=evolve(ShareBudget(), **budget))


@trio_test
async def test_offsets_of_an_empty_group_that_are_altered_count_at_the_next_fetch(tmp_path: Path) -> None:
    async with sharing_of(tmp_path) as (door, client, sharing, topic_id):
        await produced(client, "t", batch(9))
        assert await told(sharing.fetch(ONE, asked(0, topic_id))) == [(0, 8, 1)]
        await told(sharing.fetch(ONE, ShareAsked(-1)))
        assert sharing.find("g") == [] or not sharing.find("g")[0].in_flight()
        states = door.broker.node.services[ShareStates]  # type: ignore[type-abstract]
        while sharing.find("g"):
            await result_of(states.summary(SharePlace("g", topic_id, 0)))
        await result_of(states.initialize(SharePlace("g", topic_id, 0), 50, 4))
        assert await told(sharing.fetch(ONE, asked(0, topic_id))) == [(4, 8, 1)]


@trio_test
async def test_what_a_member_holds_can_be_released_by_others(tmp_path: Path) -> None:
    async with sharing_of(tmp_path) as (_, client, sharing, topic_id):
        await produced(client, "t", batch(9))
        await told(sharing.fetch(ONE, asked(0, topic_id, max_records=3, is_strict=True)))
        await told(sharing.fetch(OTHER, asked(0, topic_id, max_records=3, is_strict=True)))
        (share,) = sharing.find("g")
        assert [(run.first, run.last, run.owner) for run in share.in_flight()] == [(0, 2, "m1"), (3, 5, "m2")]
        assert sharing.release("g", "m1") == 3
        assert sharing.release("g") == 3
        assert sharing.release("g") == 0
        assert share.in_flight() == []


@trio_test
async def test_some_of_it_can_be_released_after_a_while(tmp_path: Path) -> None:
    async with sharing_of(tmp_path, share_release_backoff_max_ms=60_000) as (_, client, sharing, topic_id):
        await produced(client, "t", batch(9))
        await told(sharing.fetch(ONE, asked(0, topic_id)))
        (share,) = sharing.find("g")
        for held in (SharedPart("other"), SharedPart("t", 1), SharedPart("t", 0, (9, 12))):
            assert sharing.release("g", None, 0, held) == 0
        assert sharing.release("g", "m2", 0, SharedPart("t", 0, (2, 4))) == 0
        assert sharing.release("g", "m1", 10**9, SharedPart("t", 0, (2, 4))) == 3
        assert [(run.first, run.last) for run in share.in_flight()] == [(0, 1), (5, 8)]
        assert share.window is not None
        waits_ms = share.window.runs.at(3).not_before_ms - sharing.reading.clock.now_ms()
        assert 50_000 < waits_ms <= 60_000, "no longer than the group allows"
        assert share.statistics()["backed_off"] == 3


@pytest.mark.parametrize("given", [(None, 0, None, None), ("t", None, 3, None), ("t", 0, None, 3), ("t", 0, 3, 2)])
def test_what_is_to_be_released_must_be_clear(given: tuple[Any, Any, Any, Any]) -> None:
    with pytest.raises(InvalidRequest):
        SharedPart.of(*given)


def test_what_is_to_be_released_is_named_by_parts() -> None:
    assert SharedPart.of(None, None, None, None) is None
    assert SharedPart.of("t", None, None, None) == SharedPart("t")
    assert SharedPart.of("t", 1, None, None) == SharedPart("t", 1)
    assert (SharedPart.of("t", 1, 5, None), SharedPart.of("t", 1, 5, 8)) == (
        SharedPart("t", 1, (5, 5)),
        SharedPart("t", 1, (5, 8)),
    )


@trio_test
async def test_everything_is_counted(tmp_path: Path) -> None:
    async with sharing_of(tmp_path) as (_, client, sharing, topic_id):
        await produced(client, "t", batch(9))
        await told(sharing.fetch(ONE, asked(0, topic_id)))
        acks = {(topic_id, 0): [AckBatch(0, 4, [ACCEPT]), AckBatch(5, 6, [RELEASE])]}
        await told(sharing.acknowledge(ONE, 1, acks))
        await told(sharing.fetch(ONE, asked(2, topic_id)))
        counted = sharing.statistics()
        assert {name: counted[name] for name in ("acks_accept", "acks_release", "deliveries_1", "deliveries_2")} == {
            "acks_accept": 5,
            "acks_release": 2,
            "deliveries_1": 9,
            "deliveries_2": 2,
        }
        assert (counted["sessions"], counted["share_partitions"], counted["acquired"]) == (1, 1, 4)


@trio_test
async def test_a_member_holds_only_so_many_over_all_partitions(tmp_path: Path) -> None:
    async with sharing_of(tmp_path, partitions=2, share_consumer_max_in_flight=10) as (_, client, sharing, topic_id):
        for index in range(2):
            await produced(client, "t", batch(9), partition=index)
        both = [(topic_id, 0), (topic_id, 1)]
        await loaded(sharing, both)
        taken = await told(sharing.fetch(ONE, ShareAsked(0, both)))
        assert sum(last - first + 1 for first, last, _ in taken) == 10


@trio_test
async def test_a_deleted_topic_takes_its_share_partitions_along(tmp_path: Path) -> None:
    async with sharing_of(tmp_path) as (door, client, sharing, topic_id):
        await produced(client, "t", batch(9))
        await told(sharing.fetch(ONE, asked(0, topic_id)))
        waiting = sharing.fetch(OTHER, asked(0, topic_id, max_wait_ms=60_000))
        assert isinstance(waiting, Deferred)
        await door.broker.node.controller.delete_topics(["t"])
        answer = await result_of(waiting)
        assert [type(portion.error).__name__ for portion in answer.portions] == ["UnknownTopicId"]
        assert sharing.find("g") == []
