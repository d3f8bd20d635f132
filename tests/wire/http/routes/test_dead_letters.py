"""Dead-letter topics over HTTP."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.http.door import HttpDoor
from tests.wire.kafka.door import open_door
from tests.wire.kafka.requests import batch, create_topic, produced


@trio_test
async def test_topics_for_letters_are_listed_with_what_lies_in_them(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"http.port": -1}) as door:
        client, http = await door.connect(), HttpDoor(door)
        assert (await http.get("/dlq"))["items"] == []
        for name in ("orders", "orders.dlq", "morgue"):
            await create_topic(client, name)
        await create_topic(client, "bills", configs={"dead.letter.topic": "morgue"})
        await produced(client, "orders.dlq", batch())
        morgue, letters = (await http.get("/dlq"))["items"]
        assert (morgue["topic"], morgue["letters"], morgue["sources"]) == ("morgue", 0, ["bills"])
        assert (letters["topic"], letters["sources"]) == ("orders.dlq", ["orders"])
        assert letters["letters"] > 0
