"""`/topics/{topic}/delayed/fates`: what became of a record whose id is known, and whose partition is not."""

from typing import Annotated

import msgspec

from wire.http.messages import Call
from wire.http.paging import Page, PageQuery
from wire.http.routes.delayed import FateDetail, StagedTopicPlace, detail
from wire.http.routing import Route


class FatesQuery(PageQuery, kw_only=True):
    """Which record."""

    id: Annotated[str, msgspec.Meta(min_length=1, description="Its tide-schedule-id, or # and its number.")]


class FatePage(Page):
    """The partitions that know an id, each with what became of its record."""

    items: list[FateDetail]


async def find_fates(call: Call) -> FatePage:
    """What became of a record, in every partition that knows its id."""
    query: FatesQuery = call.query
    found = [detail(each) for each in await call.broker.inspection.find(call.place.topic, query.id)]
    return FatePage(items=list(query.of(found)), total=len(found), limit=query.limit, skip=query.skip)


ROUTES = (
    Route(
        "GET",
        "/topics/{topic}/delayed/fates",
        find_fates,
        "What became of a record, in whichever partition",
        answer=FatePage,
        place=StagedTopicPlace,
        query=FatesQuery,
        problems=(404,),
    ),
)
