"""A node in the world it is given: here one that was made up."""

import random
from collections.abc import Awaitable, Callable

import trio
import trio.testing

from engine.catalogue.memory import MemoryCatalogue
from tests.simulation.client import SimulatedClient
from tests.simulation.network import Network
from tests.simulation.node import SimulatedNode
from tests.simulation.world import EPOCH_MS
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest
from wire.kafka.messages.metadata import MetadataRequest

CREATE_TOPICS, METADATA = 19, 3


def _simulated(program: Callable[[SimulatedNode], Awaitable[None]]) -> SimulatedNode:
    node = SimulatedNode(1, Network(random.Random(2)), MemoryCatalogue(), random.Random(1))

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node.live)
            await program(node)
            node.stop()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return node


async def _create(node: SimulatedNode) -> None:
    client = SimulatedClient(node.network, node.host, random.Random(2))
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    await client.ask(CREATE_TOPICS, 5, CreateTopicsRequest(topics=[topic], timeout_ms=5000))
    await client.close()


def test_a_node_serves_in_a_world_that_was_made_up() -> None:
    async def program(node: SimulatedNode) -> None:
        await _create(node)
        client = SimulatedClient(node.network, node.host, random.Random(3))
        answer = await client.ask(METADATA, 1, MetadataRequest(topics=None))
        assert [topic.name for topic in answer.topics] == ["t"]
        assert node.runtime is not None
        assert EPOCH_MS <= node.runtime.parts.node.clock.now_ms() < EPOCH_MS + 60_000

    _simulated(program)


def test_a_node_that_stops_leaves_its_mark() -> None:
    assert _simulated(_create).directory.mark is not None


def test_a_node_that_is_abandoned_closes_nothing() -> None:
    async def program(node: SimulatedNode) -> None:
        await _create(node)
        node.lose_power()
        while node.lives == 1:
            assert node.directory.mark is None
            await trio.sleep(0.01)

    assert _simulated(program).lives == 2
