"""Exporters by their names."""

import sys
from pathlib import Path

import pytest

from coordinators.tracing.exporters import make_exporters
from coordinators.tracing.otel import OtelExporter
from coordinators.tracing.settings import ExporterSettings
from coordinators.tracing.span_file import SpanFile
from engine.errors import InvalidConfig
from tests.coordinators.tracing.test_export import span


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
