"""Electing leaders over HTTP."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.http.door import open_http_door
from tests.wire.kafka.requests import create_topic


@trio_test
async def test_one_node_has_nothing_to_elect(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        assert (await door.ask("POST", "/cluster/leader-election", body={})).json() == {"items": []}
        named = {"kind": "unclean", "partitions": [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 7}]}
        items = (await door.ask("POST", "/cluster/leader-election", body=named)).json()["items"]
        assert [(each["leader"], each["error"]) for each in items] == [
            (1, "ElectionNotNeeded"),
            (-1, "UnknownTopicOrPartition"),
        ]
        assert (await door.ask("POST", "/cluster/leader-election", body={"kind": "by lot"})).status == 422
