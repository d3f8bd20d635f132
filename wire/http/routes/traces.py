"""`/traces`: the last traces, a search in them, the timeline of one record, and what tracing has dropped."""

from http import HTTPStatus
from typing import Annotated, Any, TypeAlias

import msgspec

from coordinators.access.access import AccessControl
from coordinators.access.rights import READ_TOPIC
from coordinators.tracing.tracing import Tracing
from coordinators.waiting import Breathing
from engine.trace.kinds import Outcome
from engine.trace.query import TraceQuery
from engine.trace.record_trace import RecordTrace
from engine.trace.timeline import as_json, as_table, summary
from wire.http.messages import Call, Count, Page, PageQuery, Response
from wire.http.problems import Problem
from wire.http.rights import DESCRIBE_THE_CLUSTER, each_of, on
from wire.http.routing import Route
from wire.http.told_traces import ToldTraces

LONG_MAX = 2**53

TraceId = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$", description="The trace's id, 32 hexadecimal digits.")]
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LONG_MAX)]
Milliseconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LONG_MAX)]


class TracePlace(msgspec.Struct):
    """Which trace."""

    trace: TraceId


class TracedRecordPlace(msgspec.Struct):
    """Which record."""

    topic: Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z0-9._-]+$", min_length=1, max_length=249)]
    partition: Number
    offset: Number


class SearchQuery(PageQuery, kw_only=True):
    """Which traces: every part that is given must hold. Times are milliseconds since 1970."""

    trace_id: TraceId | None = None
    topic: str | None = None
    partition: Number | None = None
    offset: Number | None = None
    key: Annotated[str, msgspec.Meta(description="The record's key, as text.")] | None = None
    since_ms: Annotated[int, msgspec.Meta(ge=0, le=LONG_MAX, description="Begun then or later.")] | None = None
    until_ms: Annotated[int, msgspec.Meta(ge=0, le=LONG_MAX, description="Begun before then.")] | None = None
    min_duration_ms: Milliseconds | None = None
    max_duration_ms: Milliseconds | None = None
    status: Annotated[Outcome, msgspec.Meta(description="How far the record has come.")] | None = None
    group: str | None = None

    def wanted(self) -> TraceQuery:
        """The same for the store."""
        return TraceQuery(
            trace_id=self.trace_id,
            topic=self.topic,
            partition=self.partition,
            offset=self.offset,
            key=None if self.key is None else self.key.encode(),
            since_ms=self.since_ms,
            until_ms=self.until_ms,
            min_duration_ms=self.min_duration_ms,
            max_duration_ms=self.max_duration_ms,
            outcome=self.status,
            group=self.group,
        )


class TraceSummary(msgspec.Struct):
    """A traced record. `offset` is null while it is not in the log; a key that is no text is in `key_base64`."""

    trace_id: str
    parent_id: str | None
    topic: str
    partition: int
    offset: int | None
    key: str | None
    key_base64: str | None
    sampled_by: str
    status: str
    groups: list[str]
    start: str
    start_us: int
    duration_us: int
    events: Count
    dropped_events: Count


class TracePage(Page):
    """Traced records, newest first."""

    items: list[TraceSummary]


class Step(msgspec.Struct):
    """Something that happened, and how long after the step before and after the first."""

    event: str
    time: str
    time_us: int
    gap_us: int
    since_start_us: int
    attributes: dict[str, Any]


class Timeline(TraceSummary):
    """A traced record with every step."""

    steps: list[Step]


class TimelinePage(Page):
    """The records of one trace, newest first."""

    items: list[Timeline]


async def list_traces(call: Call, tracing: Tracing, access: AccessControl) -> TracePage:
    """The last traced records that the caller may read, newest first."""
    return await _page(call, tracing, access, TraceQuery())


async def search_traces(call: Call, tracing: Tracing, access: AccessControl) -> TracePage:
    """Traced records that match and that the caller may read, newest first."""
    query: SearchQuery = call.query
    return await _page(call, tracing, access, query.wanted())


async def show_trace(call: Call, tracing: Tracing, access: AccessControl) -> TimelinePage:
    """The timelines of a trace's records."""
    traces = _of_trace(call, tracing, access)
    query: PageQuery = call.query
    items = [_timeline(trace) for trace in query.of(traces)]
    return TimelinePage(items=items, total=len(traces), limit=query.limit, skip=query.skip)


async def show_trace_table(call: Call, tracing: Tracing, access: AccessControl) -> Response:
    """The timelines of a trace's records as text, for people."""
    traces = _of_trace(call, tracing, access)
    query: PageQuery = call.query
    text = "\n".join(as_table(trace) for trace in query.of(traces))
    return Response(200, text.encode("utf-8", "replace"), "text/plain")


async def show_record(call: Call, tracing: Tracing, access: AccessControl) -> Timeline:
    """The timeline of the record at a place."""
    place: TracedRecordPlace = call.place
    trace = tracing.store.at(call.names.meant(place.topic), place.partition, place.offset)
    told = None if trace is None else ToldTraces(call, access).of(trace)
    if told is None:
        where = f"{place.topic}-{place.partition} at offset {place.offset}"
        raise Problem(HTTPStatus.NOT_FOUND, f"the record of {where} is not traced, or its trace is no longer kept")
    return _timeline(told)


async def show_statistics(_: Call, tracing: Tracing) -> dict[str, int]:
    """How many traces are kept, and what was noted, written, sent and dropped."""
    return tracing.statistics()


async def _page(call: Call, tracing: Tracing, access: AccessControl, wanted: TraceQuery) -> TracePage:
    query: PageQuery = call.query
    breathing, items, total, traces = Breathing(), [], 0, ToldTraces(call, access)
    for trace in tracing.store.newest_first(wanted.trace_id):
        told = traces.of(trace)
        # By what is told: a search must not find out what is not.
        if told is not None and wanted.matches(told):
            if query.skip <= total < query.skip + query.limit:
                items.append(_summary(told))
            total += 1
        await breathing.did()
    return TracePage(items=items, total=total, limit=query.limit, skip=query.skip)


def _of_trace(call: Call, tracing: Tracing, access: AccessControl) -> list[RecordTrace]:
    place: TracePlace = call.place
    told = map(ToldTraces(call, access).of, tracing.store.newest_first(place.trace))
    traces = [trace for trace in told if trace is not None]
    if not traces:
        raise Problem(HTTPStatus.NOT_FOUND, f"no trace {place.trace} is kept")
    return traces


def _summary(trace: RecordTrace) -> TraceSummary:
    said = summary(trace)
    return TraceSummary(status=said.pop("outcome"), **said)


def _timeline(trace: RecordTrace) -> Timeline:
    said = as_json(trace)
    steps = [Step(**step) for step in said.pop("steps")]
    return Timeline(status=said.pop("outcome"), steps=steps, **said)


ROUTES = (
    Route(
        "GET",
        "/traces",
        list_traces,
        "The last traced records",
        answer=TracePage,
        query=PageQuery,
        for_tenants=True,
        rights=each_of(READ_TOPIC),
    ),
    Route(
        "GET",
        "/traces/search",
        search_traces,
        "Search traced records",
        answer=TracePage,
        query=SearchQuery,
        for_tenants=True,
        rights=each_of(READ_TOPIC),
    ),
    Route(
        "GET",
        "/traces/stats",
        show_statistics,
        "What tracing has kept and dropped",
        answer=dict[str, int],
        rights=DESCRIBE_THE_CLUSTER,
    ),
    Route(
        "GET",
        "/traces/{trace}",
        show_trace,
        "The timelines of one trace",
        answer=TimelinePage,
        place=TracePlace,
        query=PageQuery,
        problems=(404,),
        for_tenants=True,
        rights=each_of(READ_TOPIC),
    ),
    Route(
        "GET",
        "/traces/{trace}/table",
        show_trace_table,
        "The same as a table",
        place=TracePlace,
        query=PageQuery,
        media_type="text/plain",
        problems=(404,),
        for_tenants=True,
        rights=each_of(READ_TOPIC),
    ),
    Route(
        "GET",
        "/traces/at/{topic}/{partition}/{offset}",
        show_record,
        "The timeline of one record",
        answer=Timeline,
        place=TracedRecordPlace,
        problems=(404,),
        for_tenants=True,
        rights=on(READ_TOPIC, "topic"),
    ),
)
