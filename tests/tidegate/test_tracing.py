"""Tracing in a running broker: composed as configured, closed with it."""

import json
import sys
from pathlib import Path

import pytest
from trio.testing import trio_test

from coordinators.tracing.otel import OtelExporter
from coordinators.tracing.settings import ExporterSettings
from coordinators.tracing.span_file import SpanFile
from engine.errors import InvalidConfig
from engine.trace.kinds import Outcome
from tests.coordinators.tracing.test_export import span
from tests.engine.trace.traces import TRACE_ID, batch, trace_header
from tests.wire.kafka.door import config, open_door, until
from tests.wire.kafka.groups import GroupMember, group_door
from tests.wire.kafka.requests import create_topic, fetched, produced
from tidegate.broker import Broker
from tidegate.tracing import make_exporters
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)


def traced(now_ms: int) -> bytes:
    return batch([(b"a", b"1", ()), (b"k", b"v", (trace_header(),))], timestamp_ms=now_ms)


@trio_test
async def test_one_record_through_a_group(tmp_path: Path) -> None:
    async with group_door(tmp_path, **{"log.trace.sample.per.second": 0}) as door:
        node = door.door.broker.node
        await produced(door.client, "t", traced(node.clock.now_ms()))
        member: GroupMember = await (await door.member()).settle()
        await fetched(member.client, "t")
        one = OffsetCommitRequestPartition(0, 2, -1, "")
        request = OffsetCommitRequest(
            "g", member.generation, member.member_id, topics=[OffsetCommitRequestTopic(name="t", partitions=[one])]
        )
        assert (await member.client.ask(request, 9)).topics[0].partitions[0].error_code == 0
        (trace,) = node.tracing.store.by_id(TRACE_ID)
        assert [event.kind.value for event in trace.events] == [
            "publish.received", "publish.persisted", "consume.fetched", "consume.committed",
        ]  # fmt: skip
        assert trace.events[2].attributes == {"client_id": "test", "address": "127.0.0.1", "group": "g"}
        assert trace.outcome is Outcome.COMMITTED


@trio_test
async def test_spans_are_in_the_file_when_the_broker_has_stopped(tmp_path: Path) -> None:
    settings: dict[str, object] = {"trace.exporter": "file", "trace.service.name": "till"}
    async with open_door(tmp_path, settings) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await produced(client, "t", traced(door.broker.clock.now_ms()))
    lines = (tmp_path / "traces.jsonl").read_text().splitlines()
    spans = [
        (span["traceId"], span["name"])
        for line in lines
        for span in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]
    assert (TRACE_ID, "publish t") in spans


@trio_test
async def test_a_deleted_topics_places_are_free(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await produced(client, "t", traced(door.broker.clock.now_ms()))
        store = door.broker.node.tracing.store
        assert store.at("t", 0, 1) is not None
        await door.broker.node.controller.delete_topics(["t"])
        assert store.at("t", 0, 1) is None


@trio_test
async def test_a_collector_that_is_not_there_does_not_hold_up_the_end(tmp_path: Path) -> None:
    settings: dict[str, object] = {
        "trace.exporter": "otlp-http",
        "trace.exporter.otlp.http.endpoint": "http://127.0.0.1:1/v1/traces",
    }
    async with Broker(config(tmp_path, settings)) as broker:
        statistics = broker.node.tracing.statistics
        assert statistics()["spans_otlp_http_queued"] == 0
    await until(lambda: statistics()["spans_otlp_http_queued"] == 0)


@pytest.mark.parametrize("exporter", ["zipkin", "none,file"])
def test_an_exporter_that_cannot_be_is_refused(tmp_path: Path, exporter: str) -> None:
    with pytest.raises(Exception, match=r"trace\.exporter"):
        config(tmp_path, {"trace.exporter": exporter})


def test_all_of_them(tmp_path: Path) -> None:
    names = ("otlp-http", "otlp-grpc", "console", "file")
    made = make_exporters(ExporterSettings(names, headers=(("a", "b"),)), str(tmp_path), {"service.name": "x"})
    assert tuple(made) == names
    assert [type(each) for each in made.values()] == [OtelExporter, OtelExporter, OtelExporter, SpanFile]
    for each in made.values():
        each.close()


def test_the_file_lies_in_the_data_directory_unless_told_otherwise(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.jsonl"
    for path, expected in (("sub/t.jsonl", tmp_path / "sub/t.jsonl"), (str(elsewhere), elsewhere)):
        made = make_exporters(ExporterSettings(("file",), file_path=path), str(tmp_path), {})
        made["file"].export([span()])
        assert expected.exists()


def test_the_console_is_standard_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = make_exporters(ExporterSettings(("console",)), str(tmp_path), {})
    assert made["console"].export([span()])
    captured = capfd.readouterr()
    assert "publish orders" in captured.err
    assert captured.out == ""


def test_without_the_sdk_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "coordinators.tracing.otel", None)
    monkeypatch.delattr("coordinators.tracing.otel", raising=False)
    with pytest.raises(InvalidConfig, match=r"trace.exporter=otlp-http needs .* pip install 'tidegate\[otlp\]'"):
        make_exporters(ExporterSettings(("otlp-http",)), str(tmp_path), {})
    assert "file" in make_exporters(ExporterSettings(("file",)), str(tmp_path), {}), "the file needs no SDK"
