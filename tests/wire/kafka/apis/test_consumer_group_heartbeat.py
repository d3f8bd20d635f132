"""ConsumerGroupHeartbeat: members of the new consumer protocol."""

from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

from tests.wire.kafka.groups import group_door
from wire.kafka.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, RequestTopicPartitions
from wire.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

INVALID_REQUEST, FENCED_MEMBER_EPOCH, STALE_MEMBER_EPOCH = 42, 110, 113


def join_request(member_id: str = "a", **changes: Any) -> ConsumerGroupHeartbeatRequest:
    fields = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
    return ConsumerGroupHeartbeatRequest("g", member_id, 0, **{**fields, **changes})


@trio_test
@pytest.mark.parametrize("version", [0, 1])
async def test_a_member_joins_lives_and_leaves(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        answer = await door.client.ask(join_request(), version)
        assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "a", 1)
        assert answer.heartbeat_interval_ms > 0
        (given,) = answer.assignment.topic_partitions
        assert (given.topic_id, given.partitions) == (door.topic_id, [0, 1])
        owned = [RequestTopicPartitions(door.topic_id, [0]), RequestTopicPartitions(door.topic_id, [1])]
        answer = await door.client.ask(ConsumerGroupHeartbeatRequest("g", "a", 1, topic_partitions=owned), version)
        assert (answer.error_code, answer.member_epoch, answer.assignment) == (0, 1, None)
        answer = await door.client.ask(ConsumerGroupHeartbeatRequest("g", "a", -1), version)
        assert (answer.error_code, answer.member_epoch) == (0, -1)


@trio_test
async def test_ids_are_made_by_the_broker_in_version_0_and_by_the_client_in_version_1(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        assert (await door.client.ask(join_request(""), 0)).member_id
        refused = await door.client.ask(join_request(""), 1)
        assert (refused.error_code, refused.error_message) == (INVALID_REQUEST, "MemberId can't be empty.")


@trio_test
async def test_a_refusal_says_why(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await door.client.ask(join_request(), 1)
        answer = await door.client.ask(ConsumerGroupHeartbeatRequest("g", "a", 9), 1)
        assert answer.error_code == FENCED_MEMBER_EPOCH
        assert "greater member epoch (9)" in answer.error_message


@trio_test
async def test_a_regular_expression_is_taken_in_version_1(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        request = join_request(subscribed_topic_names=None, subscribed_topic_regex="t|nothing")
        answer = await door.client.ask(request, 1)
        assert [each.topic_id for each in answer.assignment.topic_partitions] == [door.topic_id]


@trio_test
async def test_offsets_are_fetched_in_the_member_epoch(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await door.client.ask(join_request(), 1)
        for epoch, code in ((1, 0), (7, STALE_MEMBER_EPOCH)):
            wanted = OffsetFetchRequestGroup("g", member_id="a", member_epoch=epoch, topics=None)
            answer = await door.client.ask(OffsetFetchRequest(groups=[wanted]), 9)
            assert answer.groups[0].error_code == code
