"""`/delay/stats` and `/priority/stats`: figures of delayed records, and of the lanes of prioritised partitions.

Each node knows those of the partitions that it leads; whichever is asked puts together what all of them tell.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Annotated

import msgspec
from attrs import asdict, frozen

from coordinators.cluster.nodes import NodeIdentity
from coordinators.release.inspection import Inspection
from coordinators.release.pending_records import DelayStatistics, PriorityStatistics
from coordinators.release.stage_statistics import together
from wire.http.elsewhere import Doors
from wire.http.messages import Call, Page, PageQuery
from wire.http.rights import DESCRIBE_THE_CLUSTER
from wire.http.routing import Route


class DelayStatisticsPage(Page):
    """All topics together, and each topic with delayed or prioritised records, by name. `missing_nodes` could not be
    asked: what is counted of partitions that they lead is not in it."""

    sum: DelayStatistics
    items: list[DelayStatistics]
    missing_nodes: list[int] = []


class PriorityQuery(PageQuery, kw_only=True):
    """Which partitions."""

    topic: Annotated[str, msgspec.Meta(description="Of this topic alone.")] = ""


@frozen
class LedLanes(PriorityStatistics):
    """The same, and the node that leads the partition."""

    node: int


class PriorityStatisticsPage(Page):
    """Prioritised partitions by topic and number; arrays have five places, critical first. `missing_nodes` could not be
    asked: the partitions that they lead are not among them."""

    items: list[LedLanes]
    missing_nodes: list[int] = []


async def delay_statistics(call: Call, inspection: Inspection, doors: Doors) -> DelayStatisticsPage:
    """What waits, what was released, expired and cancelled, and how late."""
    query: PageQuery = call.query
    own = await inspection.delay_statistics()
    pages, missing = await doors.pages_of_others(call, {}, DelayStatisticsPage)
    topics = _by_topic([*own.topics, *(each for page in pages for each in page.items)]) if pages else own.topics
    return DelayStatisticsPage(
        sum=together(None, topics),
        items=list(query.of(topics)),
        total=len(topics),
        limit=query.limit,
        skip=query.skip,
        missing_nodes=missing,
    )


def _by_topic(found: Iterable[DelayStatistics]) -> list[DelayStatistics]:
    """Each topic once, whoever leads its partitions."""
    ordered = sorted(found, key=_name)
    return [together(name, list(parts)) for name, parts in groupby(ordered, _name)]


def _name(found: DelayStatistics) -> str:
    return found.topic or ""


async def priority_statistics(
    call: Call, inspection: Inspection, doors: Doors, identity: NodeIdentity
) -> PriorityStatisticsPage:
    """The lanes of every prioritised partition."""
    query: PriorityQuery = call.query
    own = await inspection.priority_statistics(query.topic or None)
    asked = {"topic": query.topic} if query.topic else {}
    pages, missing = await doors.pages_of_others(call, asked, PriorityStatisticsPage)
    found = [LedLanes(**asdict(each), node=identity.node_id) for each in own]
    found += [each for page in pages for each in page.items]
    found.sort(key=lambda each: (each.topic, each.partition))
    return PriorityStatisticsPage(
        items=list(query.of(found)), total=len(found), limit=query.limit, skip=query.skip, missing_nodes=missing
    )


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
