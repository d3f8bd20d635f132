"""The nodes of a simulation: over one network, each with a disk of its own; several of them on a model of etcd."""

import itertools
import random
from collections.abc import Mapping

import trio
from attrs import define, field

from engine.catalogue.memory import MemoryCatalogue
from tests.simulation.client import SimulatedClient
from tests.simulation.etcd import SimulatedEtcd
from tests.simulation.network import Network
from tests.simulation.node import SimulatedNode
from tests.simulation.pausing import Pauses


@define(eq=False)
class SimulatedCluster:
    """One node, or several."""

    chance: random.Random
    node_count: int = 1
    settings: Mapping[str, object] = field(factory=dict)
    network: Network = field(init=False)
    etcd: SimulatedEtcd = field(init=False)
    pauses: Pauses = field(factory=Pauses, init=False)
    nodes: list[SimulatedNode] = field(init=False)
    _client_numbers: "itertools.count[int]" = field(factory=lambda: itertools.count(1), init=False)

    def __attrs_post_init__(self) -> None:
        self.network = Network(self._own_chance())
        self.etcd = SimulatedEtcd(self._own_chance())
        catalogue = MemoryCatalogue() if self.node_count == 1 else self.etcd
        self.nodes = [
            SimulatedNode(number, self.network, catalogue, self._own_chance(), self.settings)
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
        """Until `stop`. If it is cancelled, as when a client fails, all power is lost first: a node waits for its
        threads and for the network to the end of its life, and they must still be there."""
        async with trio.open_nursery() as cancelled:
            cancelled.start_soon(self._lose_power_when_cancelled)
            with trio.CancelScope(shield=True):
                await self._live()
            cancelled.cancel_scope.cancel()

    async def _lose_power_when_cancelled(self) -> None:
        try:
            await trio.sleep_forever()
        finally:
            self.stop()
            self.lose_all_power()

    async def _live(self) -> None:
        async with trio.open_nursery() as outside:
            outside.start_soon(self.network.live)
            if self.node_count > 1:
                outside.start_soon(self.etcd.live)
            async with trio.open_nursery() as nursery:
                for node in self.nodes:
                    nursery.start_soon(node.live)
            outside.cancel_scope.cancel()

    def stop(self) -> None:
        """Shut every node down in order."""
        for node in self.nodes:
            self.pauses.resume(node.host)
            node.stop()

    def lose_power(self, node: SimulatedNode | None = None, *, silently: bool = False) -> SimulatedNode:
        """That node does, or any of them."""
        node = node or self.chance.choice(self.nodes)
        self.pauses.resume(node.host)
        node.lose_power(silently=silently)
        return node

    def lose_all_power(self) -> None:
        """All of them do."""
        for node in self.nodes:
            self.lose_power(node)

    def client(self, host: str | None = None, chance: random.Random | None = None) -> SimulatedClient:
        """Of the host that is named, or of whichever leads."""
        hosts = [node.host for node in self.nodes] if host is None else [host]
        name = f"client-{next(self._client_numbers)}"
        return SimulatedClient(self.network, hosts[0], chance or self._own_chance(), hosts[1:], name)
