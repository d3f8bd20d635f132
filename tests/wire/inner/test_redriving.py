"""Letters sent again by more than one at once, letters without their records, and partitions that are gone."""

from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from tests.wire.http.door import HttpDoor
from tests.wire.http.routes.test_redrive import letter, orders, redrive, with_letters

MANY = 300


@trio_test
async def test_several_at_once_send_every_letter_once(tmp_path: Path) -> None:
    async with with_letters(tmp_path, *(letter(number, "late") for number in range(MANY))) as http:
        statuses: list[int] = []

        async def run() -> None:
            # One takes over from the other, whose transaction is aborted: it says so, or sends nothing.
            answer = await http.ask("POST", "/dlq/orders.dlq/redrive", body={})
            statuses.append(answer.status)

        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(run)
        assert set(statuses) <= {200, 409}
        with trio.fail_after(20):
            while (await redrive(http))["sent"]:
                pass
        found = [each["value"] for each in await _committed(http)]
        assert sorted(found) == sorted(f"v{number}" for number in range(MANY))


async def _committed(http: HttpDoor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await http.get("/topics/orders/messages?offset=earliest&limit=1000"))["messages"]
    return found


@trio_test
async def test_a_letter_without_its_record_is_sent_with_what_lies_where_it_says(tmp_path: Path) -> None:
    def bare(offset: int) -> dict[str, Any]:
        return {"headers": letter(offset, "late")["headers"][1:]}

    async with with_letters(tmp_path) as http:
        record = {"key": "k", "value": "whole", "partition": 1, "headers": [{"name": "own", "value": "kept"}]}
        assert (await http.ask("POST", "/topics/orders/messages", body=record)).status == 200
        assert (await http.ask("POST", "/topics/orders.dlq/messages", body=[bare(0), bare(9)])).status == 200
        told = await redrive(http)
        assert [each["left"] for each in told["letters"]] == [None, "its record is gone from the topic it came from"]
        again = (await orders(http))[-1]
        assert (again["key"], again["value"], again["headers"][0]["value"]) == ("k", "whole", "kept")
