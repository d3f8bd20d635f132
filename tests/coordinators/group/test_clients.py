"""The clients of groups, by both protocols."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.group.clients import group_clients
from tests.wire.kafka.groups import group_door
from wire.kafka.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


@trio_test
async def test_members_of_both_protocols(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        machines = door.door.broker.node.groups.runtime.machines
        assert list(group_clients(machines())) == []
        await (await door.member()).settle()
        heartbeat = ConsumerGroupHeartbeatRequest(
            "new", member_id="m" * 22, rebalance_timeout_ms=1000, subscribed_topic_names=["t"], topic_partitions=[]
        )
        assert (await door.client.ask(heartbeat)).error_code == 0
        found = {group: (reads, clients) for group, reads, clients in group_clients(machines())}
        assert {group: clients for group, (_, clients) in found.items()} == {
            "g": [("test", "127.0.0.1")],
            "new": [("test", "127.0.0.1")],
        }
        for reads, _ in found.values():
            assert reads("t")
            assert not reads("elsewhere")
