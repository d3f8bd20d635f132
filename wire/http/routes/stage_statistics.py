"""`/delay/stats` and `/priority/stats`: figures of delayed records, and of the lanes of prioritised partitions."""

from typing import Annotated

import msgspec

from coordinators.release.inspection import Inspection
from coordinators.release.pending_records import DelayStatistics, PriorityStatistics
from wire.http.messages import Call, Page, PageQuery
from wire.http.rights import DESCRIBE_THE_CLUSTER
from wire.http.routing import Route


class DelayStatisticsPage(Page):
    """All topics together, and each topic with delayed or prioritised records, by name."""

    sum: DelayStatistics
    items: list[DelayStatistics]


class PriorityQuery(PageQuery, kw_only=True):
    """Which partitions."""

    topic: Annotated[str, msgspec.Meta(description="Of this topic alone.")] = ""


class PriorityStatisticsPage(Page):
    """Prioritised partitions by topic and number; arrays have five places, critical first."""

    items: list[PriorityStatistics]


async def delay_statistics(call: Call, inspection: Inspection) -> DelayStatisticsPage:
    """What waits, what was released, expired and cancelled, and how late."""
    query: PageQuery = call.query
    found = await inspection.delay_statistics()
    return DelayStatisticsPage(
        sum=found.all,
        items=list(query.of(found.topics)),
        total=len(found.topics),
        limit=query.limit,
        skip=query.skip,
    )


async def priority_statistics(call: Call, inspection: Inspection) -> PriorityStatisticsPage:
    """The lanes of every prioritised partition."""
    query: PriorityQuery = call.query
    found = await inspection.priority_statistics(query.topic or None)
    return PriorityStatisticsPage(items=list(query.of(found)), total=len(found), limit=query.limit, skip=query.skip)


ROUTES = (
    Route(
        "GET",
        "/delay/stats",
        delay_statistics,
        "Figures of delayed records",
        answer=DelayStatisticsPage,
        query=PageQuery,
        rights=DESCRIBE_THE_CLUSTER,
    ),
    Route(
        "GET",
        "/priority/stats",
        priority_statistics,
        "The lanes of prioritised partitions",
        answer=PriorityStatisticsPage,
        query=PriorityQuery,
        problems=(404,),
        rights=DESCRIBE_THE_CLUSTER,
    ),
)
