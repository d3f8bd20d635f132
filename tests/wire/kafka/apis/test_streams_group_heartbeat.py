"""StreamsGroupHeartbeat: threads of a Streams application, and the topics that are made for them."""

from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from tests.wire.kafka.groups import GroupDoor, group_door
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.streams_group_heartbeat import (
    CopartitionGroup,
    KeyValue,
    RequestEndpoint,
    RequestTaskIds,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskOffset,
    TopicInfo,
    Topology,
)

INVALID_REQUEST, FENCED_MEMBER_EPOCH, STREAMS_INVALID_TOPOLOGY = 42, 110, 130
MISSING_INTERNAL_TOPICS = 3
AT_ONCE: dict[str, object] = {
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.assignment.interval.ms": 0,
}
WORDS = Topology(
    0,
    [
        Subtopology("0", source_topics=["t"], repartition_sink_topics=["words"]),
        Subtopology(
            "1",
            repartition_source_topics=[TopicInfo("words", topic_configs=[KeyValue("retention.ms", "-1")])],
            state_changelog_topics=[TopicInfo("counts", topic_configs=[KeyValue("cleanup.policy", "compact")])],
            copartition_groups=[CopartitionGroup(repartition_source_topics=[0])],
        ),
    ],
)


def nothing(member_id: str, epoch: int, **changes: Any) -> StreamsGroupHeartbeatRequest:
    """A heartbeat that says nothing new, as clients send it."""
    unsaid: dict[str, Any] = dict.fromkeys(
        ("active_tasks", "standby_tasks", "warmup_tasks", "client_tags", "task_offsets", "task_end_offsets")
    )
    return StreamsGroupHeartbeatRequest("g", member_id, epoch, **{**unsaid, **changes})


def join_request(member_id: str = "a", **changes: Any) -> StreamsGroupHeartbeatRequest:
    fields: dict[str, Any] = {
        "rebalance_timeout_ms": 30_000,
        "topology": Topology(0, [Subtopology("0", source_topics=["t"])]),
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": "p",
        "client_tags": [],
    }
    return nothing(member_id, 0, **{**fields, **changes})


async def counting(door: GroupDoor, **changes: Any) -> Any:
    """A member of an application that counts; its first answer with tasks."""
    with trio.fail_after(10):
        answer = await door.client.ask(join_request(topology=WORDS, **changes), 0)
        while not answer.active_tasks:
            await trio.sleep(0.01)
            answer = await door.client.ask(nothing("a", answer.member_epoch), 0)
    return answer


@trio_test
async def test_a_member_joins_lives_and_leaves(tmp_path: Path) -> None:
    async with group_door(tmp_path, **AT_ONCE) as door:
        endpoint = RequestEndpoint("here", 80)
        answer = await door.client.ask(join_request(user_endpoint=endpoint, client_tags=[KeyValue("k", "v")]), 0)
        assert (answer.error_code, answer.member_id, answer.member_epoch, answer.status) == (0, "a", 2, [])
        assert answer.heartbeat_interval_ms > 0
        (given,) = answer.active_tasks
        assert (given.subtopology_id, given.partitions) == ("0", [0, 1])
        assert (answer.standby_tasks, answer.warmup_tasks) == ([], [])
        (place,) = answer.partitions_by_user_endpoint
        assert (place.user_endpoint.host, place.user_endpoint.port) == ("here", 80)
        assert [(each.topic, each.partitions) for each in place.active_partitions] == [("t", [0, 1])]
        owned = [RequestTaskIds("0", [0]), RequestTaskIds("0", [1])]
        answer = await door.client.ask(nothing("a", 2, active_tasks=owned, standby_tasks=[], warmup_tasks=[]), 0)
        assert (answer.error_code, answer.member_epoch, answer.active_tasks) == (0, 2, None)
        answer = await door.client.ask(nothing("a", -1), 0)
        assert (answer.error_code, answer.member_epoch) == (0, -1)


@trio_test
async def test_internal_topics_are_made_as_the_topology_asks(tmp_path: Path) -> None:
    async with group_door(tmp_path, **AT_ONCE) as door:
        first = await door.client.ask(join_request(topology=WORDS), 0)
        (status,) = first.status
        assert (status.status_code, "counts, words" in status.status_detail) == (MISSING_INTERNAL_TOPICS, True)
        answer = await counting(door)
        assert {each.subtopology_id: each.partitions for each in answer.active_tasks} == {"0": [0, 1], "1": [0, 1]}
        wanted = [MetadataRequestTopic(name=name) for name in ("words", "counts")]
        found = await door.client.ask(MetadataRequest(wanted, allow_auto_topic_creation=False), 9)
        assert [(topic.error_code, len(topic.partitions)) for topic in found.topics] == [(0, 2)] * 2


@trio_test
async def test_a_topic_that_cannot_be_made_is_told_with_the_reason(tmp_path: Path) -> None:
    async with group_door(tmp_path, **AT_ONCE) as door:
        wrong = [TopicInfo("counts", topic_configs=[KeyValue("cleanup.policy", "nonsense")])]
        topology = Topology(0, [Subtopology("0", source_topics=["t"], state_changelog_topics=wrong)])
        answer = await door.client.ask(join_request(topology=topology), 0)
        with trio.fail_after(10):
            while "Creation failed: counts (" not in answer.status[0].status_detail:
                await trio.sleep(0.01)
                answer = await door.client.ask(nothing("a", answer.member_epoch), 0)
        assert "cleanup.policy" in answer.status[0].status_detail


@trio_test
async def test_what_is_not_supported_is_refused_as_by_kafka(tmp_path: Path) -> None:
    async with group_door(tmp_path, **AT_ONCE) as door:
        cases: dict[str, dict[str, Any]] = {
            "Static membership is not yet supported.": {"instance_id": "i"},
            "TaskOffsets are not supported yet.": {"task_offsets": [TaskOffset("0", 0, 1)]},
            "TaskEndOffsets are not supported yet.": {"task_end_offsets": []},
            "WarmupTasks are not supported yet.": {"warmup_tasks": [RequestTaskIds("0", [0])]},
            "If one task-type is non-null, all must be non-null.": {"standby_tasks": None},
            "Topology must be non-null when (re-)joining.": {"topology": None},
        }
        for message, changes in cases.items():
            answer = await door.client.ask(join_request(**changes), 0)
            assert (answer.error_code, answer.error_message) == (INVALID_REQUEST, message)
        internal = Topology(0, [Subtopology("0", source_topics=["__consumer_offsets"])])
        answer = await door.client.ask(join_request(topology=internal), 0)
        assert answer.error_code == STREAMS_INVALID_TOPOLOGY
        await door.client.ask(join_request(), 0)
        assert (await door.client.ask(nothing("a", 9), 0)).error_code == FENCED_MEMBER_EPOCH
