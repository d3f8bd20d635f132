"""Makes the exporters that the configuration names; one that cannot be made stops the start, with the reason."""

import os
from collections.abc import Mapping

from coordinators.tracing.export import Exporter
from coordinators.tracing.settings import ExporterSettings
from coordinators.tracing.span_file import SpanFile
from engine.errors import InvalidConfig


def make_exporters(settings: ExporterSettings, data_dir: str, resource: Mapping[str, str]) -> dict[str, Exporter]:
    """By name. Imports what each needs, which takes time: not on the loop."""
    return {name: _make(name, settings, data_dir, resource) for name in settings.names}


def _make(name: str, settings: ExporterSettings, data_dir: str, resource: Mapping[str, str]) -> Exporter:
    if name == "file":
        path = os.path.join(data_dir, settings.file_path)
        return SpanFile(path, settings.file_max_bytes, settings.file_max_files, resource)
    try:
        from coordinators.tracing import otel

        return otel.make(name, settings, resource)
    except ImportError as error:
        raise InvalidConfig(
            f"trace.exporter={name} needs the OpenTelemetry SDK, which is not installed ({error}): "
            "pip install 'tidegate[otlp]'"
        ) from error
