"""`/topics/{topic}/delayed`: records that wait for their time; looked at, taken back, moved, released now.

A record's id is its `tide-schedule-id`, or `#` and its number in the stage where it has none. What became of a record
is remembered for a while after it has gone. Any node may be asked: what waits in a partition its leader knows, so what
is asked of one is carried there, and what is asked of all is put together.
"""

from http import HTTPStatus
from typing import Annotated, Literal

import msgspec
from attrs import asdict

from coordinators.access.rights import READ_TOPIC, WRITE_TOPIC
from coordinators.release.inspection import EDGES_MAX, Inspection
from coordinators.release.listing import Window
from coordinators.release.pending_records import DueBucket
from engine.config.keys import INT_MAX
from wire.http.elsewhere import Doors
from wire.http.messages import MAX_LIMIT, Call, Page, PageQuery
from wire.http.pending import FateDetail, PendingRecordPage, fate_detail, pending
from wire.http.pending_together import buckets_of_parts, page_of_parts, window_of_parts
from wire.http.problems import Problem
from wire.http.rights import on
from wire.http.routes.topics import TopicName
from wire.http.routing import Route

Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Number = Annotated[int, msgspec.Meta(ge=0, le=INT_MAX)]
RecordId = Annotated[str, msgspec.Meta(min_length=1, description="Its tide-schedule-id, or # and its number.")]


class StagedTopicPlace(msgspec.Struct):
    """Which topic."""

    topic: TopicName


class RecordPlace(msgspec.Struct):
    """Which record."""

    topic: TopicName
    partition: Annotated[Number, msgspec.Meta(description="The partition's number.")]
    id: RecordId


class DelayedQuery(PageQuery, kw_only=True):
    """Which records: of one partition or all, due from one time up to another (milliseconds since 1970)."""

    partition: Annotated[Number, msgspec.Meta(description="Of this partition alone.")] | None = None
    order: Annotated[Literal["due", "number"], msgspec.Meta(description="By due time, or as they came.")] = "due"
    due_from_ms: Annotated[Milliseconds, msgspec.Meta(description="Due then or later.")] | None = None
    due_until_ms: Annotated[Milliseconds, msgspec.Meta(description="Due before then.")] | None = None


class HistogramQuery(msgspec.Struct, forbid_unknown_fields=True):
    """How the records are divided by due time."""

    partition: Annotated[Number, msgspec.Meta(description="Of this partition alone.")] | None = None
    edges_ms: Annotated[
        str,
        msgspec.Meta(
            pattern="^([0-9]{1,16}(,[0-9]{1,16})*)?$",
            description=f"Times at which to divide, rising, at most {EDGES_MAX}; left out: from now to 30 days on.",
        ),
    ] = ""


class Histogram(msgspec.Struct):
    """How many records are due when: null is any time before, or after."""

    buckets: list[DueBucket]


class FatesQuery(PageQuery, kw_only=True):
    """Which record."""

    id: RecordId


class FatePage(Page):
    """The partitions that know an id, each with what became of its record."""

    items: list[FateDetail]


class Reschedule(msgspec.Struct, forbid_unknown_fields=True):
    """Another time for a record: one of the three."""

    deliver_at_ms: Milliseconds | None = None
    delay_ms: Milliseconds | None = None
    release_now: Literal[True] | None = None


class Rescheduled(msgspec.Struct):
    """When the record is due now."""

    due_ms: int


async def list_delayed(call: Call, inspection: Inspection, doors: Doors) -> PendingRecordPage:
    """Records of a topic that wait for their time, a page of them."""
    query: DelayedQuery = call.query
    if query.due_from_ms is not None and query.due_until_ms is not None and query.due_from_ms >= query.due_until_ms:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "due_from_ms must be before due_until_ms")
    window = Window(query.limit, query.skip, query.order, query.due_from_ms, query.due_until_ms)
    window.check()
    async with doors.where_led(call, call.place.topic, query.partition):
        others = doors.other_leaders(call, call.place.topic) if query.partition is None else []
        if not others:
            return await _page(call, inspection, window)
        part = window_of_parts(window)
        fields = {name: value for name, value in asdict(part).items() if value is not None}
        parts = await doors.ask_each(others, call, fields, PendingRecordPage)
        return page_of_parts([await _page(call, inspection, part), *parts], window)


async def _page(call: Call, inspection: Inspection, window: Window) -> PendingRecordPage:
    """Of what this node knows."""
    found = await inspection.list_pending(_topic(call), window, call.query.partition)
    return PendingRecordPage(
        items=[pending(record) for record in found.records],
        total=found.total,
        limit=window.limit,
        skip=window.skip,
        next_skip=found.next_skip,
    )


async def show_histogram(call: Call, inspection: Inspection, doors: Doors) -> Histogram:
    """How many records of a topic are due when."""
    query: HistogramQuery = call.query
    edges = [int(edge) for edge in query.edges_ms.split(",")] if query.edges_ms else None
    async with doors.where_led(call, call.place.topic, query.partition):
        others = doors.other_leaders(call, call.place.topic) if query.partition is None else []
        buckets = await inspection.histogram(_topic(call), edges, query.partition)
        fields = {"edges_ms": ",".join(str(each.until_ms) for each in buckets[:-1])}
        parts = await doors.ask_each(others, call, fields, Histogram)
        return Histogram(buckets_of_parts([buckets, *(each.buckets for each in parts)]))


async def show_delayed(call: Call, inspection: Inspection, doors: Doors) -> FateDetail:
    """One record: pending, or what became of it."""
    place: RecordPlace = call.place
    async with doors.where_led(call, place.topic, place.partition):
        return fate_detail(await inspection.look(_topic(call), place.partition, place.id), call.names)


async def find_fates(call: Call, inspection: Inspection, doors: Doors) -> FatePage:
    """What became of a record, in every partition that knows its id."""
    query: FatesQuery = call.query
    found = [fate_detail(each, call.names) for each in await inspection.find(_topic(call), query.id)]
    fields = {"id": query.id, "limit": MAX_LIMIT}
    for part in await doors.ask_each(doors.other_leaders(call, call.place.topic), call, fields, FatePage):
        found += part.items
    found.sort(key=lambda each: each.partition)
    return FatePage(items=list(query.of(found)), total=len(found), limit=query.limit, skip=query.skip)


async def cancel_delayed(call: Call, inspection: Inspection, doors: Doors) -> None:
    """Take back a record that waits; it is never delivered."""
    place: RecordPlace = call.place
    async with doors.where_led(call, place.topic, place.partition):
        await inspection.cancel(_topic(call), place.partition, place.id)


async def reschedule_delayed(call: Call, inspection: Inspection, doors: Doors) -> Rescheduled:
    """Move a record that waits to another time, or release it now."""
    place: RecordPlace = call.place
    wanted: Reschedule = call.body
    if sum(each is not None for each in (wanted.deliver_at_ms, wanted.delay_ms, wanted.release_now)) != 1:
        detail = "one of deliver_at_ms, delay_ms and release_now must be given, and no other"
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
    async with doors.where_led(call, place.topic, place.partition):
        due_ms = await inspection.reschedule(
            _topic(call),
            place.partition,
            place.id,
            deliver_at_ms=wanted.deliver_at_ms,
            delay_ms=0 if wanted.release_now else wanted.delay_ms,
        )
    return Rescheduled(due_ms)


def _topic(call: Call) -> str:
    """As the broker calls it."""
    return call.names.meant(call.place.topic)


ROUTES = (
    Route(
        "GET",
        "/topics/{topic}/delayed",
        list_delayed,
        "Records that wait for their time",
        answer=PendingRecordPage,
        place=StagedTopicPlace,
        query=DelayedQuery,
        problems=(404,),
        for_tenants=True,
        rights=on(READ_TOPIC, "topic"),
    ),
    Route(
        "GET",
        "/topics/{topic}/delayed/histogram",
        show_histogram,
        "How many records are due when",
        answer=Histogram,
        place=StagedTopicPlace,
        query=HistogramQuery,
        problems=(404,),
        for_tenants=True,
        rights=on(READ_TOPIC, "topic"),
    ),
    Route(
        "GET",
        "/topics/{topic}/delayed/fates",
        find_fates,
        "What became of a record, in whichever partition",
        answer=FatePage,
        place=StagedTopicPlace,
        query=FatesQuery,
        problems=(404,),
        for_tenants=True,
        rights=on(READ_TOPIC, "topic"),
    ),
    Route(
        "GET",
        "/topics/{topic}/delayed/{partition}/{id}",
        show_delayed,
        "One delayed record and its fate",
        answer=FateDetail,
        place=RecordPlace,
        problems=(404,),
        for_tenants=True,
        rights=on(READ_TOPIC, "topic"),
    ),
    Route(
        "DELETE",
        "/topics/{topic}/delayed/{partition}/{id}",
        cancel_delayed,
        "Cancel a delayed record",
        place=RecordPlace,
        status=204,
        problems=(404, 409),
        for_tenants=True,
        rights=on(WRITE_TOPIC, "topic"),
    ),
    Route(
        "PATCH",
        "/topics/{topic}/delayed/{partition}/{id}",
        reschedule_delayed,
        "Reschedule a delayed record, or release it now",
        answer=Rescheduled,
        place=RecordPlace,
        body=Reschedule,
        problems=(404, 409),
        for_tenants=True,
        rights=on(WRITE_TOPIC, "topic"),
    ),
)
