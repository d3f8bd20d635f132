"""The nodes of a simulation: over one network, on one catalogue, each with a disk of its own."""

import random

import trio
from attrs import define, field

from engine.catalogue.memory import MemoryCatalogue
from tests.simulation.client import SimulatedClient
from tests.simulation.network import Network
from tests.simulation.node import SimulatedNode


@define(eq=False)
class SimulatedCluster:
    """One node, or several."""

    chance: random.Random
    node_count: int = 1
    network: Network = field(init=False)
    nodes: list[SimulatedNode] = field(init=False)

    def __attrs_post_init__(self) -> None:
        catalogue = MemoryCatalogue()
        self.network = Network(self._own_chance())
        self.nodes = [
            SimulatedNode(number, self.network, catalogue, self._own_chance())
            for number in range(1, self.node_count + 1)
        ]

    def _own_chance(self) -> random.Random:
        """What one of them draws changes nothing of what the others do."""
        return random.Random(self.chance.random())

    @property
    def lives(self) -> int:
        """Of all nodes together."""
        return sum(node.lives for node in self.nodes)

    async def live(self) -> None:
        """Until `stop`."""
        async with trio.open_nursery() as nursery:
            for node in self.nodes:
                nursery.start_soon(node.live)

    def stop(self) -> None:
        """Shut every node down in order."""
        for node in self.nodes:
            node.stop()

    def lose_power(self) -> SimulatedNode:
        """One of the nodes does."""
        node = self.chance.choice(self.nodes)
        node.lose_power()
        return node

    def lose_all_power(self) -> None:
        """All of them do."""
        for node in self.nodes:
            node.lose_power()

    def client(self, host: str | None = None, chance: random.Random | None = None) -> SimulatedClient:
        """Of the host that is named, or of the first node."""
        return SimulatedClient(self.network, host or self.nodes[0].host, chance or self._own_chance())
