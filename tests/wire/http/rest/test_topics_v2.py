"""Topics as REST v2 tells them: what there is not, and who wants them so."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.http.door import open_http_door
from tests.wire.http.routes.test_rest_produce import JSON, post
from wire.http.messages import Request
from wire.http.rest.topics_v2 import is_wanted, partition_v2
from wire.kafka.messages.metadata import MetadataResponsePartition

V2 = "application/vnd.kafka.v2+json"


def test_replicas_say_who_leads_and_who_is_in_sync() -> None:
    found = partition_v2(MetadataResponsePartition(0, 3, 2, 0, [1, 2, 3], [2, 3]))
    assert (found.partition, found.leader) == (3, 2)
    assert [(each.broker, each.leader, each.in_sync) for each in found.replicas] == [
        (1, False, False),
        (2, True, True),
        (3, False, True),
    ]


def test_only_who_names_the_format_gets_it() -> None:
    assert is_wanted(Request("GET", "/topics", {"accept": f"{V2}, application/json;q=0.5"}))
    assert not is_wanted(Request("GET", "/topics", {"accept": "*/*"}))
    assert not is_wanted(Request("GET", "/topics"))


@trio_test
async def test_what_there_is_not_is_told_in_v2s_numbers(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await post(door, "/topics/t", {"records": [{"value": 1}]}, JSON)
        for target, code in (
            ("/topics/none/partitions", 40401),
            ("/topics/none/partitions/0/offsets", 40401),
            ("/topics/t/partitions/7", 40402),
            ("/topics/t/partitions/7/offsets", 40402),
        ):
            answer = await door.ask("GET", target)
            assert (answer.status, answer.json()["error_code"]) == (404, code), target
        wrong = await post(door, "/admin/topics", {"topic_name": "no spaces"}, V2)
        assert (wrong.status, wrong.json()["error_code"]) == (422, 42203)
