"""Quotas over HTTP: what was set, and who uses how much of it."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.kafka.guarded import open_guarded
from tests.wire.kafka.quotas import bind
from tests.wire.kafka.requests import BY_NAME, batch, create_topic, produce


@trio_test
async def test_quotas_and_their_use_are_told(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as http:
        client = await http.kafka.connect()
        await create_topic(client, "t")
        await bind(client, {"client-id": None}, producer_byte_rate=10_000)
        await bind(client, {"ip": "10.0.0.1"}, connection_creation_rate=5)
        assert (await http.get("/quotas"))["items"] == [
            {"user": None, "client_id": "<default>", "ip": None, "values": {"producer_byte_rate": 10_000.0}},
            {"user": None, "client_id": None, "ip": "10.0.0.1", "values": {"connection_creation_rate": 5.0}},
        ]
        assert (await http.get("/quotas/use"))["items"] == []
        told = (await client.ask(produce("t", batch([bytes(110_000)])), BY_NAME)).throttle_time_ms
        (use,) = (await http.get("/quotas/use"))["items"]
        assert (use["quota"], use["user"], use["name"], use["bound"]) == ("producer_byte_rate", "", "test", 10_000)
        assert (use["throttled"], abs(use["throttled_ms"] - told) <= 1) == (1, True)
        assert use["rate"] > 9_000


@trio_test
async def test_quotas_are_set_and_taken_away(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as http:
        wanted = {"user": "anna", "client_id": "<default>", "values": {"producer_byte_rate": 1000}}
        assert (await http.ask("PATCH", "/quotas", body={**wanted, "dry_run": True})).status == 204
        assert (await http.get("/quotas"))["items"] == []
        assert (await http.ask("PATCH", "/quotas", body=wanted)).status == 204
        shown = {"user": "anna", "client_id": "<default>", "ip": None, "values": {"producer_byte_rate": 1000.0}}
        assert (await http.get("/quotas"))["items"] == [shown]
        gone = {**wanted, "values": {"producer_byte_rate": None}}
        assert (await http.ask("PATCH", "/quotas", body=gone)).status == 204
        assert (await http.get("/quotas"))["items"] == []
        for wrong in ({"values": {"x": 1}, "user": "anna"}, {"values": {"producer_byte_rate": 1}}):
            assert (await http.ask("PATCH", "/quotas", body=wrong)).status == 422, wrong


@trio_test
async def test_setting_quotas_asks_for_the_right(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"http.port": -1}) as guarded:
        wanted = {"user": "anna", "values": {"producer_byte_rate": 1000}}
        assert (await HttpDoor(guarded.door).ask("PATCH", "/quotas", body=wanted)).status == 403
