"""DescribeConfigs: values, where they come from, and what stands behind them."""

from pathlib import Path
from typing import Any

from trio.testing import trio_test

from tests.wire.kafka.door import Client
from tests.wire.kafka.requests import client_of_topic
from wire.kafka.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

TOPIC, BROKER = 2, 4
UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST = 3, 42
TOPIC_CONFIG, STATIC_BROKER_CONFIG, DEFAULT_CONFIG = 1, 4, 5
INT = 3


async def described(client: Client, kind: int, name: str, keys: list[str] | None = None, **options: bool) -> Any:
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, keys)], **options)
    return (await client.ask(request)).results[0]


@trio_test
async def test_a_value_tells_where_it_comes_from(tmp_path: Path) -> None:
    settings: dict[str, object] = {"log.retention.ms": 1000}
    async with client_of_topic(tmp_path, configs={"segment.bytes": "1048576"}, settings=settings) as (client, _):
        found = {entry.name: entry for entry in (await described(client, TOPIC, "t")).configs}
        told = {name: (found[name].value, found[name].config_source) for name in ("segment.bytes", "retention.ms")}
        assert told == {
            "segment.bytes": ("1048576", TOPIC_CONFIG),
            "retention.ms": ("1000", STATIC_BROKER_CONFIG),
        }
        assert found["cleanup.policy"].config_source == DEFAULT_CONFIG


@trio_test
async def test_synonyms_and_documentation_are_told_to_who_asks(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        (plain,) = (await described(client, TOPIC, "t", ["segment.bytes"])).configs
        assert (plain.synonyms, plain.documentation) == ([], None)
        asked = {"include_synonyms": True, "include_documentation": True}
        (full,) = (await described(client, TOPIC, "t", ["segment.bytes"], **asked)).configs
        assert [synonym.name for synonym in full.synonyms] == ["log.segment.bytes"]
        assert full.documentation
        assert full.config_type == INT


@trio_test
async def test_the_brokers_own_keys_are_described_by_its_number(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        found = {entry.name: entry for entry in (await described(client, BROKER, "1")).configs}
        assert found["socket.control.request.max.bytes"].value == str(8 * 1024 * 1024)
        assert found["node.id"].read_only


@trio_test
async def test_what_does_not_exist_is_told(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert (await described(client, TOPIC, "missing")).error_code == UNKNOWN_TOPIC_OR_PARTITION
        assert (await described(client, 99, "t")).error_code == INVALID_REQUEST


@trio_test
async def test_a_resource_named_twice_is_described_once_with_all_that_is_asked_of_it(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        wanted = [["segment.bytes"], ["retention.ms", "segment.bytes"]] * 50
        request = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "t", keys) for keys in wanted])
        (result,) = (await client.ask(request)).results
        assert sorted(entry.name for entry in result.configs) == ["retention.ms", "segment.bytes"]
        request.resources.append(DescribeConfigsResource(TOPIC, "t", None))
        (result,) = (await client.ask(request)).results
        assert len(result.configs) > 20


@trio_test
async def test_what_does_not_fit_into_the_answer_is_told(tmp_path: Path) -> None:
    settings: dict[str, object] = {"socket.response.max.bytes": 30_000}
    async with client_of_topic(tmp_path, settings=settings) as (client, _):
        resources = [DescribeConfigsResource(TOPIC, "t", None), DescribeConfigsResource(BROKER, "1", None)]
        small, large = (await client.ask(DescribeConfigsRequest(resources, include_documentation=True))).results
        assert (small.error_code, large.error_code, large.configs) == (0, INVALID_REQUEST, [])
        assert "socket.response.max.bytes=30000" in large.error_message
