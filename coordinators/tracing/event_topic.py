"""The topic `__trace_events`: every event of a trace, for pipelines to read.

Events are collected and written once per second, as one batch that nobody waits for. The topic is made with
the first event, with a partition for each node. What cannot be written (the queue is full, the disk is, this node leads
no partition) is dropped and counted.

An event is one flat JSON object, described in docs/tracing.md. Flat, because the readers are tables: Spark's
`from_json`, a sink into a database. Fields that do not apply are null or missing; new ones may come, so readers must
not mind what they do not know.
"""

import json
import logging
from collections import deque
from functools import lru_cache
from itertools import islice
from typing import Any

from attrs import define, field

from coordinators.cluster.controller import ClusterController
from coordinators.records.counted import Counted
from coordinators.records.publication import Publication
from coordinators.records.publishing import Publishing
from coordinators.topics import Topic, TopicSpec
from coordinators.tracing.settings import EventTopicSettings
from engine.clock import Clock
from engine.errors import BrokerError
from engine.log.types import Origin
from engine.records.batch import NOBODY, made
from engine.records.layout import pack_batch, varint
from engine.timers import Timers
from engine.trace.record_trace import RecordTrace, TraceEvent
from engine.trace.timeline import key_fields

logger = logging.getLogger("tidegate.tracing")

TRACE_EVENTS_TOPIC = "__trace_events"
LINGER_S = 1.0
RETRY_S = 5.0
TOLD_ATTEMPT = 12
"""One of this many failed attempts is logged."""
EVENTS_PER_BATCH = 500
WAITS_S = 30.0
"""For its turn, where a release of the topic is in the way."""
BATCH_BYTES = 512 * 1024
SCHEMA_VERSION = 1

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@define(eq=False)
class EventTopic:
    """A sink of traces' events."""

    controller: ClusterController
    clock: Clock
    timers: Timers
    publishing: Publishing
    settings: EventTopicSettings = field(factory=EventTopicSettings)
    written: int = 0
    dropped: int = 0
    _queue: deque[tuple[RecordTrace, TraceEvent]] = field(factory=deque, init=False)
    _is_waiting: bool = field(default=False, init=False)
    _failed_attempts: int = field(default=0, init=False)

    def event(self, trace: RecordTrace, event: TraceEvent) -> None:
        """Write it soon."""
        if len(self._queue) >= self.settings.queue_size:
            self.dropped += 1
            return
        self._queue.append((trace, event))
        if not self._is_waiting:
            self._wait(LINGER_S)

    def statistics(self) -> dict[str, int]:
        """Events written, waiting, dropped."""
        return {
            "topic_events_written": self.written,
            "topic_events_queued": len(self._queue),
            "topic_events_dropped": self.dropped,
        }

    def flush(self) -> None:
        """Write what waits, if the topic is there."""
        topic = self._topic()
        while self._queue and topic is not None:
            self._write(topic)

    def close(self) -> None:
        """Nothing is held but the queue."""

    def _wait(self, delay_s: float) -> None:
        self._is_waiting = True

        def flush() -> None:
            self._is_waiting = False
            if self._topic() is None:
                self.controller.background.start_soon(self._make_topic)
            else:
                self.flush()

        self.timers.call_at(self.clock.monotonic() + delay_s, flush)

    def _topic(self) -> Topic | None:
        return self.controller.topics.by_name.get(TRACE_EVENTS_TOPIC)

    def _write(self, topic: Topic) -> None:
        records: list[bytes] = []
        times = [event.time_us // 1000 for _, event in islice(self._queue, EVENTS_PER_BATCH)]
        size = 0
        for trace, event in islice(self._queue, EVENTS_PER_BATCH):
            number = len(records)
            record = _record(number, times[number] - times[0], trace.trace_id.encode(), encode_event(trace, event))
            size += len(record)
            # The first is taken whatever its size; the log refuses a batch that is too large for it.
            if records and size > BATCH_BYTES:
                break
            records.append(record)
        count = len(records)
        for _ in range(count):
            self._queue.popleft()
        batch = made(pack_batch(records, (times[0], max(times[:count]))), Origin.COORDINATOR)
        deadline = self.clock.monotonic() + WAITS_S
        try:
            partition = self.publishing.destination(NOBODY, topic, self._led_here(topic), durable=False)
        except BrokerError as error:
            self.drop(count, error)
            return
        publication = Publication(topic, partition, batch)
        Counted(self.publishing, NOBODY, [publication], False, deadline, sink=self, count=count).publish()

    def _led_here(self, topic: Topic) -> int:
        """A partition that this node leads; if there is none, the events are refused."""
        here = self.controller.topics.node_id
        return next((index for index, row in enumerate(topic.partitions) if row.leader == here), 0)

    def drop(self, count: int, error: BrokerError) -> None:
        """They cannot be written."""
        self.dropped += count
        logger.debug("events of traces cannot be written: %s", error)

    async def _make_topic(self) -> None:
        configs = {
            "retention.ms": str(self.settings.retention_ms),
            "segment.bytes": str(self.settings.segment_bytes),
            "segment.ms": str(max(self.settings.retention_ms // 4, 1)),
            # Nobody was promised an event: they need not be on disk before they are read.
            "flush.mode": "os",
        }
        # Each node writes to a partition of its own: who waits for another node's answer would need to be waited for.
        count = max(1, len(self.controller.replicas.nodes.by_id))
        try:
            await self.controller.ensure_topic(TopicSpec(TRACE_EVENTS_TOPIC, count, configs=configs))
        except BrokerError as error:
            if self._failed_attempts % TOLD_ATTEMPT == 0:
                logger.error("%s cannot be made: %s", TRACE_EVENTS_TOPIC, error)
            self._failed_attempts += 1
            self._wait(RETRY_S)
        else:
            self._failed_attempts = 0
            self.flush()


_varint = lru_cache(maxsize=4096)(varint)


def _record(number: int, later_ms: int, key: bytes, value: bytes) -> bytes:
    """What `pack_record` makes, in a fraction of its time: the same few numbers come again and again."""
    body = b"".join(
        (b"\0", _varint(later_ms), _varint(number), _varint(len(key)), key, _varint(len(value)), value, b"\0")
    )
    return _varint(len(body)) + body


def encode_event(trace: RecordTrace, event: TraceEvent) -> bytes:
    """The event in UTF-8; what a client sent as broken text is replaced, not passed on."""
    offset = "null" if trace.offset is None else trace.offset
    head = (
        f'{{"schema":{SCHEMA_VERSION},"event":"{event.kind}","time_us":{event.time_us},'
        f'"since_start_us":{event.time_us - trace.start_us},"offset":{offset},'
    )
    tail = _said(tuple(event.attributes.items()))
    return (head + (trace.json_part or _unchanging(trace)) + tail).encode("utf-8", "replace")


@lru_cache(maxsize=1024)
def _said(attributes: tuple[tuple[str, Any], ...]) -> str:
    """What one event says, up to the end of the object. Clients are few: most events say what another said before."""
    said = {name: value for name, value in attributes if value is not None and name != "offset"}
    return f",{_encode(said)[1:]}" if said else "}"


def _unchanging(trace: RecordTrace) -> str:
    """What all events of a trace say alike, without the braces; kept, for encoding it again is most of the work."""
    said: dict[str, Any] = {
        "trace_id": trace.trace_id,
        "parent_id": trace.parent_id,
        "sampled_by": trace.sampled_by.value,
        "topic": trace.topic,
        "partition": trace.partition,
        **key_fields(trace.key),
    }
    trace.json_part = _encode(said)[1:-1]
    return trace.json_part
