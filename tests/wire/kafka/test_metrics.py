"""Figures of the Kafka door."""

from pathlib import Path

import trio
from trio.testing import trio_test

from coordinators.records.refused_headers import RefusedHeaders
from tests.engine.stage.world import client_batch, record
from tests.wire.http.scraping import Scrape, collected
from tests.wire.kafka.door import Door, open_door, until
from tests.wire.kafka.requests import BY_NAME, batch, create_topic, fetch, produce, produced
from wire.kafka.metrics import KafkaMetrics, api_name

UNKNOWN_TOPIC_OR_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"


def scraped(door: Door) -> Scrape:
    return collected(KafkaMetrics(door.broker.server, door.broker.node.services[RefusedHeaders]).collect())


@trio_test
async def test_requests_are_counted_and_timed_by_api(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        for _ in range(3):
            await produced(client, "t", batch())
        found = scraped(door)
        assert found("tidegate_requests_total", api="Produce") == 3
        assert found("tidegate_request_duration_seconds_count", api="Produce") == 3
        assert found("tidegate_request_duration_seconds_bucket", api="Produce", le="+Inf") == 3
        assert 0 < found("tidegate_request_duration_seconds_sum", api="Produce") < 30
        assert found("tidegate_network_received_bytes_total") > 3 * len(batch())
        assert found("tidegate_network_sent_bytes_total") > 0


@trio_test
async def test_a_request_without_an_answer_is_timed_too(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await client.send(produce("t", batch(), acks=0), BY_NAME, answered=False)
        await produced(client, "t", batch())
        assert scraped(door)("tidegate_request_duration_seconds_count", api="Produce") == 2


@trio_test
async def test_a_long_poll_is_under_way_until_it_is_answered(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await client.send(fetch("t", max_wait_ms=600_000), BY_NAME)
        await until(lambda: scraped(door)("tidegate_requests_in_progress") == 1)
        assert scraped(door)("tidegate_requests_total", api="Fetch") == 1
        assert scraped(door)("tidegate_request_duration_seconds_count", api="Fetch") == 0


@trio_test
async def test_errors_are_counted_by_name(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        found = scraped(door)
        before = 0.0
        if found.has("tidegate_errors_total", error=UNKNOWN_TOPIC_OR_PARTITION):
            before = found("tidegate_errors_total", error=UNKNOWN_TOPIC_OR_PARTITION)
        await produced(client, "nothing", batch())
        assert scraped(door)("tidegate_errors_total", error=UNKNOWN_TOPIC_OR_PARTITION) == before + 1


@trio_test
async def test_refused_headers_are_counted_by_topic_and_reason(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        for asked in ({"delay": "soon"}, {"delay": 2**62}, {"nonsense": 1}, {"nonsense": 2}):
            await produced(client, "t", client_batch([record("x", **asked)]))
        found = scraped(door)
        for reason, count in (("malformed value", 1), ("too far", 1), ("unknown header", 2)):
            assert found("tidegate_refused_headers_total", topic="t", reason=reason) == count


@trio_test
async def test_connections_are_counted_until_they_end(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"max.connections": 1}) as door:
        client = await door.connect()
        await create_topic(client, "t")
        assert scraped(door)("tidegate_connections") == 1
        await (await door.connect()).wait_closed()
        assert scraped(door)("tidegate_connections_refused_total") == 1
        await client.send_bytes(b"\x7f\xff\xff\xff hello")
        await until(lambda: scraped(door)("tidegate_connections") == 0)
        assert scraped(door)("tidegate_connections_closed_total", reason="malformed") == 1
        assert scraped(door)("tidegate_connections_accepted_total") == 1


@trio_test
async def test_a_request_that_has_not_arrived_whole_is_told(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await client.send_bytes(b"\0\0\x10\0" + bytes(100))
        with trio.fail_after(10):
            await until(lambda: scraped(door)("tidegate_requests_buffered_bytes") >= 100)


def test_apis_have_kafkas_names() -> None:
    assert api_name("list_offsets") == "ListOffsets"
