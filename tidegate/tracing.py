"""Puts tracing together: the ring, the topic of events, the exporters, and who tells them what."""

import os
from collections.abc import Mapping

from coordinators.cluster.controller import ClusterController
from coordinators.group.descriptions import group_clients
from coordinators.group.groups import Groups
from coordinators.group.record_formats import OffsetKey
from coordinators.records.publishing import Publishing
from coordinators.tracing.event_topic import EventTopic
from coordinators.tracing.export import Exporter, ExportQueue, SpanSink
from coordinators.tracing.members import MemberTable
from coordinators.tracing.settings import EventTopicSettings, ExporterSettings, TraceSettings
from coordinators.tracing.span_file import SpanFile
from coordinators.tracing.tracing import Tracing
from coordinators.waiting import in_worker
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.errors import InvalidConfig
from engine.ids import RandomBytes
from engine.timers import Timers
from engine.workers import Workers


async def open_tracing(
    controller: ClusterController,
    groups: Groups,
    clock: Clock,
    workers: Workers,
    random_bytes: RandomBytes,
    data_dir: str,
) -> Tracing:
    """Tracing as the broker's configuration wants it; `InvalidConfig` if an exporter cannot be had."""
    settings = controller.topics.settings
    members = MemberTable(clock, lambda: group_clients(groups.runtime.machines()))
    tracing = Tracing(clock, random_bytes, TraceSettings.of(settings), members)
    wanted = ExporterSettings.of(settings)
    if wanted.names:
        made = await in_worker(workers, make_exporters, wanted, data_dir, _resource(settings, wanted.service_name))
        queues = [ExportQueue(name, exporter, wanted.queue_size) for name, exporter in made.items()]
        tracing.sinks.append(SpanSink(random_bytes, queues))
    controller.replicas.on_change.append(tracing.topic_changed)

    def committed(key: OffsetKey, offset: int) -> None:
        tracing.committed(key.group_id, key.topic, key.partition, offset)

    groups.on_committed.append(committed)
    return tracing


def publish_events(
    tracing: Tracing, controller: ClusterController, clock: Clock, timers: Timers, publishing: Publishing
) -> None:
    """Have the events of traces written to their topic, if that is wanted."""
    events = EventTopicSettings.of(controller.topics.settings)
    if events.enabled:
        tracing.sinks.append(EventTopic(controller, clock, timers, publishing, events))


async def close_tracing(tracing: Tracing, workers: Workers) -> None:
    """Pass on what waits and end the exporters' threads; a dead collector holds this up for a moment only."""
    tracing.flush()
    await in_worker(workers, tracing.close)


def _resource(settings: BrokerSettings, service_name: str) -> Mapping[str, str]:
    return {"service.name": service_name, "service.instance.id": str(settings["node.id"])}


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
