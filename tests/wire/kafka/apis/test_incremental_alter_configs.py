"""IncrementalAlterConfigs: single keys are set, removed, extended, shortened."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.apis.test_alter_configs import own_configs
from tests.wire.kafka.door import Client
from tests.wire.kafka.requests import client_of_topic
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC = 2
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
INVALID_CONFIG = 40


async def altered(client: Client, *changes: tuple[str, int, str | None], validate_only: bool = False) -> int:
    resource = AlterConfigsResource(TOPIC, "t", [AlterableConfig(*change) for change in changes])
    answer = await client.ask(IncrementalAlterConfigsRequest([resource], validate_only))
    return int(answer.responses[0].error_code)


@trio_test
async def test_keys_that_are_not_named_stay(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, configs={"retention.ms": "5", "segment.bytes": "1048576"}) as (client, _):
        assert await altered(client, ("retention.ms", SET, "6")) == 0
        assert await own_configs(client) == {"retention.ms": "6", "segment.bytes": "1048576"}
        assert await altered(client, ("segment.bytes", DELETE, None)) == 0
        assert await own_configs(client) == {"retention.ms": "6"}


@trio_test
async def test_a_list_is_extended_and_shortened(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert await altered(client, ("cleanup.policy", APPEND, "compact")) == 0
        assert await own_configs(client) == {"cleanup.policy": "delete,compact"}
        assert await altered(client, ("cleanup.policy", SUBTRACT, "delete")) == 0
        assert await own_configs(client) == {"cleanup.policy": "compact"}


@trio_test
async def test_all_changes_of_a_resource_are_made_or_none(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        changes = [("retention.ms", SET, "6"), ("segment.bytes", SET, "small")]
        assert await altered(client, *changes) == INVALID_CONFIG
        assert await altered(client, ("retention.ms", SET, "6"), validate_only=True) == 0
        assert await own_configs(client) == {}
