"""Three nodes that keep the state of share partitions, while they crash and the network is cut: no write that was
answered is lost, whoever leads the shard then, and no leader that was replaced writes anything."""

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import trio
from attrs import define, field

from coordinators.share.ports import DeliveryState, ShareChange, SharePlace, ShareState, ShareStates, StateBatch
from coordinators.share.states import SHARE_STATE_TOPIC
from coordinators.topic_creation import TopicSpec
from coordinators.waiting import result_of
from engine.deferred import Deferred
from engine.errors import BrokerError, FencedLeaderEpoch
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.faults import Faults, crash, crash_several, cut_pair, restart
from tests.simulation.history import History
from tests.simulation.node import SimulatedNode
from tests.simulation.pausing import HOST
from tests.simulation.running import JumpingClock, collected_at_the_end, deterministic, sleep
from tidegate.node import Node

SEEDS = 8
SETTINGS = {
    # The log is cut off again and again while all this happens.
    "share.coordinator.snapshot.update.records.per.snapshot": 3,
    "share.coordinator.state.topic.prune.interval.ms": 200,
}
STATE_EPOCH = 1
PLACES = 4
BEHIND = 5
"""How far ahead of the start each write acknowledges a record."""
PATIENCE_S = 20.0
LONGEST_REST_S = 0.2
NEVER_WRITTEN = 1_000_000

Ask = Callable[[ShareStates], Deferred[Any]]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@define(eq=False)
class Written:
    """What is known of one share partition."""

    place: SharePlace
    leader_epoch: int = 0
    attempted: int = 0
    answered: set[int] = field(factory=set)

    def change(self) -> tuple[int, ShareChange]:
        """The next one."""
        self.attempted += 1
        return self.attempted, _change(self.attempted)

    def wrong(self, state: ShareState) -> str | None:
        """What a leader that begins may not find."""
        if not max(self.answered, default=0) <= state.start_offset <= self.attempted:
            return f"begins at {state.start_offset}, {max(self.answered, default=0)} was answered"
        found = {batch.first_offset: batch.delivery_count for batch in state.batches}
        for number in self.answered:
            offset = number + BEHIND
            if offset >= state.start_offset and found.get(offset) != _count(number):
                return f"of write {number} there is {found.get(offset)}"
        return None


def _change(number: int) -> ShareChange:
    done = StateBatch(number + BEHIND, number + BEHIND, DeliveryState.ACKNOWLEDGED, _count(number))
    return ShareChange(number, 1, (done,))


def _count(number: int) -> int:
    return 1 + number % 100


@define(eq=False)
class Leaders:
    """Leaders of share partitions, one after the other, each on some node."""

    cluster: SimulatedCluster
    history: History
    chance: random.Random
    places: list[Written] = field(factory=list)
    writes: int = 0
    fenced: int = 0
    furthest_cut: int = 0

    async def run(self) -> None:
        while not self.places:
            await sleep(0.1)
            self.places = await self._made()
        for written in self.places:
            while await self._ask(lambda states, at=written: states.initialize(at.place, STATE_EPOCH, 0)) is not None:
                await sleep(0.1)
        for _ in range(25):
            await sleep(self.chance.random() * LONGEST_REST_S)
            await self._lead(self.chance.choice(self.places))

    async def _made(self) -> list[Written]:
        """Share partitions of a topic, once there is one."""
        node = self._node()
        if not node.is_serving or node.runtime is None:
            return []
        inside = node.runtime.parts.node
        HOST.set(node.host)
        with trio.move_on_after(PATIENCE_S), suppress(BrokerError):
            await inside.controller.create_topics([TopicSpec("jobs", PLACES)])
        topic = inside.topics.by_name.get("jobs")
        if topic is None:
            return []
        return [Written(SharePlace("mail", topic.topic_id, index)) for index in range(PLACES)]

    async def judge(self) -> None:
        for written in self.places:
            while not isinstance(
                found := await self._ask(lambda states, at=written: states.read(at.place, -1)), ShareState
            ):
                await sleep(0.1)
            self._check(written, found)

    async def _lead(self, written: Written) -> None:
        node = self._node()
        written.leader_epoch += 1
        epoch = written.leader_epoch
        found = await self._ask(lambda states: states.read(written.place, epoch), node)
        if not isinstance(found, ShareState):
            return
        self._check(written, found)
        for _ in range(self.chance.randrange(1, 6)):
            number, change = written.change()
            answer = await self._ask(
                lambda states, at=change: states.write(written.place, STATE_EPOCH, epoch, at), node
            )
            if isinstance(answer, FencedLeaderEpoch):
                self.history.wrong("fenced", f"{written.place.key} in its latest epoch")
            if answer is not None:
                return
            self.writes += 1
            written.answered.add(number)
            self.history.note("answered", number)
        await self._write_as_one_that_was_replaced(written)

    async def _write_as_one_that_was_replaced(self, written: Written) -> None:
        epoch = written.leader_epoch - 1
        if epoch < 1:
            return
        change = _change(NEVER_WRITTEN)
        answer = await self._ask(lambda states: states.write(written.place, STATE_EPOCH, epoch, change))
        self.fenced += isinstance(answer, FencedLeaderEpoch)
        if answer is None:
            self.history.wrong("not fenced", written.place.key)

    def _check(self, written: Written, found: ShareState) -> None:
        problem = written.wrong(found)
        if problem is not None:
            self.history.wrong("lost", f"{written.place.key} {problem}")

    def _node(self) -> SimulatedNode:
        return self.chance.choice(self.cluster.nodes)

    def _look_at_logs(self, node: Node) -> None:
        topic = node.topics.by_name.get(SHARE_STATE_TOPIC)
        for partition in () if topic is None else node.partitions.of_topic(topic.topic_id):
            self.furthest_cut = max(self.furthest_cut, partition.log.start_offset)

    async def _ask(self, ask: Ask, node: SimulatedNode | None = None) -> Any:
        """The answer or the refusal; a word if the node is down, or says nothing."""
        node = node or self._node()
        if not node.is_serving or node.runtime is None:
            await sleep(0.05)
            return "down"
        HOST.set(node.host)
        inside = node.runtime.parts.node
        self._look_at_logs(inside)
        with trio.move_on_after(PATIENCE_S):
            try:
                return await result_of(ask(inside.services[ShareStates]))
            except BrokerError as refusal:
                return refusal
        return "silent"


def _simulate(seed: int) -> Leaders:
    chance = random.Random(seed)
    cluster = SimulatedCluster(random.Random(chance.random()), 3, SETTINGS)
    leaders = Leaders(cluster, History(), chance)

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cluster.live)
            async with trio.open_nursery() as meanwhile:
                kinds = (crash, crash, crash_several, cut_pair, restart)
                meanwhile.start_soon(Faults(cluster, random.Random(chance.random()), leaders.history, kinds).run)
                await leaders.run()
                meanwhile.cancel_scope.cancel()
            await leaders.judge()
            for failure in [failure for node in cluster.nodes for failure in node.failures]:
                leaders.history.wrong("node failed", failure)
            cluster.stop()

    with collected_at_the_end(), deterministic(chance.random()), cluster.pauses.in_force():
        trio.run(run, clock=JumpingClock().clock)
    return leaders


@pytest.mark.timeout(200)
def test_no_answered_write_is_lost_and_no_replaced_leader_writes() -> None:
    runs = [_simulate(seed) for seed in range(1, SEEDS + 1)]
    assert [str(anomaly) for run in runs for anomaly in run.history.anomalies] == []
    assert sum(run.writes for run in runs) > SEEDS * 10
    assert sum(run.fenced for run in runs) > SEEDS
    assert sum(run.furthest_cut > 10 for run in runs) > SEEDS // 2, "hardly any log was cut off"
    assert sum(run.cluster.lives for run in runs) > SEEDS * 4, "there were hardly any crashes"
