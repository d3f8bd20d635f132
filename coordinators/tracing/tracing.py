"""Follows records through the broker: the seams that doors and coordinators call, and what each of them notes.

A record is traced if its header `traceparent` is sampled, or if its topic samples it. An untraced batch costs one SIMD
search and one comparison of times; an untraced fetch or commit costs one look into a table by partition.
Whatever happens here, the record itself is stored, delivered and committed as without it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from attrs import define, field

from coordinators.topic_view import Topic, TopicUpdate
from coordinators.tracing.members import Client, MemberTable
from coordinators.tracing.settings import TraceSettings
from coordinators.tracing.trace_time import TraceTime
from engine.clock import Clock
from engine.errors import BrokerError
from engine.files.files import Buffer, FileRegion
from engine.log.types import Receipt
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from engine.records.batch import Batch
from engine.records.layout import CODEC_MASK
from engine.trace.context import TraceContext, parse_traceparent
from engine.trace.kinds import EventKind
from engine.trace.record_trace import KEY_MAX_BYTES, RecordTrace, SampledBy, TraceEvent, begin_trace
from engine.trace.sampling import Rate, TopicSampler, spread
from engine.trace.sniff import TracedRecord, mark_in, with_context, without_context
from engine.trace.store import TraceStore

_OPENED_FACTOR = 16
LOOKED_THROUGH_BYTES_MAX = 2**20
"""Of a batch's records; as many as an uncompressed batch may have by default."""
LANES = ("critical", "high", "normal", "low", "background")


class Sink(Protocol):
    """Whoever wants to know of events besides the ring."""

    def event(self, trace: RecordTrace, event: TraceEvent) -> None:
        """An event has happened; called on the loop, must not wait."""

    def statistics(self) -> Mapping[str, int]:
        """What it has taken and dropped."""

    def flush(self) -> None:
        """Pass on what waits, as far as that can be done at once; on the loop."""

    def close(self) -> None:
        """Let go of what it holds; in a thread, may take a moment."""


@define(eq=False)
class Tracing:
    """The broker's traces. `store` holds the last ones, `sinks` are told of each event."""

    clock: Clock
    random_bytes: Callable[[int], bytes]
    settings: TraceSettings = field(factory=TraceSettings)
    members: MemberTable | None = None
    sinks: list[Sink] = field(factory=list)
    store: TraceStore = field(init=False)
    counts: Counter[str] = field(factory=Counter, init=False)
    _time: TraceTime = field(init=False)
    _samplers: dict[str, tuple[Topic, TopicSampler]] = field(factory=dict, init=False)
    _traces: Rate = field(init=False)
    _opened_bytes: Rate = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.store = TraceStore(self.settings.max_traces)
        self._time = TraceTime(self.clock)
        self._traces = Rate(self.settings.max_per_second)
        self._opened_bytes = Rate(self.settings.compressed_bytes_per_second)

    # -- publishing

    def received(
        self,
        topic: Topic,
        partition: Partition,
        batch: Batch,
        result: Receipt,
    ) -> None:
        """A batch was just appended."""
        known = self._samplers.get(topic.name)
        sampler = known[1] if known is not None and known[0] is topic else self._sampler(topic)
        if not sampler.enabled or result.duplicate:
            return
        now = self.clock.monotonic()
        section = batch.opened
        if section is None and batch.header.attributes & CODEC_MASK:
            section = self._opened(batch, now)
            if section is None:
                return
        # Most batches are not compressed and hold no trace: they are searched whole, which saves cutting them.
        mark = mark_in(batch.data if section is None else section)
        rate = sampler.rate
        is_picked = rate.per_second > 0 and rate.take(now)
        if mark < 0 and not is_picked and not sampler.ratio:
            return
        # Records are hopped over one by one up to a traced one; a small batch may have millions when it is opened.
        section = memoryview(batch.section())[:LOOKED_THROUGH_BYTES_MAX]
        mark = mark_in(section)
        count = batch.header.record_count
        found = self._with_context(section, mark, count, now) if mark >= 0 else []
        if is_picked or sampler.ratio:
            found += self._sampled(sampler, section, count, now, is_picked=is_picked)
        if found:
            publisher = batch.publisher
            client = {"client_id": publisher.client_id, "address": publisher.address}
            self._published(topic, partition, result, found, client, publisher.door)

    def _with_context(self, section: Buffer, mark: int, count: int, now: float) -> list[tuple[TracedRecord, SampledBy]]:
        room = self._traces.room(now)
        records = with_context(section, mark, room) if room else []
        if len(records) == room < count:
            self.counts["limited_batches"] += 1
        return [(record, SampledBy.TRACEPARENT) for record in records if self._may_begin(now)]

    def _sampled(
        self, sampler: TopicSampler, section: Buffer, count: int, now: float, *, is_picked: bool
    ) -> list[tuple[TracedRecord, SampledBy]]:
        by_ratio = sampler.by_ratio(count)
        numbers = spread(by_ratio, count) if by_ratio else [0] if is_picked else []
        reason = SampledBy.RATIO if by_ratio else SampledBy.RATE
        least = self.settings.max_per_second // 2
        return [(record, reason) for record in without_context(section, numbers) if self._may_begin(now, least)]

    def _may_begin(self, now: float, least_room: int = 0) -> bool:
        """Within the bound; `least_room` of it is for others."""
        if self._traces.room(now) > least_room and self._traces.take(now):
            return True
        self.counts["dropped_traces"] += 1
        return False

    def _opened(self, batch: Batch, now: float) -> Buffer | None:
        """The records of a compressed batch that nobody has opened, if opening it is within the bounds."""
        size, most = len(batch.data), self.settings.compressed_batch_max_bytes
        if size > most or not self._opened_bytes.take(now, size):
            self.counts["unopened_batches"] += 1
            return None
        try:
            return batch.section(most * _OPENED_FACTOR)
        except BrokerError:
            self.counts["unopened_batches"] += 1
            return None

    def _published(
        self,
        topic: Topic,
        partition: Partition,
        result: Receipt,
        found: Sequence[tuple[TracedRecord, SampledBy]],
        client: Mapping[str, Any],
        door: str | None,
    ) -> None:
        end = partition.log.end
        traces = []
        for record, reason in found:
            trace = self._begin(record.context, reason, topic.name, partition.index, record.key)
            trace.offset = result.base_offset + record.offset_delta
            trace.segment, trace.end_position = end.segment, end.position
            self.store.add(trace)
            self.note(trace, EventKind.PUBLISH_RECEIVED, client)
            if door is not None:
                self.note(trace, EventKind.PUBLISH_PARTITIONED, {"door": door})
            traces.append(trace)
        partition.when_durable_to(result.last_offset, float("inf"), lambda error: self._persisted(traces, error))

    def _persisted(self, traces: Sequence[RecordTrace], error: BrokerError | None) -> None:
        for trace in traces:
            if error is None:
                self.note(trace, EventKind.PUBLISH_PERSISTED, {"offset": trace.offset})
            else:
                self.note(trace, EventKind.PUBLISH_FAILED, {"error": str(error), "error_type": type(error).__name__})

    # -- the stage: delay, priority, expiry

    def staged(
        self,
        topic: Topic,
        partition: int,
        number: int,
        traceparent: bytes | memoryview | None,
        due_ms: int | None = None,
        lane: int | None = None,
        *,
        key: bytes | memoryview | None = None,
        client_id: str | None = None,
        address: str | None = None,
        door: str | None = None,
        store: DurableLog | None = None,
    ) -> None:
        """A record went into the stage, as `number` there: until `due_ms`, or into a lane (0 is critical) at once.

        Traced are those whose `traceparent` is sampled, and of those without one what the topic samples. `store` is the
        stage's own log, which tells when the record is persisted."""
        known = self._samplers.get(topic.name)
        sampler = known[1] if known is not None and known[0] is topic else self._sampler(topic)
        if not sampler.enabled:
            return
        now = self.clock.monotonic()
        context = parse_traceparent(traceparent)
        if context is None and not (sampler.rate.take(now) or sampler.by_ratio(1)):
            return
        least = self.settings.max_per_second // 2 if context is None else 0
        if (context is not None and not context.sampled) or not self._may_begin(now, least):
            return
        reason = SampledBy.RATE if context is None else SampledBy.TRACEPARENT
        trace = self._begin(context, reason, topic.name, partition, key)
        trace.number = number
        self.store.add(trace)
        self.note(trace, EventKind.PUBLISH_RECEIVED, {"client_id": client_id, "address": address})
        if door is not None:
            self.note(trace, EventKind.PUBLISH_PARTITIONED, {"door": door})
        if due_ms is not None:
            self.note(trace, EventKind.DELAY_SCHEDULED, {"due_ms": due_ms, "lane": _lane(lane)})
        elif lane is not None:
            self.note(trace, EventKind.PRIORITY_QUEUED, {"lane": _lane(lane)})
        if store is not None:
            store.when_durable_to(number, float("inf"), lambda error: self._persisted([trace], error))

    def stage_event(
        self,
        topic: Topic,
        partition: int,
        number: int,
        kind: EventKind,
        *,
        released_to: DurableLog | None = None,
        offset: int | None = None,
        lane: int | None = None,
        traceparent: bytes | memoryview | None = None,
    ) -> None:
        """Something happened to a staged record. Where it went to the log, `offset` says where, and `released_to` is
        the partition, asked right after the append. With `traceparent`, a trace that the ring has lost (a long
        delay, a restart) goes on."""
        trace = self.store.staged(topic.name, partition, number)
        if trace is None and traceparent is not None:
            trace = self._resumed(topic, partition, number, traceparent)
        if trace is None:
            return
        if offset is not None:
            if released_to is not None:
                end = released_to.log.end
                trace.segment, trace.end_position = end.segment, end.position
            self.store.place(trace, offset)
        self.note(trace, kind, {"offset": offset, "lane": _lane(lane)})

    def _resumed(
        self, topic: Topic, partition: int, number: int, traceparent: bytes | memoryview
    ) -> RecordTrace | None:
        context = parse_traceparent(traceparent)
        if context is None or not context.sampled or not self._may_begin(self.clock.monotonic()):
            return None
        trace = self._begin(context, SampledBy.TRACEPARENT, topic.name, partition, None)
        trace.number = number
        self.store.add(trace)
        return trace

    # -- consuming

    def answered(
        self,
        topic: str,
        partition: int,
        fetch_offset: int,
        regions: Sequence[FileRegion],
        client_id: str | None,
        address: str,
    ) -> None:
        """A fetch from `fetch_offset` is answered with these parts of the log."""
        held = self.store.partition(topic, partition)
        if held is None or fetch_offset > held.offsets[-1] or not regions:
            return
        last = regions[-1]
        end_position = last.position + last.size
        attributes: dict[str, Any] | None = None
        for trace in held.between(fetch_offset, held.offsets[-1] + 1):
            # One answer is of one segment: the one that holds its first offset, if that is traced in it or before.
            if trace.segment > fetch_offset or trace.end_position > end_position:
                break
            if attributes is None:
                attributes = self._fetcher(topic, client_id, address)
            self.note(trace, EventKind.CONSUME_FETCHED, attributes)

    def begins_to_read(self, client_id: str | None, address: str) -> Client | None:
        """A connection has sent its first Fetch; give what this returns to `stops_reading` when it ends."""
        return None if self.members is None else self.members.begins_to_read(client_id or "", address)

    def stops_reading(self, client: Client) -> None:
        """A connection that has read has ended."""
        if self.members is not None:
            self.members.stops_reading(client)

    def _fetcher(self, topic: str, client_id: str | None, address: str) -> dict[str, Any]:
        group = None if self.members is None else self.members.group_of(client_id or "", address, topic)
        return {"client_id": client_id, "address": address, "group": group}

    def committed(self, group: str, topic: str, partition: int, offset: int) -> None:
        """A group has committed `offset`: the records before it are done with."""
        held = self.store.partition(topic, partition)
        if held is None:
            return
        for trace in held.pass_to(group, offset):
            if trace.may_be_committed_by(group):
                self.note(trace, EventKind.CONSUME_COMMITTED, {"group": group, "committed_offset": offset})

    # -- the rest

    def topic_changed(self, update: TopicUpdate) -> None:
        """A topic was made, altered or deleted."""
        before = update.before
        if before is not None and update.after is None:
            self._samplers.pop(before.name, None)
            self.store.forget_topic(before.name)

    def flush(self) -> None:
        """The broker is about to stop: the sinks pass on what they have."""
        for sink in self.sinks:
            sink.flush()

    def close(self) -> None:
        """Let the sinks go; blocks for a moment."""
        for sink in self.sinks:
            sink.close()

    def statistics(self) -> dict[str, int]:
        """The ring's, what was begun, noted and dropped, and the sinks'."""
        total: dict[str, int] = {
            **self.store.statistics(),
            "noted_events": self.counts["noted_events"],
            "dropped_traces": self.counts["dropped_traces"],
            "limited_batches": self.counts["limited_batches"],
            "dropped_events": self.counts["dropped_events"],
            "unopened_batches": self.counts["unopened_batches"],
        }
        for sink in self.sinks:
            total |= sink.statistics()
        return total

    def _sampler(self, topic: Topic) -> TopicSampler:
        """The sampler of a topic whose config is new to us; what it has used up of its rate counts on."""
        config = topic.config
        ratio = config["trace.sample.ratio"]
        assert isinstance(ratio, float)
        per_second = config.integer("trace.sample.per.second")
        known = self._samplers.get(topic.name)
        rate = known[1].rate if known is not None and known[1].rate.per_second == per_second else Rate(per_second)
        sampler = TopicSampler(rate, bool(config["trace.enable"]) and not topic.internal, ratio)
        self._samplers[topic.name] = (topic, sampler)
        return sampler

    def _begin(
        self,
        context: TraceContext | None,
        reason: SampledBy,
        topic: str,
        partition: int,
        key: bytes | memoryview | None,
    ) -> RecordTrace:
        ids = self.random_bytes(24).hex()
        trace = begin_trace(context, ids[:32], ids[32:], reason, topic, partition)
        if key is not None:
            trace.key, trace.key_size = bytes(key[:KEY_MAX_BYTES]), len(key)
        return trace

    def note(self, trace: RecordTrace, kind: EventKind, attributes: Mapping[str, Any]) -> None:
        """Something has happened to a record that is traced."""
        if not trace.events:
            trace.ahead_us = self._time.ahead_us()
        event = TraceEvent(kind, self._time.now_us(trace.ahead_us), attributes)
        if not trace.add(event, self.settings.max_events_per_trace):
            self.counts["dropped_events"] += 1
            return
        self.counts["noted_events"] += 1
        for sink in self.sinks:
            sink.event(trace, event)


def _lane(number: int | None) -> str | None:
    return None if number is None else LANES[number]
