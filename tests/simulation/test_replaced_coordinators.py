"""A coordinator that was replaced: it is cut off from etcd, and clients still reach it. What it knows is old, and it
must not tell it. Where all nodes are cut off nobody was replaced, and groups go on. Whoever asks for the coordinator
meanwhile is told of one: librdkafka, which has offsets of a transaction to send, asks three times within half a second,
and waits for ever if it is told each time that there is none."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import groupby

import pytest
import trio

from tests.simulation.client import GROUP, Coordinator, Disconnected, SimulatedClient
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.playing import Scene, cut_from_etcd, make_topic, play
from tests.simulation.running import sleep
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.list_groups import ListGroupsRequest
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, LIST_GROUPS = 8, 9, 10, 16
TOPIC, NAME = "read", "readers"
HERE = Coordinator(GROUP, NAME)
SEEDS = (1, 2, 3)
IN_SYNC_S = 5.0
"""Until all replicas of the group's partition are in sync."""
LONG_S = 30.0


async def _commit_once(client: SimulatedClient, offset: int) -> int:
    """The code of the answer."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
    request = OffsetCommitRequest(group_id=NAME, generation_id_or_member_epoch=-1, topics=topics)
    answer = await client.ask(OFFSET_COMMIT, 7, request, HERE)
    code: int = answer.topics[0].partitions[0].error_code
    return code


async def _commit(client: SimulatedClient, offset: int) -> None:
    """Until it is acknowledged."""
    while True:
        try:
            if await _commit_once(client, offset) == 0:
                return
        except Disconnected:
            continue
        await client.again(HERE)


async def _look(client: SimulatedClient) -> int | None:
    """The offset that is told; None if none is."""
    wanted = OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])
    request = OffsetFetchRequest(group_id=NAME, topics=[wanted])
    with trio.move_on_after(1):
        try:
            answer = await client.ask(OFFSET_FETCH, 6, request, HERE)
        except Disconnected:
            return None
        if answer.error_code == 0 and answer.topics[0].partitions[0].error_code == 0:
            offset: int = answer.topics[0].partitions[0].committed_offset
            return offset
    return None


async def _coordinator(client: SimulatedClient) -> str:
    """As that node knows it."""
    while True:
        answer = await client.ask(FIND_COORDINATOR, 2, FindCoordinatorRequest(key=NAME, key_type=GROUP))
        if answer.error_code == 0:
            host: str = answer.host
            return host
        await sleep(0.1)


async def _watch_coordinators(client: SimulatedClient, told: list[int]) -> None:
    """What that node answers to who asks for the coordinator, again and again."""
    request = FindCoordinatorRequest(key=NAME, key_type=GROUP)
    while True:
        with suppress(Disconnected):
            told.append((await client.ask(FIND_COORDINATOR, 2, request)).error_code)
        await sleep(0.1)


def _most_refused(told: Sequence[int]) -> int:
    """How often in a row somebody was told that there is none."""
    return max((len(list(run)) for code, run in groupby(told) if code), default=0)


async def _begin(cluster: SimulatedCluster) -> SimulatedClient:
    await make_topic(cluster.client(), TOPIC)
    await _commit(cluster.client(), 0)
    await sleep(IN_SYNC_S)
    client = cluster.client()
    await _commit(client, 1)
    return client


async def _replace(cluster: SimulatedCluster) -> None:
    client = await _begin(cluster)
    replaced = await _coordinator(client)
    (some, *_) = [node.host for node in cluster.nodes if node.host != replaced]
    ways = cut_from_etcd(cluster, [replaced])
    while await _coordinator(cluster.client(some)) == replaced:
        await sleep(0.1)
    await client.again(HERE)
    await _commit(client, 2)
    told = {await _look(cluster.client(replaced)) for _ in range(10)}
    assert told <= {None, 2}, "what was committed since is not known there"
    await sleep(LONG_S)
    assert await _coordinator(cluster.client(replaced)) == replaced, "it cannot know who coordinates"
    assert await _commit_once(cluster.client(replaced), 3) == ErrorCode.NOT_COORDINATOR
    cluster.network.heal(ways)
    while await _look(cluster.client()) != 2:
        await sleep(0.1)


async def _go_on_without_etcd(cluster: SimulatedCluster) -> None:
    client = await _begin(cluster)
    ways = cut_from_etcd(cluster, [node.host for node in cluster.nodes])
    await sleep(LONG_S)
    assert await _look(client) == 1
    await _commit(client, 2)
    assert await _look(client) == 2
    cluster.network.heal(ways)
    while await _look(cluster.client()) != 2:
        await sleep(0.1)
    # Sessions have ended: all nodes gave up what they led, and others lead some of it now.
    for node in cluster.nodes:
        answer = await cluster.client(node.host).ask(LIST_GROUPS, 4, ListGroupsRequest())
        assert answer.error_code == 0, "a shard that was given up is still there"


async def _ask_meanwhile(cluster: SimulatedCluster, harm: Callable[[str], Awaitable[None]]) -> None:
    client = await _begin(cluster)
    told: dict[str, list[int]] = {node.host: [] for node in cluster.nodes}
    async with trio.open_nursery() as nursery:
        for host, codes in told.items():
            nursery.start_soon(_watch_coordinators, cluster.client(host), codes)
        await harm(await _coordinator(client))
        await client.again(HERE)
        await _commit(client, 2)
        nursery.cancel_scope.cancel()
    assert all(len(codes) > 10 for codes in told.values())
    assert {host: _most_refused(codes) for host, codes in told.items() if _most_refused(codes) > 1} == {}


async def _kill(cluster: SimulatedCluster) -> None:
    async def harm(host: str) -> None:
        cluster.lose_power(next(node for node in cluster.nodes if node.host == host))
        await sleep(IN_SYNC_S)

    await _ask_meanwhile(cluster, harm)


async def _end_all_sessions(cluster: SimulatedCluster) -> None:
    async def harm(_host: str) -> None:
        ways = cut_from_etcd(cluster, [node.host for node in cluster.nodes])
        await sleep(LONG_S)
        cluster.network.heal(ways)
        await sleep(IN_SYNC_S)

    await _ask_meanwhile(cluster, harm)


@pytest.mark.parametrize("harm", [_kill, _end_all_sessions])
@pytest.mark.parametrize("seed", SEEDS)
def test_who_asks_for_a_coordinator_while_it_is_replaced_is_told_of_one(harm: Scene, seed: int) -> None:
    play(seed, harm)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_coordinator_that_was_replaced_tells_nothing_that_is_old(seed: int) -> None:
    play(seed, _replace)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_etcd_committed_offsets_are_told_and_taken(seed: int) -> None:
    play(seed, _go_on_without_etcd)
