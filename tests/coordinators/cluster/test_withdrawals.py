"""A leader that has failed, or cannot begin to lead, gives way to others."""

from types import SimpleNamespace
from typing import Any

import trio
from trio.testing import MockClock, trio_test

from coordinators.cluster.withdrawals import PATIENCE_S, Withdrawals
from engine.catalogue.memory import MemoryCatalogue
from engine.errors import StorageError
from engine.partition.partition import Partition
from tests.coordinators.cluster.nodes import ClusterNode, place


@trio_test
async def test_who_was_elected_and_cannot_lead_withdraws_after_a_while(jumping: MockClock) -> None:
    catalogue = MemoryCatalogue()
    one, two = ClusterNode(1, catalogue), ClusterNode(2, catalogue)
    topic = await one.create("t")
    withdrawn: list[int] = []

    async def withdraw(_key: object, node: int, *, renews: bool) -> None:
        await trio.lowlevel.checkpoint()
        assert not renews
        withdrawn.append(node)
        place(catalogue, topic, 0, leader=1, isr=(1,))

    async def fail(_topic: object, _partition: Partition) -> None:
        raise StorageError("its stage is damaged")

    place(catalogue, topic, 0, replicas=(1, 2), isr=(1, 2))
    await two.replicas.catch_up()
    await two.background.run()
    two.replicas.before_leading.append(fail)
    place(catalogue, topic, 0, leader=2)
    await two.replicas.catch_up()
    elections: Any = SimpleNamespace(withdraw=withdraw)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Withdrawals(two.replicas, elections).run)
        await trio.sleep(PATIENCE_S - 0.1)
        assert withdrawn == []
        await trio.sleep(1)
        assert set(withdrawn) == {2}
        await two.replicas.catch_up()
        withdrawn.clear()
        await trio.sleep(5)
        assert withdrawn == []
        nursery.cancel_scope.cancel()
