"""Topics and partitions as REST v2 tells them; probes and making topics as Strimzi's bridge has them."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.http.door import open_http_door
from tests.wire.http.routes.test_rest_produce import JSON, post

V2 = "application/vnd.kafka.v2+json"


@trio_test
async def test_topics_are_made_and_told_as_v2_has_them(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        wanted = {"topic_name": "t", "partitions_count": 2, "config": {"retention.ms": "1000"}}
        made = await post(door, "/admin/topics", wanted, V2)
        assert (made.status, made.json()) == (201, {"topic_name": "t", "partitions_count": 2})
        again = await post(door, "/admin/topics", wanted, "application/json")
        assert (again.status, again.json()["error_code"]) == (409, 409)
        assert await door.get("/topics", {"accept": V2}) == ["t"]
        assert (await door.get("/topics"))["items"][0]["name"] == "t"
        told = await door.get("/topics/t", {"accept": f"text/plain, {V2}"})
        assert (told["name"], told["configs"]["retention.ms"]) == ("t", "1000")
        replicas = [{"broker": 1, "leader": True, "in_sync": True}]
        assert told["partitions"] == [{"partition": each, "leader": 1, "replicas": replicas} for each in (0, 1)]
        assert await door.get("/topics/t/partitions") == told["partitions"]
        assert await door.get("/topics/t/partitions/1") == told["partitions"][1]
        assert await door.get("/brokers") == {"brokers": [1]}


@trio_test
async def test_a_partition_tells_from_where_to_where_it_can_be_read(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await post(door, "/topics/t", {"records": [{"value": 1}, {"value": 2}]}, JSON)
        assert await door.get("/topics/t/partitions/0/offsets") == {"beginning_offset": 0, "end_offset": 2}


@trio_test
async def test_probes_of_the_bridge_need_no_token(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.token": "secret"}) as door:
        for target in ("/healthy", "/ready"):
            answer = await door.ask("GET", target)
            assert (answer.status, answer.body) == (204, b"")
        assert (await door.ask("GET", "/brokers")).status == 401
