"""The administration of a broker in this process."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from tests.engine.stage.world import client_batch, record
from tests.wire.kafka.apis.test_share_fetch import shared_topic
from tests.wire.kafka.door import Client, config, open_door
from tests.wire.kafka.requests import batch, create_topic, fetched, produced
from tidegate.admin_results import AdminError, Fate, Header, NoSuchRecord, NoSuchTopic, TooLate
from tidegate.broker import Broker
from tidegate.embedded_admin import EmbeddedAdmin

HOUR_MS = 3_600_000


@asynccontextmanager
async def administered(data_dir: Path) -> AsyncIterator[tuple[Client, EmbeddedAdmin]]:
    """A topic of two partitions with a delayed record in each."""
    async with open_door(data_dir) as door:
        client = await door.connect()
        await create_topic(client, "t", 2)
        for partition, schedule_id in enumerate(("a", "b")):
            batch = client_batch([record(schedule_id, delay=HOUR_MS * (2 - partition), schedule_id=schedule_id)])
            await produced(client, "t", batch, partition=partition)
        yield client, EmbeddedAdmin.of(door.broker)


@trio_test
async def test_what_waits_is_seen(tmp_path: Path) -> None:
    async with administered(tmp_path) as (_, admin):
        page = await admin.list_pending("t", limit=1)
        assert ([each.id for each in page.records], page.total, page.next_skip) == (["b"], 2, 1)
        (first,) = page.records
        assert (first.partition, first.state, first.key, first.lane) == (1, "waiting", b"k", 2)
        assert first.headers == (Header("tide-delay", b"%d" % HOUR_MS), Header("tide-schedule-id", b"b"))
        assert first.size_bytes > 0
        by_number = await admin.list_pending("t", order="number", partition=0, due_from_ms=0, due_until_ms=2**50)
        assert [each.id for each in by_number.records] == ["a"]
        assert (await admin.count_pending("t"), await admin.count_pending("t", 1)) == (2, 1)
        edge = int(time.time() * 1000) + HOUR_MS + HOUR_MS // 2
        buckets = await admin.histogram("t", [edge])
        assert [(each.until_ms, each.records) for each in buckets] == [(edge, 1), (None, 1)]
        found = await admin.look("t", 1, "b")
        assert (found.fate, found.value, found.record) == ("PENDING", b"b", first)


@trio_test
async def test_what_waits_is_changed(tmp_path: Path) -> None:
    async with administered(tmp_path) as (client, admin):
        await admin.cancel("t", 0, "a")
        assert (await admin.fate("t", 0, "a")).fate == "CANCELLED"
        later = int(time.time() * 1000) + 5 * HOUR_MS
        assert await admin.reschedule("t", 1, "b", deliver_at_ms=later) == later
        assert (await admin.find("t", "b"))[0].fate == "PENDING"
        await admin.release_now("t", 1, "b")
        with trio.fail_after(20):
            taken = await fetched(client, "t", partition=1, max_wait_ms=15_000)
        assert taken.records is not None
        found = await admin.fate("t", 1, "b")
        assert (found.fate, found.offset) == ("DELIVERED", 0)
        report = await admin.delay_statistics()
        assert (report.all.pending, report.all.cancelled, report.topics[0].released) == (0, 1, 1)
        assert sum(report.all.lateness.counts) == 1


@trio_test
async def test_lanes_are_told(tmp_path: Path) -> None:
    async with administered(tmp_path) as (client, admin):
        assert await admin.priority_statistics() == ()
        await produced(client, "t", client_batch([record("x", priority="critical")]), partition=1)
        (found,) = await admin.priority_statistics("t")
        assert (found.topic, found.partition, found.ready) == ("t", 1, (1, 0, 0, 0, 0))


@trio_test
async def test_refusals_are_those_of_the_administration(tmp_path: Path) -> None:
    async with administered(tmp_path) as (_, admin):
        with pytest.raises(NoSuchTopic, match="no topic is called 'other'"):
            await admin.count_pending("other")
        with pytest.raises(NoSuchRecord, match="no record 'nobody'"):
            await admin.look("t", 0, "nobody")
        assert await admin.fate("t", 0, "nobody") == Fate("UNKNOWN")
        await admin.cancel("t", 0, "a")
        with pytest.raises(TooLate, match="already CANCELLED"):
            await admin.reschedule("t", 0, "a", delay_ms=1)
        with pytest.raises(AdminError, match="limit must be 1 to 1000, not 0"):
            await admin.list_pending("t", limit=0)


def test_a_broker_that_does_not_run_has_no_administration(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="does not run yet"):
        EmbeddedAdmin.of(Broker(config(tmp_path)))


@trio_test
async def test_what_members_of_a_share_group_have_is_taken_back(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, member):
        await produced(client, "t", batch(3))
        assert await member.take() == [(0, 2, 1)]
        admin = EmbeddedAdmin.of(door.broker)
        assert await admin.release_shared("g", "m1", topic="t", partition=0, first_offset=1, delay_ms=60_000) == 1
        with pytest.raises(AdminError):
            await admin.release_shared("g", partition=0)
        assert await admin.release_shared("g") == 2
        assert await member.take() == [(0, 0, 2), (2, 2, 2)]
