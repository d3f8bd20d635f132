"""The figures of a whole broker, as one scrape tells them."""

import time
from pathlib import Path

import trio
from trio.testing import trio_test

import tidegate
from tests.wire.http.door import open_http_door
from tests.wire.http.scraping import scrape
from tests.wire.kafka.door import until
from tests.wire.kafka.requests import batch, create_topic, produced
from tidegate.data_directory import CLEAN_MARK


@trio_test
async def test_one_scrape_tells_of_every_part(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await produced(client, "t", batch())
        await door.ask("GET", "/health")
        await until(lambda: door.broker.node.partitions.rounds.idle())
        found = await scrape(door)
        assert found("tidegate_build_info", version=tidegate.__version__, node_id="1") == 1
        assert found("tidegate_recovery_seconds") >= 0
        assert found("tidegate_recovery_scanned_bytes") == 0
        assert found("tidegate_requests_total", api="Produce") == 1
        assert found("tidegate_topic_received_records_total", topic="t") == 1
        assert found("tidegate_syncs_total") >= 1
        assert found("tidegate_sync_duration_seconds_count") >= 1
        assert found("tidegate_sync_failures_total") == 0
        assert found("tidegate_transactions", state="Ongoing") == 0
        assert found("tidegate_http_requests_total", method="GET", route="/health", code="200") == 1
        assert found("tidegate_http_connections") == 1
        assert 0 < found("tidegate_disk_free_bytes") <= found("tidegate_disk_size_bytes")


def _forget_the_clean_end(data_dir: Path) -> None:
    (data_dir / CLEAN_MARK).unlink()
    for snapshot in data_dir.glob("topics/*/*/*.snapshot"):
        snapshot.unlink()


@trio_test
async def test_recovery_after_a_crash_is_told(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await produced(client, "t", batch(100))
    _forget_the_clean_end(tmp_path)
    async with open_http_door(tmp_path) as door:
        assert (await scrape(door))("tidegate_recovery_scanned_bytes") > 0


@trio_test
async def test_room_on_the_disk_is_looked_at_before_it_is_told(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        found = await scrape(door)
        assert found("tidegate_disk_size_bytes") >= found("tidegate_disk_free_bytes") > 0
        assert found("tidegate_disk_full") == found("tidegate_disk_full_refusals_total") == 0


class LongestStep(trio.abc.Instrument):
    """How much CPU time the longest step of any task of the door took."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = time.thread_time()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if "HttpServer" in task.name:
            self.seconds = max(self.seconds, time.thread_time() - self._began)


@trio_test
async def test_no_look_at_thousands_of_partitions_holds_the_loop_for_long(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        for number in range(12):
            await create_topic(client, f"t{number}", 250)
        await door.ask("GET", "/metrics")
        longest = LongestStep()
        trio.lowlevel.add_instrument(longest)
        try:
            for path in ("/metrics", "/topics?limit=1000", "/metadata?limit=1000", "/health"):
                assert (await door.ask("GET", path)).status == 200
        finally:
            trio.lowlevel.remove_instrument(longest)
        assert longest.seconds < 0.05
