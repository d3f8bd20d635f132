"""The features that clients may rely on."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from wire.kafka.apis import registered
from wire.kafka.features import FEATURES, finalized, supported
from wire.kafka.messages.api_versions import ApiVersionsRequest


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
