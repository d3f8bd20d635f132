"""ListConfigResources: whose configs there are."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.door import Client
from tests.wire.kafka.requests import client_of_topic
from wire.kafka.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from wire.kafka.messages.list_config_resources import ListConfigResourcesRequest

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
INVALID_CONFIG, UNSUPPORTED_VERSION = 40, 35
DYNAMIC_GROUP_CONFIG = 8


async def alter(client: Client, name: str, value: str) -> int:
    resource = AlterConfigsResource(GROUP, "g", [AlterableConfig(name, 0, value)])
    (result,) = (await client.ask(IncrementalAlterConfigsRequest([resource]))).responses
    code = result.error_code
    assert isinstance(code, int)
    return code


async def listed(client: Client, *types: int) -> set[tuple[int, str]]:
    answer = await client.ask(ListConfigResourcesRequest(list(types)))
    assert answer.error_code == 0
    return {(each.resource_type, each.resource_name) for each in answer.config_resources}


@trio_test
async def test_groups_that_are_configured_are_listed_with_topics_and_nodes(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert await listed(client, GROUP) == set()
        assert await alter(client, "share.order", "key") == 0
        assert await listed(client, GROUP) == {(GROUP, "g")}
        assert {(GROUP, "g"), (TOPIC, "t"), (BROKER, "1")} <= await listed(client)
        assert await listed(client, CLIENT_METRICS) == set()


@trio_test
async def test_a_type_that_is_not_known_is_refused_and_the_first_version_lists_nothing(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert (await client.ask(ListConfigResourcesRequest([99]))).error_code == UNSUPPORTED_VERSION
        assert (await client.ask(ListConfigResourcesRequest(), version=0)).config_resources == []


@trio_test
async def test_a_group_is_described_with_what_it_has_chosen(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert await alter(client, "share.order", "sideways") == INVALID_CONFIG
        assert await alter(client, "share.order", "key") == 0
        asked = DescribeConfigsRequest([DescribeConfigsResource(GROUP, "g", ["share.order"])])
        (entry,) = (await client.ask(asked)).results[0].configs
        assert (entry.value, entry.config_source) == ("key", DYNAMIC_GROUP_CONFIG)
