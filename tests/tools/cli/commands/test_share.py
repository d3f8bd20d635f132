"""Share groups from the command line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from tests.tools.cli.conftest import Tidegate
from tests.wire.kafka.door import Client
from tests.wire.kafka.sharing import ACCEPT, ShareMember, configure_group
from tidegate.testing import RunningBroker
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest


@asynccontextmanager
async def worker(broker: RunningBroker, topic: str) -> AsyncIterator[ShareMember]:
    """The member `m` of the group `g-TOPIC`, which begins at the start of the topic."""
    name = f"g-{topic}"
    async with await trio.open_tcp_stream("127.0.0.1", broker.port) as stream:
        client = Client(stream)
        await configure_group(client, name, share_auto_offset_reset="earliest", share_retry_backoff_ms=0)
        await client.ask(FindCoordinatorRequest(key=name, coordinator_keys=[name]))
        beat = ShareGroupHeartbeatRequest(name, "m", 0, subscribed_topic_names=[topic])
        assert (await client.ask(beat)).error_code == 0
        found = await client.ask(MetadataRequest([MetadataRequestTopic(name=topic)]))
        member = ShareMember(client, found.topics[0].topic_id, "m", name)
        yield member
        await member.fetch(epoch=-1)
        await client.ask(ShareGroupHeartbeatRequest(name, "m", -1))


def test_a_group_is_seen_at_work_and_loses_what_it_has(tidegate: Tidegate, broker: RunningBroker, topic: str) -> None:
    tidegate("produce", topic, "a", "b", "c")
    group = f"g-{topic}"

    async def at_work() -> None:
        async with worker(broker, topic) as member:
            assert await member.take() == [(0, 2, 1)]
            await member.acknowledge([(0, 0, [ACCEPT])])
            await trio.to_thread.run_sync(look, member)
            assert await member.take() == [(1, 2, 2)]

    def look(member: ShareMember) -> None:
        assert {"group": group, "state": "Stable"} in tidegate("share", "list", "-o", "json").data
        found = tidegate("share", "describe", group, "-o", "json").data
        assert (found["state"], found["lag"]) == ("Stable", 2)
        assert found["offsets"] == [
            {
                "topic": topic, "partition": 0, "start_offset": 1, "lag": 2,
                "window": 2, "in_hand": 2, "in_hand_lanes": {"normal": 2}, "backed_off": 0,
            }
        ]  # fmt: skip
        (shown,) = tidegate("share", "members", group, "-o", "json").data
        assert (shown["member_id"], shown["partitions"]) == ("m", [f"{topic}-0"])
        (held,) = tidegate("share", "in-flight", group, "-o", "json").data
        assert (held["first_offset"], held["last_offset"], held["member_id"]) == (1, 2, "m")
        refused = tidegate("share", "reset", group, "--to", "latest", "--yes")
        assert (refused.code, "members" in refused.err) == (5, True)
        assert "2 records" in tidegate("share", "release", group, "--yes").out
        assert "nothing in hand" in tidegate("share", "in-flight", group).err
        assert "is a share group" in tidegate("group", "describe", group).err

    trio.run(at_work)


def test_a_group_without_members_begins_elsewhere(tidegate: Tidegate, broker: RunningBroker, topic: str) -> None:
    tidegate("produce", topic, "a", "b", "c")
    group = f"g-{topic}"

    async def take_all() -> list[tuple[int, int, int]]:
        async with worker(broker, topic) as member:
            found: list[tuple[int, int, int]] = await member.take()
            await member.acknowledge([(first, last, [ACCEPT]) for first, last, _ in found])
        return found

    assert trio.run(take_all) == [(0, 2, 1)]
    assert tidegate("share", "offsets", group, "-o", "json").data[0]["lag"] == 0
    plan = tidegate("share", "reset", group, "--to", "-2", "--dry-run", "-o", "json").data
    assert plan["moves"] == [{"topic": topic, "partition": 0, "start_offset": 3, "new_offset": 1}]
    assert tidegate("share", "offsets", group, "-o", "json").data[0]["start_offset"] == 3
    assert "begin elsewhere" in tidegate("share", "reset", group, "--to", "1", "--yes").out
    assert trio.run(take_all) == [(1, 2, 1)]
    assert tidegate("group", "delete", group, "--yes").code == 0
    assert tidegate("share", "describe", group).code == 4
    assert tidegate("share", "reset", group, "--to", "latest").code == 4
