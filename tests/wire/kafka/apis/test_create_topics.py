"""CreateTopics: what is made, what is only checked, what is refused."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from tests.wire.kafka.requests import batch, client_of_topic, produced
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

INVALID_TOPIC, ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR = 17, 36, 37, 38
INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, INVALID_REQUEST = 39, 40, 42


@trio_test
async def test_a_topic_can_be_used_as_soon_as_it_is_answered(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        configs = [CreatableTopicConfig("retention.ms", "1234")]
        request = CreateTopicsRequest(topics=[CreatableTopic("new", 3, 1, configs=configs)])
        (made,) = (await client.ask(request)).topics
        assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 3, 1)
        assert made.topic_id != ZERO_UUID
        assert {config.name: config.value for config in made.configs}["retention.ms"] == "1234"
        assert (await produced(client, "new", batch(), partition=2)).error_code == 0


@trio_test
async def test_defaults_are_the_brokers(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"num.partitions": 5}) as door:
        client = await door.connect()
        (made,) = (await client.ask(CreateTopicsRequest(topics=[CreatableTopic("new", -1, -1)]))).topics
        assert (made.num_partitions, made.replication_factor) == (5, 1)


@trio_test
async def test_validate_only_makes_nothing(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        request = CreateTopicsRequest(topics=[CreatableTopic("new", 1, 1)], validate_only=True)
        for _ in range(2):
            (answer,) = (await client.ask(request)).topics
            assert (answer.error_code, answer.topic_id) == (0, ZERO_UUID)


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        pytest.param(CreatableTopic("t", 1, 1), ALREADY_EXISTS, id="exists"),
        pytest.param(CreatableTopic("a b", 1, 1), INVALID_TOPIC, id="name"),
        pytest.param(CreatableTopic("new", 0, 1), INVALID_PARTITIONS, id="no-partitions"),
        pytest.param(CreatableTopic("new", 1, 2), INVALID_REPLICATION_FACTOR, id="more-replicas-than-nodes"),
        pytest.param(
            CreatableTopic("new", -1, -1, [CreatableReplicaAssignment(0, [99])]),
            INVALID_REPLICA_ASSIGNMENT,
            id="unknown-node",
        ),
        pytest.param(
            CreatableTopic("new", 1, 1, configs=[CreatableTopicConfig("retention.ms", "soon")]),
            INVALID_CONFIG,
            id="config",
        ),
    ],
)
@trio_test
async def test_what_cannot_be_made_is_refused_and_the_rest_is_made(
    tmp_path: Path, topic: CreatableTopic, code: int
) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        request = CreateTopicsRequest(topics=[topic, CreatableTopic("fine", 1, 1)])
        refused, made = (await client.ask(request)).topics
        assert (refused.error_code, made.error_code) == (code, 0)
        assert refused.error_message


@trio_test
async def test_a_name_given_twice_is_refused_once(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        request = CreateTopicsRequest(topics=[CreatableTopic("new", 1, 1), CreatableTopic("new", 2, 1)])
        (refused,) = (await client.ask(request)).topics
        assert refused.error_code == INVALID_REQUEST


@trio_test
async def test_configurations_of_very_many_topics_are_left_out_of_the_answer(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        for count, is_told in ((200, True), (201, False)):
            names = [CreatableTopic(f"{count}-{number}", 1, 1) for number in range(count)]
            answer = await client.ask(CreateTopicsRequest(topics=names, timeout_ms=5000))
            assert {entry.error_code for entry in answer.topics} == {0}
            assert {bool(entry.configs) for entry in answer.topics} == {is_told}
            code = ErrorCode.NONE if is_told else ErrorCode.POLICY_VIOLATION
            assert {entry.topic_config_error_code for entry in answer.topics} == {code}
