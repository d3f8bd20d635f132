"""Figures of stages: by topic, bounded in number, never going back."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.metrics.stages import StageMetrics
from tests.engine.stage.world import Record, client_batch, record
from tests.wire.http.scraping import Scrape, collected
from tests.wire.kafka.door import Client, Door, open_door, until
from tests.wire.kafka.requests import create_topic, fetched, produced
from wire.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

HOUR_MS = 3_600_000


def metrics_of(door: Door, topics: int = 10) -> StageMetrics:
    node = door.broker.node
    return StageMetrics(node.topics, node.partitions, topics)


def scraped(metrics: StageMetrics) -> Scrape:
    return collected(metrics.collect())


async def hold(client: Client, topic: str, *records: Record) -> None:
    answer = await produced(client, topic, client_batch(records))
    assert answer.error_code == 0, answer.error_message


@trio_test
async def test_what_waits_is_told_by_due_time(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, metrics = await door.connect(), metrics_of(door)
        await create_topic(client, "t")
        await create_topic(client, "plain")
        assert scraped(metrics).names() == set()
        await hold(client, "t", *(record("x", delay=delay) for delay in (30_000, HOUR_MS // 2, 90 * HOUR_MS)))
        found = scraped(metrics)
        within = [found("tidegate_stage_due_records", topic="t", within=each) for each in ("1m", "1h", "1d", "later")]
        assert within == [1, 1, 0, 1]
        assert found("tidegate_stage_pending_records", topic="t") == 3
        assert found("tidegate_stage_pending_bytes", topic="t") > 0
        assert found("tidegate_stage_dead_letters", topic="t") == 0
        assert found("tidegate_staged_records_total", topic="t") == 3
        assert found.labels("tidegate_stage_pending_records", "topic") == {"t"}


@trio_test
async def test_what_became_of_records_is_told(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, metrics = await door.connect(), metrics_of(door)
        await create_topic(client, "t")
        await hold(client, "t", record("a", delay=HOUR_MS, schedule_id="x"), record("b", delay=20))
        await hold(client, "t", record("c", delay=HOUR_MS, schedule_id="x"))
        for schedule_id in ("x", "x", "nobody"):
            await hold(client, "t", record("", cancel=schedule_id))
        await until(lambda: scraped(metrics)("tidegate_released_records_total", topic="t") == 1)
        found = scraped(metrics)
        counted = {
            name: found(f"tidegate_{name}_total", topic="t")
            for name in ("cancelled_records", "replaced_records", "expired_records", "late_cancels", "unknown_cancels")
        }
        assert counted == {
            "cancelled_records": 1,
            "replaced_records": 1,
            "expired_records": 0,
            "late_cancels": 1,
            "unknown_cancels": 1,
        }
        assert found("tidegate_release_lateness_seconds_count", topic="t") == 1
        assert found("tidegate_release_lateness_seconds_bucket", topic="t", le="+Inf") == 1
        assert 0 <= found("tidegate_release_lateness_seconds_sum", topic="t") < 60


@trio_test
async def test_what_is_ready_is_told_by_lane(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, metrics = await door.connect(), metrics_of(door)
        await create_topic(client, "t")
        await hold(client, "t", record("a", priority="critical"), record("b"), record("c"))
        found = scraped(metrics)
        assert found("tidegate_stage_ready_records", topic="t", lane="critical") == 1
        assert found("tidegate_stage_ready_records", topic="t", lane="normal") == 2
        assert found("tidegate_lane_starved_turns_total", topic="t", lane="normal") == 0
        await fetched(client, "t", max_wait_ms=5000)
        await until(lambda: scraped(metrics)("tidegate_released_records_total", topic="t") == 3)
        assert scraped(metrics)("tidegate_stage_ready_records", topic="t", lane="critical") == 0


@trio_test
async def test_topics_beyond_the_limit_are_summed_also_when_they_are_gone(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, metrics = await door.connect(), metrics_of(door, topics=1)
        for name in ("a", "b", "c"):
            await create_topic(client, name)
            await hold(client, name, record("x", delay=HOUR_MS), record("y", priority="high"))
        found = scraped(metrics)
        assert found.labels("tidegate_staged_records_total", "topic") == {"a", "other"}
        assert found("tidegate_staged_records_total", topic="other") == 4
        assert found("tidegate_stage_ready_records", topic="other", lane="high") == 2
        for name in ("b", "c"):
            await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=10_000))
        found = scraped(metrics)
        assert found("tidegate_staged_records_total", topic="other") == 4
        assert found("tidegate_stage_pending_records", topic="other") == 0


@trio_test
async def test_after_a_restart_counting_begins_anew(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await hold(client, "t", record("x", delay=HOUR_MS))
    async with open_door(tmp_path) as door:
        found = scraped(metrics_of(door))
        assert found("tidegate_staged_records_total", topic="t") == 0
        assert found("tidegate_stage_pending_records", topic="t") == 1


@trio_test
async def test_a_topic_may_go_while_it_is_reckoned_with(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, metrics = await door.connect(), metrics_of(door)
        for name in ("a", "b"):
            await create_topic(client, name)
            await hold(client, name, record("x", delay=HOUR_MS))
        scrape = metrics.collect()
        assert next(scrape) is None
        await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="b")], timeout_ms=10_000))
        assert scraped(metrics).labels("tidegate_stage_pending_records", "topic") == {"a"}
        assert collected(scrape).labels("tidegate_stage_pending_records", "topic") == {"a", "b"}
