"""What the coordinators of all nodes know of producers' transactions."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from trio.testing import trio_test

from engine.errors import CoordinatorLoadInProgress
from tests.wire.kafka.nodes.pair import CLIENT, SERVER, Pair, pair
from wire.kafka.nodes.coordinators import ClusterCoordinators

Rows = list[tuple[int, int]]


class OwnPart:
    """What the asking node coordinates itself."""

    def __init__(self) -> None:
        self.runtime = self
        self.is_loading = False

    def machine(self, _index: int) -> None:
        if self.is_loading:
            raise CoordinatorLoadInProgress("not yet")

    def list(self, *_: object) -> list[object]:
        return []


def asking(made: Pair, rows: Rows, own: OwnPart | None = None) -> tuple[ClusterCoordinators, Any]:
    partitions = [SimpleNamespace(leader=leader, leader_epoch=epoch) for leader, epoch in rows]
    topics: Any = SimpleNamespace(
        node_id=CLIENT, by_name={"__transaction_state": SimpleNamespace(partitions=partitions)}
    )
    transactions: Any = own or OwnPart()
    directory: Any = SimpleNamespace(topics=topics)
    return ClusterCoordinators(transactions, directory, made.shared), partitions


@trio_test
async def test_another_nodes_coordinator_tells_what_it_will_end(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        producer = await made.producer()
        coordinators, _ = asking(made, [(SERVER, 0), (CLIENT, 0)])
        assert await coordinators.known({producer.producer_id, 4711}) == {}
        await producer.add({"t": [0, 1]})
        expected = {producer.producer_id: frozenset({("t", 0), ("t", 1)})}
        assert await coordinators.known({producer.producer_id, 4711}) == expected
        assert await coordinators.known({4711}) == {}
        await producer.end()
        assert await coordinators.known({producer.producer_id}) == {}


@pytest.mark.parametrize("why", ["no leader", "gone", "loading", "moved"])
@trio_test
async def test_nothing_is_known_unless_all_of_them_were_asked(tmp_path: Path, why: str) -> None:
    async with pair(tmp_path) as made:
        await made.producer()
        own = OwnPart()
        rows = {"no leader": [(SERVER, 0), (-1, 3)], "gone": [(SERVER, 0), (3, 0)]}.get(why, [(SERVER, 0), (CLIENT, 0)])
        coordinators, partitions = asking(made, rows, own)
        own.is_loading = why == "loading"
        if why == "moved":
            ask = made.shared.ask

            async def ask_and_move(*arguments: Any) -> Any:
                answer = await ask(*arguments)
                partitions[0].leader_epoch += 1
                return answer

            coordinators.links = SimpleNamespace(ask=ask_and_move)  # type: ignore[assignment]
        assert await coordinators.known({1}) is None


@trio_test
async def test_where_nothing_was_ever_coordinated_nothing_is_known(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        coordinators, _ = asking(made, [])
        assert await coordinators.known({1}) == {}
        assert made.dialled == 0
