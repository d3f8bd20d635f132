"""AlterConfigs: all settings of a resource are replaced, in force at once and kept."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.door import Client, open_door
from tests.wire.kafka.requests import batch, client_of_topic, produced
from wire.kafka.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from wire.kafka.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

TOPIC = 2
UNKNOWN_TOPIC_OR_PARTITION, MESSAGE_TOO_LARGE, INVALID_CONFIG = 3, 10, 40
TOPIC_CONFIG = 1


async def altered(client: Client, name: str, configs: dict[str, str | None], *, validate_only: bool = False) -> int:
    resource = AlterConfigsResource(TOPIC, name, [AlterableConfig(key, value) for key, value in configs.items()])
    answer = await client.ask(AlterConfigsRequest([resource], validate_only))
    return int(answer.responses[0].error_code)


async def own_configs(client: Client) -> dict[str, str]:
    """What is set on the topic itself."""
    answer = await client.ask(DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "t", None)]))
    entries = answer.results[0].configs
    return {entry.name: entry.value for entry in entries if entry.config_source == TOPIC_CONFIG}


@trio_test
async def test_what_is_not_given_falls_back(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, configs={"retention.ms": "5", "segment.bytes": "1048576"}) as (client, _):
        assert await altered(client, "t", {"retention.ms": "6"}) == 0
        assert await own_configs(client) == {"retention.ms": "6"}
    async with open_door(tmp_path) as door:
        assert await own_configs(await door.connect()) == {"retention.ms": "6"}


@trio_test
async def test_a_setting_is_in_force_at_once(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert (await produced(client, "t", batch([bytes(5000)]))).error_code == 0
        assert await altered(client, "t", {"max.message.bytes": "1000"}) == 0
        assert (await produced(client, "t", batch([bytes(5000)]))).error_code == MESSAGE_TOO_LARGE


@trio_test
async def test_a_bad_value_changes_nothing(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, configs={"retention.ms": "5"}) as (client, _):
        assert await altered(client, "t", {"segment.bytes": "1048576", "retention.ms": "soon"}) == INVALID_CONFIG
        assert await altered(client, "t", {"segment.bytes": "1048576"}, validate_only=True) == 0
        assert await altered(client, "missing", {}) == UNKNOWN_TOPIC_OR_PARTITION
        assert await own_configs(client) == {"retention.ms": "5"}
