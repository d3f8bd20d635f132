"""Refused headers can be found out about: in the log, not too often, and in figures by topic and kind of fault."""

import logging
from pathlib import Path

import pytest
from trio.testing import trio_test

from coordinators.records.refused_headers import COUNTED_MAX, OTHER, QUIET_S, RefusedHeaders
from engine.clock import ManualClock
from engine.errors import InvalidRecord
from engine.records.batch import Publisher
from tests.engine.stage.world import client_batch, record
from tests.wire.kafka.requests import client_of_topic, produced

ERROR = InvalidRecord("tide-delay must be milliseconds", header_fault="malformed value")


def lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [line for line in caplog.records if "refused for its records" in line.message]


def test_each_is_counted_and_some_are_told(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock(1_000)
    refused = RefusedHeaders(clock)
    for _ in range(5):
        refused.note("t", 3, ERROR, Publisher("till", "10.0.0.1"))
    refused.note("u", 0, ERROR, Publisher("till", "10.0.0.1"))
    assert refused.counts == {("t", "malformed value"): 5, ("u", "malformed value"): 1}
    assert [line.topic for line in lines(caplog)] == ["t", "u"]  # type: ignore[attr-defined]
    assert "tide-delay must be milliseconds" in lines(caplog)[0].message
    clock.advance_ms(int(QUIET_S * 1000))
    refused.note("t", 3, ERROR, Publisher("till", "10.0.0.1"))
    last = lines(caplog)[-1].__dict__
    shown = {name: last[name] for name in ("topic", "partition", "fault", "client_id", "address", "since_last")}
    assert shown == {
        "topic": "t", "partition": 3, "fault": "malformed value", "client_id": "till", "address": "10.0.0.1",
        "since_last": 5,
    }  # fmt: skip


def test_many_topics_are_counted_together(caplog: pytest.LogCaptureFixture) -> None:
    refused = RefusedHeaders(ManualClock(1_000))
    for number in range(COUNTED_MAX + 50):
        refused.note(f"t{number}", 0, ERROR, Publisher(None, "10.0.0.1"))
    assert refused.counts[OTHER, "malformed value"] == 50
    assert len(refused.counts) == COUNTED_MAX + 1
    assert len(lines(caplog)) == COUNTED_MAX + 1


@trio_test
async def test_a_refused_batch_is_told_with_its_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert (await produced(client, "t", client_batch([record("x", delay="soon")]))).error_code == 87
        (line,) = lines(caplog)
        assert "tide-delay" in line.message
        assert "soon" in line.message
