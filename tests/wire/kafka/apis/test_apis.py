"""Every API in every version that is advertised is answered, and the answer can be read in that version."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

from tests.wire.kafka.requests import batch, client_of_topic, fetch, produce
from wire.kafka.apis import registered
from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.messages import (
    create_partitions,
    delete_records,
    delete_topics,
    describe_configs,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    find_coordinator,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
)
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest

API_VERSIONS_KEY, FETCH_SNAPSHOT = 18, 59
LATEST = -1


def _produce(_: int, topic_id: bytes) -> Any:
    request = produce("t", batch(), acks=1)
    request.topic_data[0].topic_id = topic_id
    return request


# What is asked of each API; one that is not named here is asked with all fields at their defaults.
REQUESTS: dict[str, Callable[[int, bytes], Any]] = {
    "produce": _produce,
    "fetch": lambda _, topic_id: fetch("t", topic_id=topic_id),
    "list_offsets": lambda *_: list_offsets.ListOffsetsRequest(
        topics=[list_offsets.ListOffsetsTopic("t", [list_offsets.ListOffsetsPartition(timestamp=LATEST)])]
    ),
    "metadata": lambda *_: metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name="t")]),
    "find_coordinator": lambda *_: find_coordinator.FindCoordinatorRequest(key="g", coordinator_keys=["g"]),
    "api_versions": lambda *_: ApiVersionsRequest(client_software_name="test", client_software_version="1.0"),
    "create_topics": lambda version, _: CreateTopicsRequest(topics=[CreatableTopic(f"made-{version}", 1, 1)]),
    "delete_topics": lambda *_: delete_topics.DeleteTopicsRequest(topic_names=[], topics=[]),
    "delete_records": lambda *_: delete_records.DeleteRecordsRequest(
        topics=[delete_records.DeleteRecordsTopic("t", [delete_records.DeleteRecordsPartition()])]
    ),
    "create_partitions": lambda version, _: create_partitions.CreatePartitionsRequest(
        topics=[create_partitions.CreatePartitionsTopic("t", version + 2, None)]
    ),
    "describe_configs": lambda *_: describe_configs.DescribeConfigsRequest(
        resources=[describe_configs.DescribeConfigsResource(2, "t", None)], include_documentation=True
    ),
    "describe_log_dirs": lambda *_: describe_log_dirs.DescribeLogDirsRequest(topics=None),
    "describe_producers": lambda *_: describe_producers.DescribeProducersRequest(
        topics=[describe_producers.TopicRequest("t", [0])]
    ),
    "describe_topic_partitions": lambda *_: describe_topic_partitions.DescribeTopicPartitionsRequest(
        topics=[describe_topic_partitions.TopicRequest("t")]
    ),
    "offset_for_leader_epoch": lambda *_: offset_for_leader_epoch.OffsetForLeaderEpochRequest(
        topics=[offset_for_leader_epoch.OffsetForLeaderTopic("t", [offset_for_leader_epoch.OffsetForLeaderPartition()])]
    ),
}


def request_of(name: str, key: int, version: int, topic_id: bytes) -> Any:
    if name in REQUESTS:
        return REQUESTS[name](version, topic_id)
    module = import_module(f"wire.kafka.messages.{API_TABLE[key].module}")
    (kind,) = (each for each in vars(module).values() if getattr(each, "API_KEY", None) == key and _asks(each))
    return kind()


def _asks(kind: type) -> bool:
    return kind.__name__.endswith("Request")


def _errors(answer: object) -> list[int]:
    """The error codes anywhere in an answer."""
    if isinstance(answer, list):
        return [code for each in answer for code in _errors(each)]
    if not hasattr(answer, "__attrs_attrs__"):
        return []
    found = []
    for name in (field.name for field in answer.__attrs_attrs__):
        value = getattr(answer, name)
        found += [value] if name == "error_code" else _errors(value)
    return found


@pytest.mark.parametrize("api", registered().values(), ids=lambda api: api.name)
@trio_test
async def test_every_version_is_answered(tmp_path: Path, api: Any) -> None:
    async with client_of_topic(tmp_path) as (client, topic_id):
        for version in range(api.first_version, api.last_version + 1):
            answer = await client.ask(request_of(api.name, api.key, version, topic_id), version)
            if api.name in REQUESTS:
                assert not any(_errors(answer)), f"version {version}: {answer}"


@trio_test
async def test_what_is_advertised_is_what_is_registered(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await client.ask(REQUESTS["api_versions"](0, b""))
        advertised = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        assert advertised == {
            api.key: (api.first_advertised_version, api.last_advertised_version)
            for api in registered().values()
            if api.advertised
        }
        assert FETCH_SNAPSHOT not in advertised, "only nodes ask"


def test_an_api_serves_its_range_alone() -> None:
    api = registered()[API_VERSIONS_KEY]
    assert [version for version in range(-2, 10) if api.serves(version)] == [0, 1, 2, 3, 4]
