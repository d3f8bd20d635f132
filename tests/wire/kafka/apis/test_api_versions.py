"""ApiVersions: what is served, and the names that clients give themselves."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from wire.kafka.apis import registered
from wire.kafka.apis.api_versions import FEATURES, finalized, supported
from wire.kafka.messages.api_versions import ApiVersionsRequest

INVALID_REQUEST = 42
FIRST_NAMED_VERSION = 3


@trio_test
async def test_the_client_is_known_by_the_name_it_gave(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        answer = await client.ask(ApiVersionsRequest("my-client", "1.2.3"))
        assert answer.error_code == 0
        (connection,) = door.broker.server.connections.values()
        assert (connection.peer.software_name, connection.peer.software_version) == ("my-client", "1.2.3")


@pytest.mark.parametrize("name", ["", " ", "-a", "a-", "a b", "é", "a\n"])
@trio_test
async def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        assert (await client.ask(ApiVersionsRequest(name, "1"), FIRST_NAMED_VERSION)).error_code == INVALID_REQUEST
        assert (await client.ask(ApiVersionsRequest("a", "1"), FIRST_NAMED_VERSION)).error_code == 0


@trio_test
async def test_only_the_beginning_of_a_long_name_is_kept(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        assert (await client.ask(ApiVersionsRequest("a" * 30_000, "1"))).error_code == 0
        (connection,) = door.broker.server.connections.values()
        assert connection.peer.software_name == "a" * 100


@trio_test
async def test_produce_is_advertised_from_version_0(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        answer = await client.ask(ApiVersionsRequest(), 0)
        assert [api.min_version for api in answer.api_keys if api.api_key == 0] == [0]
        assert [api.api_key for api in answer.api_keys] == sorted(api.api_key for api in answer.api_keys)


@trio_test
async def test_transaction_version_2_is_in_force(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        answer = await (await door.connect()).ask(ApiVersionsRequest("test", "1"), 4)
        levels = {each.name: (each.min_version_level, each.max_version_level) for each in answer.finalized_features}
        assert levels["transaction.version"] == (2, 2)
        assert answer.finalized_features_epoch >= 0


def test_what_transaction_version_2_promises_is_served() -> None:
    assert [registered()[key].last_version >= version for key, version in ((0, 12), (26, 5), (28, 5))] == [True] * 3


def test_readers_of_version_3_see_no_level_0() -> None:
    assert all(each.min_version >= 1 for each in supported(3))
    assert {each.name: each.min_version for each in supported(4)}["transaction.version"] == 0
    assert [each.name for each in finalized()] == [each.name for each in FEATURES if each.level]
