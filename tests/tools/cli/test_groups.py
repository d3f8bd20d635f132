"""Groups by Kafka's requests; test_group.py has them from the command line."""

import asyncio
from typing import Any

from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker
from tools.cli import groups
from tools.cli.kafka import Kafka, connected, run
from tools.cli.profiles import Profile
from wire.kafka.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, Topology


def test_offsets_are_set_and_read_and_lag_follows(tidegate: Tidegate, topic: str, broker: RunningBroker) -> None:
    tidegate("produce", topic, "a", "b", "c")

    async def work(kafka: Kafka) -> None:
        await groups.commit(kafka, "cli-direct", {(topic, 0): 1})
        assert await groups.committed(kafka, "cli-direct") == {(topic, 0): 1}
        (row,) = await groups.lag(kafka, "cli-direct")
        assert (row["end_offset"], row["lag"]) == (3, 2)
        assert "cli-direct" in [each.group_id for each in await groups.list_groups(kafka)]
        assert (await groups.describe(kafka, "cli-direct")).members == ()

    async def connect() -> None:
        async with connected(Profile(bootstrap=broker.bootstrap, timeout_s=30)) as kafka:
            await work(kafka)

    run(connect())


def test_an_application_is_described_with_what_its_tasks_read(topic: str, broker: RunningBroker) -> None:
    topology = Topology(0, [Subtopology("0", source_topics=[topic])])
    unsaid: dict[str, Any] = dict.fromkeys(("client_tags", "task_offsets", "task_end_offsets"))
    join = StreamsGroupHeartbeatRequest(
        "cli-app", "m", 0, rebalance_timeout_ms=9_000, topology=topology, process_id="p", **unsaid
    )

    async def connect() -> groups.Described:
        async with connected(Profile(bootstrap=broker.bootstrap, timeout_s=30)) as kafka:
            node = await kafka.coordinator("cli-app")
            for _ in range(300):
                # A new group waits for more members.
                if (await kafka.call(join, node=node)).active_tasks:
                    break
                await asyncio.sleep(0.1)
            return await groups.describe(kafka, "cli-app")

    found = run(connect())
    assert (found.kind, found.state, found.assignor) == ("streams", "Stable", "sticky")
    assert [each.places for each in found.members] == [((topic, 0),)]


def test_a_topic_that_is_gone_has_no_end(broker: RunningBroker) -> None:
    async def connect() -> dict[tuple[str, int], int | None]:
        async with connected(Profile(bootstrap=broker.bootstrap, timeout_s=30)) as kafka:
            return await groups.ends(kafka, [("cli-vanished", 0)])

    assert run(connect()) == {("cli-vanished", 0): None}


def test_an_assignment_of_another_kind_is_not_guessed() -> None:
    assert groups._places(b"") == ()
    assert groups._places(b"\x00\x00\x7f") is None
