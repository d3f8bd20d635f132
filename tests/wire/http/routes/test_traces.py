"""Traces over HTTP: lists, searches, timelines."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from trio.testing import trio_test

from tests.engine.trace.traces import TRACE_ID, batch, trace_header
from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.kafka.requests import create_topic, fetched, produced


@asynccontextmanager
async def door_with_traces(data_dir: Path) -> AsyncIterator[HttpDoor]:
    """Three traced records, of two traces; one of them is fetched."""
    async with open_http_door(data_dir, {"log.trace.sample.per.second": 0}) as door:
        client = await door.connect()
        for topic in ("orders", "drinks"):
            await create_topic(client, topic)
        now_ms = door.broker.clock.now_ms()
        records = [(b"a", b"1", (trace_header(),)), (b"\xff", b"2", (trace_header("1" * 32),))]
        await produced(client, "orders", batch(records, timestamp_ms=now_ms))
        await produced(client, "drinks", batch([(b"a", b"1", (trace_header(),))], timestamp_ms=now_ms))
        await fetched(client, "drinks")
        yield door


@trio_test
async def test_the_last_traces_in_pages(tmp_path: Path) -> None:
    async with door_with_traces(tmp_path) as door:
        page = await door.get("/traces?limit=2")
        assert (page["total"], page["limit"], page["skip"]) == (3, 2, 0)
        first, second = page["items"]
        assert (first["topic"], first["offset"], first["status"], first["events"]) == ("drinks", 0, "fetched", 3)
        assert (second["topic"], second["key"], second["key_base64"]) == ("orders", None, "/w==")
        rest = await door.get("/traces?limit=2&skip=2")
        assert [each["offset"] for each in rest["items"]] == [0]


@trio_test
async def test_a_search_by_every_part(tmp_path: Path) -> None:
    async with door_with_traces(tmp_path) as door:
        for query, expected in (
            (f"trace_id={TRACE_ID}", 2),
            ("topic=orders", 2),
            ("topic=orders&partition=0&offset=1", 1),
            ("key=a", 2),
            ("key=a&topic=drinks", 1),
            ("status=fetched", 1),
            ("status=committed", 0),
            ("since_ms=1&until_ms=99999999999999", 3),
            ("until_ms=1", 0),
            ("min_duration_ms=0", 3),
            ("min_duration_ms=60000", 0),
            ("max_duration_ms=60000", 3),
            ("group=kitchen", 0),
        ):
            assert (await door.get(f"/traces/search?{query}"))["total"] == expected, query


@trio_test
async def test_the_timeline_of_a_trace(tmp_path: Path) -> None:
    async with door_with_traces(tmp_path) as door:
        page = await door.get(f"/traces/{TRACE_ID}")
        assert [(each["topic"], len(each["steps"])) for each in page["items"]] == [("drinks", 3), ("orders", 2)]
        steps = page["items"][0]["steps"]
        assert [step["event"] for step in steps] == ["publish.received", "publish.persisted", "consume.fetched"]
        assert steps[2]["attributes"] == {"client_id": "test", "address": "127.0.0.1"}
        answer = await door.ask("GET", f"/traces/{TRACE_ID}/table?limit=1")
        assert answer.headers["content-type"].startswith("text/plain")
        assert "consume.fetched" in answer.body.decode()
        assert "orders" not in answer.body.decode()


@trio_test
async def test_the_timeline_of_the_record_at_a_place(tmp_path: Path) -> None:
    async with door_with_traces(tmp_path) as door:
        timeline = await door.get("/traces/at/drinks/0/0")
        assert (timeline["trace_id"], len(timeline["steps"])) == (TRACE_ID, 3)
        answer = await door.ask("GET", "/traces/at/drinks/0/7")
        assert answer.status == 404
        assert "drinks-0 at offset 7" in answer.json()["detail"]


@trio_test
async def test_a_trace_that_is_not_there_and_one_that_cannot_be(tmp_path: Path) -> None:
    async with door_with_traces(tmp_path) as door:
        missing = await door.ask("GET", f"/traces/{'2' * 32}")
        assert (missing.status, missing.headers["content-type"]) == (404, "application/problem+json")
        assert (await door.ask("GET", "/traces/xyz")).status == 422
        assert (await door.ask("GET", "/traces/search?status=lost")).status == 422
        assert (await door.ask("GET", "/traces/search?colour=blue")).status == 422


@trio_test
async def test_statistics(tmp_path: Path) -> None:
    async with door_with_traces(tmp_path) as door:
        statistics = await door.get("/traces/stats")
        assert (statistics["traces"], statistics["noted_events"], statistics["dropped_traces"]) == (3, 7, 0)
