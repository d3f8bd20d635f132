"""Spans in a file: OTLP's JSON, a line per export, rotated."""

import json
from pathlib import Path

from attrs import evolve

from coordinators.tracing.span_file import SpanFile, encode_line
from tests.coordinators.tracing.test_export import span
from tests.engine.trace.traces import NOON_US, PARENT_ID, TRACE_ID


def test_a_line_is_an_export_request() -> None:
    said = json.loads(encode_line([evolve(span(), state="vendor=1")], {"service.name": "tidegate"}))
    (resource,) = said["resourceSpans"]
    assert resource["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "tidegate"}}]
    (scope,) = resource["scopeSpans"]
    (found,) = scope["spans"]
    assert (found["traceId"], found["parentSpanId"], found["traceState"]) == (TRACE_ID, PARENT_ID, "vendor=1")
    assert (found["name"], found["kind"], found["status"]) == ("publish orders", 2, {})
    assert found["startTimeUnixNano"] == str(NOON_US * 1000)
    assert [event["name"] for event in found["events"]] == ["publish.received", "publish.persisted"]
    attributes = {each["key"]: each["value"] for each in found["attributes"]}
    assert attributes["messaging.kafka.offset"] == {"intValue": "0"}


def test_an_error_has_its_status() -> None:
    line = json.loads(encode_line([evolve(span(), error="gone", attributes={"a": True, "b": 1.5})], {}))
    (found,) = line["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert found["status"] == {"code": 2, "message": "gone"}
    assert [each["value"] for each in found["attributes"]] == [{"boolValue": True}, {"doubleValue": 1.5}]


def test_the_file_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "traces.jsonl"
    size = len(encode_line([span()], {}))
    file = SpanFile(str(path), size * 2, 2, {})
    for _ in range(7):
        assert file.export([span()])
    file.close()
    lines = {each.name: len(each.read_text().splitlines()) for each in path.parent.iterdir()}
    assert lines == {"traces.jsonl": 1, "traces.jsonl.1": 2, "traces.jsonl.2": 2}


def test_without_old_files_it_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    file = SpanFile(str(path), len(encode_line([span()], {})), 0, {})
    for _ in range(3):
        file.export([span()])
    assert [each.name for each in tmp_path.iterdir()] == ["traces.jsonl"]
    assert len(path.read_text().splitlines()) == 1
