"""What became of a record, asked without its partition."""

from pathlib import Path
from urllib.parse import quote

from trio.testing import trio_test

from tests.engine.stage.world import client_batch, record
from tests.wire.http.door import open_http_door
from tests.wire.kafka.requests import create_topic, produced


@trio_test
async def test_an_id_is_found_in_whichever_partition(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t", 3)
        for partition in (0, 2):
            batch = client_batch([record("x", delay=3_600_000, schedule_id="order/1")])
            await produced(client, "t", batch, partition=partition)
        await produced(client, "t", client_batch([record("", cancel="order/1")]))
        target = f"/topics/t/delayed/fates?id={quote('order/1', safe='')}"
        page = await door.get(target)
        found = [(each["partition"], each["id"], each["fate"]) for each in page["items"]]
        assert (page["total"], found) == (2, [(0, "order/1", "CANCELLED"), (2, "order/1", "PENDING")])
        assert [each["partition"] for each in (await door.get(f"{target}&skip=1"))["items"]] == [2]
        assert (await door.get("/topics/t/delayed/fates?id=nobody"))["items"] == []
        assert (await door.ask("GET", "/topics/t/delayed/fates")).status == 422
        assert (await door.ask("GET", "/topics/other/delayed/fates?id=a")).status == 404
