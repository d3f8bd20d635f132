"""ElectLeaders: what becomes of each partition, on one node where there is nobody else to elect."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.requests import client_of_topic
from wire.kafka.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, ELECTION_NOT_NEEDED = 3, 42, 84


@pytest.mark.parametrize("kind", [0, 1])
@trio_test
async def test_each_partition_is_answered_for_itself(tmp_path: Path, kind: int) -> None:
    async with client_of_topic(tmp_path, partitions=2) as (client, _):
        wanted = [TopicPartitions("t", [0, 1, 2]), TopicPartitions("missing", [0])]
        answer = await client.ask(ElectLeadersRequest(kind, wanted))
        told = {
            each.topic: [(one.partition_id, one.error_code) for one in each.partition_result]
            for each in answer.replica_election_results
        }
        assert answer.error_code == 0
        assert told == {
            "t": [(0, ELECTION_NOT_NEEDED), (1, ELECTION_NOT_NEEDED), (2, UNKNOWN_TOPIC_OR_PARTITION)],
            "missing": [(0, UNKNOWN_TOPIC_OR_PARTITION)],
        }


@trio_test
async def test_of_all_partitions_those_are_told_that_needed_an_election(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await client.ask(ElectLeadersRequest(0, None))
        assert (answer.error_code, answer.replica_election_results) == (0, [])


@trio_test
async def test_the_oldest_version_elects_preferred_leaders(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await client.ask(ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [0])]), 0)
        assert answer.replica_election_results[0].partition_result[0].error_code == ELECTION_NOT_NEEDED


@trio_test
async def test_an_unknown_kind_of_election_is_refused(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await client.ask(ElectLeadersRequest(7, [TopicPartitions("t", [0])]))
        assert answer.error_code == INVALID_REQUEST
        assert answer.replica_election_results[0].partition_result[0].error_code == INVALID_REQUEST
